"""Explaining cuts measures nothing."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from evener.errors import InputError
from evener.testing import tiny
from evener.workflow.board import open_on_board
from evener.workflow.explain import explain_network


def test_blocks_and_cuts_are_listed_without_measuring(net: str, tmp_path: Path) -> None:
    found = explain_network(net)

    assert [cut.after_block for cut in found.cuts] == [0, 1, 2]
    assert [cut.tensors[0].name for cut in found.cuts] == ["h1", "h2", "h3"]
    assert found.no_cuts == ()
    assert not (tmp_path / "cache").exists()


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(InputError, match=r"there is no file missing\.onnx"):
        explain_network("missing.onnx")


def test_by_the_rule_node_places_and_what_was_opened_are_listed(
    write: Callable[[str, bytes], str],
) -> None:
    net = write("unet.onnx", tiny.unet(depth=2))

    found = explain_network(net, granularity="node", max_live=3)

    assert (found.max_live, len(found.cuts), len(found.parts)) == (3, 6, 3)
    assert [len(cut.tensors) for cut in found.cuts] == [1, 2, 3, 2, 2, 1]
    assert [(part.kept, part.crowded) for part in found.parts] == [(0, 0), (4, 0), (0, 0)]
    assert found.no_cuts == ()


def test_by_the_rule_node_layers_that_too_many_tensors_join_are_named(
    write: Callable[[str, bytes], str],
) -> None:
    net = write("unet.onnx", tiny.unet(depth=2))

    found = explain_network(net, granularity="node", max_live=2)

    (no_cut,) = found.no_cuts
    assert (no_cut.block, no_cut.after, no_cut.before) == (1, "c_bottom", "u1")
    assert [tensor.name for tensor in no_cut.tensors] == ["s0", "s1", "bottom"]
    assert no_cut.reason == "3 tensors would cross"
    assert [part.crowded for part in found.parts] == [0, 1, 0]


def test_on_a_board_the_blocks_are_those_that_plans_for_it_are_made_of() -> None:
    found = explain_network("googlenet", board="khadas-vim3")
    known = open_on_board("googlenet", "khadas-vim3").profile

    assert (found.board, found.granularity, found.opaque) == ("khadas-vim3", "table", False)
    assert found.blocks == known.blocks
    assert [cut.tensors[0].name for cut in found.cuts] == [
        block.outputs[0].name for block in known.blocks[:-1]
    ]


def test_on_a_board_a_network_that_it_was_not_timed_with_has_its_own_blocks(net: str) -> None:
    found = explain_network(net, board="khadas-vim3")

    assert found == msgspec.structs.replace(explain_network(net), board="khadas-vim3")


def test_of_a_name_in_a_board_s_table_only_the_number_of_parts_is_known() -> None:
    found = explain_network("mobilenet", board="rk3399pro")

    assert (found.opaque, len(found.blocks)) == (True, 14)
    assert [(cut.after_block, cut.tensors) for cut in found.cuts] == [(at, ()) for at in range(13)]


def test_a_board_leaves_no_rule_to_choose(net: str) -> None:
    with pytest.raises(InputError, match="give --board, or --granularity, --max-live"):
        explain_network(net, board="khadas-vim3", granularity="node", max_live=3)
