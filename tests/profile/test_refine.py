"""Timing the segments that a plan rests on."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from evener.artifacts.plan import Lane, Part, Plan, Stage
from evener.artifacts.processors import Machine
from evener.artifacts.profile import HandOff, Profile, SegmentTime
from evener.errors import InputError
from evener.network.blocks import Blocks
from evener.network.model import Network
from evener.profile.measure import profile_network
from evener.profile.refine import estimated_segments, measure_segments

FakeRuntime = Any  # see conftest.py
MakeRuntime = Callable[..., FakeRuntime]
Measure = Callable[..., Profile]


@pytest.fixture
def profile(
    network: Network,
    blocks: Blocks,
    make_machine: Callable[..., Machine],
    make_runtime: MakeRuntime,
    clock: Callable[[], float],
) -> Profile:
    return profile_network(
        network,
        blocks,
        make_machine("fake"),
        runtimes={"fake": make_runtime()},
        budget_s=1e6,
        hand_off=HandOff(fixed_s=1e-5),
        clock=clock,
    )


@pytest.fixture
def measure(
    network: Network, blocks: Blocks, profile: Profile, clock: Callable[[], float]
) -> Measure:
    def run(wanted: list[SegmentTime], runtime: FakeRuntime) -> Profile:
        return measure_segments(
            profile, network, blocks, wanted, runtimes={runtime.name: runtime}, clock=clock
        )

    return run


def entry(profile: Profile, first: int, last: int) -> SegmentTime:
    (found,) = (s for s in profile.segments if (s.first_block, s.last_block) == (first, last))
    return found


def plan_of(profile: Profile, *segments: tuple[int, int]) -> Plan:
    return Plan(
        network=profile.network,
        network_sha256=profile.network_sha256,
        granularity=profile.granularity,
        method="by hand",
        objective="throughput",
        stages=tuple(
            Stage(
                first_block=first,
                last_block=last,
                inputs=(),
                outputs=(),
                lanes=(
                    Lane(
                        processor="cpu0",
                        cores=(0,),
                        parts=(Part(first_block=first, last_block=last, runtime="fake"),),
                        time_s=1.0,
                    ),
                )
                * 2,
            )
            for first, last in segments
        ),
        credits=1,
        rate_hz=1.0,
        latency_s=1.0,
        cut_points=5,
        configurations=1,
    )


def test_a_plan_rests_on_the_estimates_among_its_parts(profile: Profile) -> None:
    plan = plan_of(profile, (0, 1), (2, 3), (4, 5))

    assert estimated_segments(profile, plan) == (entry(profile, 2, 3),)


def test_a_plan_of_two_stages_rests_on_measurements(profile: Profile) -> None:
    assert estimated_segments(profile, plan_of(profile, (0, 1), (2, 5))) == ()


def test_a_wanted_time_is_measured_and_the_others_stay(
    profile: Profile, measure: Measure, make_runtime: MakeRuntime
) -> None:
    wanted = entry(profile, 2, 3)

    refined = measure([wanted], make_runtime(layer_s=2.0))

    found = entry(refined, 2, 3)
    assert (found.median_s, found.repeats, found.interpolated) == (4.125, 3, False)
    others = [s for s in refined.segments if s != found]
    assert others == [s for s in profile.segments if s != wanted]


def test_a_wanted_time_that_the_runtime_refuses_is_left_out(
    profile: Profile, measure: Measure, make_runtime: MakeRuntime
) -> None:
    wanted = entry(profile, 2, 3)

    refined = measure([wanted], make_runtime(refuses=lambda _: True))

    assert list(refined.segments) == [s for s in profile.segments if s != wanted]


def test_nothing_wanted_changes_nothing(
    profile: Profile, measure: Measure, make_runtime: MakeRuntime
) -> None:
    assert measure([], make_runtime()) == profile


def test_an_entry_that_the_profile_lacks_is_refused(
    profile: Profile, measure: Measure, make_runtime: MakeRuntime
) -> None:
    foreign = msgspec.structs.replace(profile.segments[0], cores=8)

    with pytest.raises(InputError, match="no time for blocks 0 to 0 in fake on 8 of cpu0"):
        measure([foreign], make_runtime())


def test_a_runtime_that_is_not_here_is_refused(
    profile: Profile, measure: Measure, make_runtime: MakeRuntime
) -> None:
    with pytest.raises(InputError, match="uses the runtime fake, and only other can be used here"):
        measure([profile.segments[0]], make_runtime(name="other"))


def test_a_profile_of_another_network_is_refused(
    profile: Profile, network: Network, blocks: Blocks
) -> None:
    other = msgspec.structs.replace(profile, network="else", network_sha256="f" * 64)

    with pytest.raises(InputError, match=r"the profile is of 'else' \(sha256 ffffffffffff, 6 bl"):
        measure_segments(other, network, blocks, [], runtimes={})
