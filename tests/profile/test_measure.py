"""Timing a network on every core set of a machine."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from onnx import helper

from evener.artifacts.processors import Machine
from evener.artifacts.profile import HandOff, Profile
from evener.errors import RuntimeFailedError
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.model import Network, parse_network
from evener.plan import make_plan
from evener.profile import measure as under_test
from evener.profile.energy import CountingMeter, Meter, Source
from evener.profile.find import find_processors
from evener.profile.measure import cut_stride, prefixes_and_suffixes, profile_network
from evener.profile.refine import estimated_segments, measure_segments
from evener.profile.segments import Progress
from evener.runtime import get_runtime
from evener.testing import tiny

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
    def run(
        runtimes: dict[str, FakeRuntime],
        *,
        budget_s: float = 1e6,
        progress: Progress | None = None,
        meter: Meter | None = None,
    ) -> Profile:
        return profile_network(
            network,
            blocks,
            make_machine(*runtimes),
            runtimes=runtimes,
            budget_s=budget_s,
            hand_off=HAND_OFF,
            clock=clock,
            progress=progress,
            meter=meter,
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
        assert segment.repeats == (0 if ends == 2 else 3)
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
    # The whole takes 4 runs of 1.5 s; both sides of 5 cuts would take about 6 times that.
    profile = measure({"fake": make_runtime()}, budget_s=23.0)

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


def test_progress_counts_through_to_the_total(measure: Measure, make_runtime: MakeRuntime) -> None:
    heard: list[tuple[int, int]] = []

    measure({"fake": make_runtime()}, progress=lambda done, total, _: heard.append((done, total)))

    assert heard == [(1, 1), *((done, 11) for done in range(2, 12))]


def test_a_real_runtime_on_this_machine_gives_a_profile_that_can_be_planned(
    network: Network, blocks: Blocks
) -> None:
    runtimes = {"onnxruntime": get_runtime("onnxruntime")}
    machine = find_processors(runtimes=runtimes)

    profile = profile_network(network, blocks, machine, runtimes=runtimes)

    cores = sum(len(processor.core_sets) for processor in machine.processors)
    assert len(profile.segments) == cores * 6 * 7 // 2
    assert profile.hand_off.fixed_s > 0
    plan = make_plan(profile)
    measured = measure_segments(
        profile, network, blocks, estimated_segments(profile, plan), runtimes=runtimes
    )
    assert estimated_segments(measured, plan) == ()


@pytest.mark.parametrize("disturbed", [0, 1, 2, 9])
def test_a_time_that_was_taken_while_something_else_ran_is_taken_again(
    measure: Measure, make_runtime: MakeRuntime, disturbed: int
) -> None:
    quiet, busy = make_runtime(), make_runtime()
    busy.slower_opens = {disturbed: 4}

    assert measure({"fake": busy}) == measure({"fake": quiet})
    assert busy.opens > quiet.opens


def test_of_two_disturbed_times_the_shorter_counts(
    measure: Measure, make_runtime: MakeRuntime
) -> None:
    busy = make_runtime()
    busy.slower_opens = {0: 4, 11: 9, 12: 9}  # the whole network, and both further looks at it

    profile = measure({"fake": busy})

    (whole,) = (s for s in profile.segments if (s.first_block, s.last_block) == (0, 5))
    assert whole.median_s == 4 * 6 * LAYER_S


def test_nothing_is_timed_again_beyond_the_budget(
    measure: Measure, make_runtime: MakeRuntime
) -> None:
    busy = make_runtime()
    busy.slower_opens = {0: 4}

    measure({"fake": busy}, budget_s=0.0)

    assert busy.opens == 1


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


def test_by_the_rule_node_only_segments_between_nested_places_are_timed_or_estimated(
    make_machine: Callable[..., Machine], clock: Callable[[], float], make_runtime: MakeRuntime
) -> None:
    network = branches(2)
    blocks = cut_into_blocks(network, "node", max_live=3)
    count = len(blocks.blocks)

    profile = profile_network(
        network,
        blocks,
        make_machine("fake"),
        runtimes={"fake": make_runtime()},
        hand_off=HAND_OFF,
        budget_s=1e6,
        clock=clock,
    )

    found = {(one.first_block, one.last_block): one.interpolated for one in profile.segments}
    assert found == {
        (first, last): first > 0 and last < count - 1
        for first in range(count)
        for last in range(first, count)
        if blocks.form_segment(first, last)
    }
    assert len(found) < count * (count + 1) // 2
    assert (profile.granularity, profile.max_live) == ("node", 3)


def branches(each: int) -> Network:
    """Make two branches of products between a first and a last one."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a0"])]
    for branch in "bc":
        names = ["a0", *(f"{branch}{index}" for index in range(each))]
        nodes += [helper.make_node("MatMul", [one, "w"], [two]) for one, two in pairwise(names)]
    last = each - 1
    nodes.append(helper.make_node("Add", [f"b{last}", f"c{last}"], ["sum"]))
    nodes.append(helper.make_node("MatMul", ["sum", "w"], ["y"]))
    content = tiny.network(
        nodes,
        inputs=[tiny.floats("x", 1, 4)],
        outputs=[tiny.floats("y", 1, 4)],
        weights={"w": np.eye(4, dtype=np.float32)},
    )
    return parse_network(content, name="branches")


def test_with_a_meter_every_segment_has_an_energy_and_the_machine_an_idle_power(
    measure: Measure,
    make_runtime: MakeRuntime,
    clock: Callable[[], float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(under_test, "idle_power_w", lambda _: 6.0)
    steady = CountingMeter([Source("10 W", lambda: 10.0 * clock())], clock=clock)

    profile = measure({"fake": make_runtime()}, meter=steady)

    assert profile.machine.idle_w == 6.0
    assert any(segment.interpolated for segment in profile.segments)
    for segment in profile.segments:
        assert segment.energy_j == pytest.approx(4.0 * segment.median_s)
    assert make_plan(profile, objective="energy").energy_j is not None


def test_without_a_meter_no_energy_is_made_up(measure: Measure, make_runtime: MakeRuntime) -> None:
    profile = measure({"fake": make_runtime()})

    assert profile.machine.idle_w is None
    assert {segment.energy_j for segment in profile.segments} == {None}
