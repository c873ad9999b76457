"""Planning with what lanes do to each other."""

from collections.abc import Callable
from itertools import product

import msgspec
import pytest

from evener.artifacts.profile import Contention, Profile
from evener.plan.bound import find_bound
from evener.plan.decide import make_baseline, make_front, make_plan
from evener.plan.problem import make_problem
from evener.plan.slowed import plan_what_is_left


def crowd(profile: Profile, factors: dict[str, float]) -> Profile:
    contention = tuple(
        Contention(processor=name, others=1, factor=factor) for name, factor in factors.items()
    )
    return msgspec.structs.replace(profile, contention=contention)


@pytest.fixture
def measured(profile_of: Callable[..., Profile]) -> Profile:
    """Return a profile of four equal blocks on a processor of two cores and a slower one."""
    times = {("fast", 1): 1.0, ("fast", 2): 0.75, ("slow", 1): 2.0}

    def alone(seconds: float) -> Callable[[int, int], float]:
        return lambda first, last: seconds * (last - first + 1)

    return profile_of(
        4, {"fast": 2, "slow": 1}, {key: alone(seconds) for key, seconds in times.items()}
    )


def test_each_lane_of_several_takes_longer_by_its_processors_factor(measured: Profile) -> None:
    before = make_baseline(measured, "copies")
    crowded = crowd(measured, {"fast": 1.25, "slow": 1.5})

    found = make_baseline(crowded, "copies")

    assert [(lane.processor, lane.time_s) for lane in before.stages[0].lanes] == [
        ("fast", 4.0),
        ("fast", 4.0),
        ("slow", 8.0),
    ]
    assert [(lane.processor, lane.time_s) for lane in found.stages[0].lanes] == [
        ("fast", 5.0),
        ("fast", 5.0),
        ("slow", 12.0),
    ]
    assert found.rate_hz == pytest.approx(2 / 5 + 1 / 12)
    assert found.latency_s == pytest.approx(found.credits / found.rate_hz)


@pytest.mark.parametrize(("what", "time_s"), [("single", 3.0), ("all_cores", 3.0)])
def test_a_lane_that_is_the_only_one_is_not_slowed(
    measured: Profile, what: str, time_s: float
) -> None:
    crowded = crowd(measured, {"fast": 1.25, "slow": 1.5})

    found = make_baseline(crowded, what)  # type: ignore[arg-type] # a name from the list above

    assert [lane.time_s for lane in found.stages[0].lanes] == [time_s]


def test_stages_are_divided_by_the_times_they_have_in_company(
    profile_of: Callable[..., Profile],
) -> None:
    times = {
        ("fast", 1): lambda first, last: 1.0 * (last - first + 1),
        ("slow", 1): lambda first, last: 2.0 * (last - first + 1),
    }
    alone = profile_of(6, {"fast": 1, "slow": 1}, times)
    crowded = crowd(alone, {"fast": 1.0, "slow": 2.5})

    found = [make_plan(profile, stages=2) for profile in (alone, crowded)]

    blocks = [
        [(lane.processor, stage.last_block - stage.first_block + 1) for lane in stage.lanes]
        for plan in found
        for stage in plan.stages
    ]
    assert sorted(blocks[:2]) == [[("fast", 4)], [("slow", 2)]]
    assert sorted(blocks[2:]) == [[("fast", 5)], [("slow", 1)]]
    assert [plan.rate_hz for plan in found] == [1 / 4, 1 / 5]


def test_one_lane_is_chosen_where_company_costs_more_than_it_brings(measured: Profile) -> None:
    crowded = crowd(measured, {"fast": 3.0, "slow": 3.0})

    alone, beside = make_plan(measured), make_plan(crowded)

    assert sum(len(stage.lanes) for stage in alone.stages) > 1
    assert [lane.time_s for stage in beside.stages for lane in stage.lanes] == [3.0]
    assert beside.rate_hz == pytest.approx(1 / 3)


@pytest.mark.parametrize(("fast", "slow"), [*product([1.0, 1.3, 2.0, 4.0], repeat=2)])
def test_the_search_finds_what_trying_every_plan_finds(
    measured: Profile, fast: float, slow: float
) -> None:
    crowded = crowd(measured, {"fast": fast, "slow": slow})

    found = [
        [(plan.rate_hz, plan.credits) for plan in make_front(crowded, method=method)]
        for method in ("dp", "exhaustive")
    ]

    assert found[0] == [pytest.approx(each) for each in found[1]]


@pytest.mark.parametrize("factor", [1.0, 1.3, 4.0])
def test_no_plan_exceeds_the_bound(measured: Profile, factor: float) -> None:
    crowded = crowd(measured, {"fast": factor, "slow": factor})
    best = make_plan(crowded)

    assert best.bound_rate_hz is not None
    assert best.rate_hz <= best.bound_rate_hz
    alone = find_bound(make_problem(measured)).rate_hz
    assert best.bound_rate_hz == pytest.approx(max(alone / factor, 1 / 3))


def test_a_factor_of_one_changes_no_plan(measured: Profile) -> None:
    crowded = crowd(measured, {"fast": 1.0})

    assert make_plan(crowded) == make_plan(measured)


def test_what_is_left_of_a_machine_is_crowded_too(measured: Profile) -> None:
    crowded = crowd(measured, {"fast": 1.25, "slow": 1.5})

    left = plan_what_is_left(crowded, {("fast", 0): 2.0})

    assert left is not None
    whole = make_plan(crowded)
    slowed = [lane for stage in left.stages for lane in stage.lanes if lane.cores == (0,)]
    assert [lane.time_s for lane in slowed] == [4.0 * 1.25 * 2.0]
    assert left.rate_hz < whole.rate_hz
