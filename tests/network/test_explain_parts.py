"""Parts that blocks were joined to: which cuts are left, and which lie inside a part."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.network.blocks import cut_into_blocks
from evener.network.explain import Crossing, explain
from evener.network.explain_parts import TIMED_AS_ONE, explain_names, explain_parts
from evener.network.merge import merge_blocks
from evener.network.model import load_network, parse_network
from evener.testing import tiny

NET = parse_network(tiny.dense(layers=6), name="net")
BLOCKS = cut_into_blocks(NET, "paper")


def of_six_blocks(counts: list[int]) -> list[int]:
    """Take blocks for parts while there are any."""
    left = [6 - taken for taken in accumulate(counts, initial=0)]
    return [min(count, rest) for count, rest in zip(counts, left, strict=False) if rest > 0]


@given(st.lists(st.integers(1, 3), min_size=6).map(of_six_blocks))
def test_every_cut_of_the_blocks_is_between_parts_or_inside_one(counts: list[int]) -> None:
    found = explain_parts(NET, BLOCKS, merge_blocks(BLOCKS, counts))

    ends = [end - 1 for end in accumulate(counts)][:-1]
    names = [cut.tensors[0].name for cut in explain(NET, BLOCKS).cuts]
    assert [cut.after_block for cut in found.cuts] == list(range(len(counts) - 1))
    assert [cut.tensors[0].name for cut in found.cuts] == [names[end] for end in ends]
    inside = [one.tensors[0].name for one in found.no_cuts]
    assert inside == [name for at, name in enumerate(names) if at not in ends]
    assert {one.reason for one in found.no_cuts} <= {TIMED_AS_ONE}


def test_a_cut_inside_a_part_names_the_part_and_the_layers_around_it() -> None:
    found = explain_parts(NET, BLOCKS, merge_blocks(BLOCKS, [1, 3, 2]))

    first = found.no_cuts[0]
    assert (first.block, first.tensors) == (1, (Crossing(name="h2", bytes=64),))
    assert (first.after, first.before) == (BLOCKS.nodes[1][0], BLOCKS.nodes[2][0])
    assert [one.block for one in found.no_cuts] == [1, 1, 2]


def test_what_no_cut_of_the_blocks_parts_keeps_its_reason_under_the_part_s_number() -> None:
    network = load_network("squeezenet")
    blocks = cut_into_blocks(network, "paper")

    found = explain_parts(network, blocks, merge_blocks(blocks, [2, 3, 14]))

    finer = [one.reason for one in explain(network, blocks).no_cuts]
    assert [one.reason for one in found.no_cuts if one.reason != TIMED_AS_ONE] == finer
    assert [one.block for one in found.no_cuts] == sorted(one.block for one in found.no_cuts)
    assert len(found.no_cuts) == len(finer) + 18 - len(found.cuts)


@pytest.mark.parametrize("count", [1, 3])
def test_of_names_only_their_order_is_known(count: int) -> None:
    found = explain_names("net", BLOCKS.blocks[:count])

    assert found.opaque
    assert [cut.after_block for cut in found.cuts] == list(range(count - 1))
