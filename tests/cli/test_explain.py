"""What `plan --explain` tells of where a network may be cut."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from evener import workflow
from evener.network.explain import Explanation
from evener.workflow import (
    Cutting,
)

Evener = Callable[..., tuple[int, str, str]]
Calls = dict[str, dict[str, Any]]


def test_an_explanation_plans_nothing(evener: Evener, workflow_calls: Calls) -> None:
    rule = ("--granularity", "node", "--max-live", "3")
    out = evener("plan", "tiny", "--explain", *rule, "--shape", "a=1")[1]

    assert workflow_calls == {
        "explain_network": {
            "given": ("tiny",),
            "cutting": Cutting(granularity="node", max_live=3, shapes={"a": (1,)}),
            "board": None,
        }
    }
    assert "tiny in 2 blocks by the rule 'paper'" in out
    assert "x (16 B)" in out
    assert "conv1   conv2    p (2 kB), q (-)" in out
    assert "2 tensors would cross" in out


def test_where_every_layer_can_be_parted_that_is_said(
    evener: Evener, monkeypatch: pytest.MonkeyPatch, explanation: Explanation
) -> None:
    all_parted = msgspec.structs.replace(explanation, no_cuts=())
    monkeypatch.setattr(workflow, "explain_network", lambda *_, **__: all_parted, raising=False)

    assert "every two neighbouring main layers can be parted" in evener("plan", "x", "--explain")[1]


def test_an_explanation_by_the_rule_node_shows_what_was_opened_and_why_not_more(
    evener: Evener,
) -> None:
    out = evener("plan", "googlenet", "--explain", "--granularity", "node", "--max-live", "3")[1]

    assert "googlenet in 13 blocks by the rule 'paper', opened where up to 3 tensors may" in out
    opened = next(line for line in out.splitlines() if " n10, n12, " in line)
    assert opened.split()[-6:] == ["M", "8.3%", "4", "13", "8", "9,10,11,12,13,14,15,16"]
    assert "99 cuts in the order of the work before them" in out
    assert "left out, as the network has more than 100 places" in out


def test_an_explanation_for_a_board_lists_its_parts_with_their_times(evener: Evener) -> None:
    out = evener("plan", "googlenet", "--board", "khadas-vim3", "--explain")[1]

    assert "googlenet in 11 blocks, the parts that khadas-vim3 was timed in; a cut is" in out
    assert "main layers that no cut can part, by its blocks, and what would cross" in out
    assert "both were timed as one part" in out
    assert "googlenet in 11 blocks on khadas-vim3" in out
    assert "L x2" in out


def test_a_network_that_a_board_knows_by_name_only_is_said_to_be(evener: Evener) -> None:
    out = evener("plan", "mobilenet", "--board", "rk3399pro", "--explain")[1]

    assert (
        "rk3399pro knows mobilenet by name only, in 14 parts with a cut after each but the last; "
        "give the path of its ONNX file to see what they are"
    ) in " ".join(out.split())
    assert "mobilenet in 14 blocks on rk3399pro" in out


def test_the_explanation_of_a_board_is_for_programs_too(evener: Evener) -> None:
    printed = json.loads(
        evener("plan", "googlenet", "--board", "khadas-vim3", "--explain", "--json")[1]
    )

    assert (printed["board"], len(printed["blocks"]), len(printed["cuts"])) == (
        "khadas-vim3",
        11,
        10,
    )
    assert {one["reason"] for one in printed["no_cuts"]} >= {"both were timed as one part"}


def test_a_cut_that_a_board_does_not_have_says_how_to_see_those_it_has(evener: Evener) -> None:
    code, _, err = evener(
        *("plan", "alexnet", "--board", "khadas-vim3", "--cuts", "19", "--on", "G,B")
    )

    assert code == 2
    assert "has the cuts 0 to 6; see them with evener plan NET --board BOARD --explain" in err


def test_where_every_layer_is_apart_at_some_place_that_is_said(evener: Evener) -> None:
    out = evener("plan", "squeezenet", "--explain", "--granularity", "node")[1]

    assert "every two neighbouring main layers can be parted" in out
