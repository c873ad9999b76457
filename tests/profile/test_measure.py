"""Timing a network on every core set of a machine."""

from collections.abc import Callable
from typing import Any

import pytest

from evener.artifacts.processors import Machine
from evener.artifacts.profile import HandOff, Profile
from evener.errors import RuntimeFailedError
from evener.network.blocks import Blocks
from evener.network.model import Network
from evener.profile.measure import cut_stride, prefixes_and_suffixes, profile_network

FakeRuntime = Any  # see conftest.py
MakeRuntime = Callable[..., FakeRuntime]
Measure = Callable[..., Profile]
LAYER_S, CUT_S = 0.25, 0.0625
HAND_OFF = HandOff(fixed_s=1e-5)


@pytest.fixture
def measure(
    network: Network,
    blocks: Blocks,
    make_machine: Callable[..., Machine],
    clock: Callable[[], float],
) -> Measure:
    def run(runtimes: dict[str, FakeRuntime], *, budget_s: float = 1e6) -> Profile:
        return profile_network(
            network,
            blocks,
            make_machine(*runtimes),
            runtimes=runtimes,
            budget_s=budget_s,
            hand_off=HAND_OFF,
            clock=clock,
        )

    return run


def test_every_segment_has_a_time_and_the_middle_ones_are_estimates(
    measure: Measure, make_runtime: MakeRuntime
) -> None:
    profile = measure({"fake": make_runtime()})

    for segment in profile.segments:
        ends = (segment.first_block > 0) + (segment.last_block < 5)
        layers = segment.last_block - segment.first_block + 1
        assert segment.median_s == layers * LAYER_S + ends * CUT_S
        assert segment.interpolated == (ends == 2)
        assert segment.repeats == (0 if ends == 2 else 5)
    assert len(profile.segments) == 6 * 7 // 2


def test_the_profile_says_what_it_is_of(
    measure: Measure, make_runtime: MakeRuntime, network: Network, blocks: Blocks
) -> None:
    profile = measure({"fake": make_runtime()})

    assert (profile.network, profile.network_sha256) == (network.name, network.sha256)
    assert (profile.granularity, profile.blocks) == ("strict", blocks.blocks)
    assert (profile.machine.host, profile.hand_off) == ("board", HAND_OFF)


def test_each_runtime_is_timed(measure: Measure, make_runtime: MakeRuntime) -> None:
    profile = measure({"slow": make_runtime(name="slow", layer_s=1.0), "fake": make_runtime()})

    whole_s = {
        segment.runtime: segment.median_s
        for segment in profile.segments
        if segment.last_block - segment.first_block == 5
    }
    assert whole_s == {"slow": 6.0, "fake": 1.5}


def test_a_small_budget_times_fewer_cuts_and_estimates_the_rest(
    measure: Measure, make_runtime: MakeRuntime
) -> None:
    # The whole takes 7 runs of 1.5 s; both sides of 5 cuts would take about 6 times that.
    profile = measure({"fake": make_runtime()}, budget_s=40.0)

    timed = {(s.first_block, s.last_block) for s in profile.segments if not s.interpolated}
    assert timed == {(0, 5), (0, 2), (3, 5)}
    assert len(profile.segments) == 6 * 7 // 2


def test_no_budget_at_all_still_times_the_whole(
    measure: Measure, make_runtime: MakeRuntime
) -> None:
    profile = measure({"fake": make_runtime()}, budget_s=0.0)

    assert [(s.first_block, s.last_block) for s in profile.segments if not s.interpolated] == [
        (0, 5)
    ]


def test_where_a_segment_is_refused_nothing_is_estimated(
    measure: Measure, make_runtime: MakeRuntime
) -> None:
    profile = measure({"fake": make_runtime(refuses=lambda layers: layers == 2)})

    assert not any(segment.interpolated for segment in profile.segments)
    assert {(s.first_block, s.last_block) for s in profile.segments} == {
        (0, 5),
        *((0, last) for last in (0, 2, 3, 4)),
        *((first, 5) for first in (1, 2, 3, 5)),
    }


def test_a_network_that_nothing_runs_is_refused_with_the_reason(
    measure: Measure, make_runtime: MakeRuntime
) -> None:
    refusing = make_runtime(refuses=lambda _: True)

    with pytest.raises(
        RuntimeFailedError,
        match=r"no runtime runs any part of '6 layers' on board; fake on 1 core .*: no 6 layers",
    ) as caught:
        measure({"fake": refusing})

    assert caught.value.runtime == "fake"


@pytest.mark.parametrize(
    ("cuts", "whole_s", "budget_s", "stride"),
    [
        (17, 1.0, 1e9, 1),
        (17, 1.0, 12.0, 2),
        (17, 1.0, 0.5, 18),
        (0, 1.0, 9.0, 1),
        (17, 9.0, 9.1, 18),
    ],
)
def test_a_stride_keeps_the_budget(cuts: int, whole_s: float, budget_s: float, stride: int) -> None:
    assert cut_stride(cuts, whole_s=whole_s, budget_s=budget_s) == stride


def test_a_stride_of_one_takes_both_sides_of_every_cut() -> None:
    assert list(prefixes_and_suffixes(3, stride=1)) == [(0, 0), (1, 2), (0, 1), (2, 2)]


def test_a_single_block_has_no_sides() -> None:
    assert list(prefixes_and_suffixes(1, stride=1)) == []
