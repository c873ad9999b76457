"""Of several measurements of a segment, those worth having."""

from collections.abc import Callable
from math import inf

import msgspec
import pytest

from evener.artifacts.plan import Objective
from evener.artifacts.profile import Profile, SegmentTime
from evener.errors import InputError
from evener.plan import make_front, make_plan
from evener.plan.problem import make_problem

ProfileOf = Callable[..., Profile]


def measured_as(profile: Profile, *figures: tuple[str, float, float | None]) -> Profile:
    """Give the one segment of a profile several measurements: precision, seconds, joules."""
    (first,) = profile.segments
    segments = tuple(
        msgspec.structs.replace(first, precision=precision, median_s=time_s, energy_j=energy_j)
        for precision, time_s, energy_j in figures
    )
    return msgspec.structs.replace(profile, segments=segments)


@pytest.fixture
def one_block(profile_of: ProfileOf) -> Profile:
    return profile_of(1, {"gpu0": 1}, {("gpu0", 1): lambda *_: 1.0})


def used(segments: dict[tuple[int, int, int], SegmentTime]) -> list[tuple[int, str]]:
    return [(core_set, segment.precision) for (core_set, _, _), segment in segments.items()]


def test_a_slower_and_thriftier_measurement_is_a_choice_of_its_own(one_block: Profile) -> None:
    profile = measured_as(one_block, ("int8", 3.0, 1.0), ("f32", 2.0, 5.0), ("f16", 2.5, 5.0))

    problem = make_problem(profile)

    assert [one.thrift for one in problem.core_sets] == [0, 1]
    assert used(problem.segments) == [(0, "f32"), (1, "int8")]
    assert problem.times_s_CBE.ravel().tolist() == [2.0, 3.0]
    assert problem.energies_j_CBE is not None
    assert problem.energies_j_CBE.ravel().tolist() == [5.0, 1.0]


def test_plans_choose_between_the_measurements_by_their_objective(one_block: Profile) -> None:
    profile = measured_as(one_block, ("int8", 3.0, 1.0), ("f32", 2.0, 5.0))

    def precision(objective: Objective) -> str:
        plan = make_plan(profile, objective=objective)
        return plan.stages[0].lanes[0].parts[0].precision

    assert (precision("throughput"), precision("latency")) == ("f32", "f32")
    assert precision("energy") == "int8"
    assert [plan.energy_j for plan in make_front(profile)] == [5.0, 1.0]


def test_of_measurements_without_energy_the_quickest_counts(one_block: Profile) -> None:
    problem = make_problem(measured_as(one_block, ("int8", 3.0, None), ("f32", 2.0, None)))

    assert used(problem.segments) == [(0, "f32")]
    assert problem.energies_j_CBE is None


def test_a_slower_measurement_is_kept_where_only_its_energy_is_known(one_block: Profile) -> None:
    problem = make_problem(measured_as(one_block, ("int8", 3.0, 4.0), ("f32", 2.0, None)))

    assert used(problem.segments) == [(0, "f32"), (1, "int8")]
    assert problem.energies_j_CBE is not None
    assert problem.energies_j_CBE.ravel().tolist() == [inf, 4.0]


@pytest.mark.parametrize("energy_j", [-1.0, inf])
def test_an_energy_that_cannot_be_is_refused(one_block: Profile, energy_j: float) -> None:
    with pytest.raises(InputError, match="an energy is 0 or more, and left out where none is"):
        make_problem(measured_as(one_block, ("f32", 1.0, energy_j)))


def test_times_at_a_clock_that_the_processor_does_not_have_do_not_count(
    profile_of: ProfileOf,
) -> None:
    times = {("gpu0", 1, 1e9): lambda *_: 2.0, ("gpu0", 1, 2e9): lambda *_: 1.0}
    profile = profile_of(1, {"gpu0": 1}, times)
    slowed = msgspec.structs.replace(profile.machine.processors[0], clocks_hz=(1e9,))
    machine = msgspec.structs.replace(profile.machine, processors=(slowed,))

    problem = make_problem(msgspec.structs.replace(profile, machine=machine))

    assert [one.clock_hz for one in problem.core_sets] == [1e9]
