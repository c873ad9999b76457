"""Predicting plans again with what their lanes do to each other."""

from collections.abc import Callable

import msgspec
import pytest

from evener.artifacts.plan import Plan
from evener.artifacts.profile import Contention, Profile
from evener.plan.contended import contended
from evener.plan.decide import make_baseline, make_plan


@pytest.fixture
def measured(profile_of: Callable[..., Profile]) -> Profile:
    """Return a profile of four equal blocks on a processor of two cores and a slower one."""
    times = {("fast", 1): 1.0, ("fast", 2): 0.75, ("slow", 1): 2.0}

    def alone(seconds: float) -> Callable[[int, int], float]:
        return lambda first, last: seconds * (last - first + 1)

    return profile_of(
        4, {"fast": 2, "slow": 1}, {key: alone(seconds) for key, seconds in times.items()}
    )


@pytest.fixture
def crowded(measured: Profile) -> Profile:
    factors = tuple(
        Contention(processor=one.name, others=1, factor=1.25 + number)
        for number, one in enumerate(measured.machine.processors)
    )
    return msgspec.structs.replace(measured, contention=factors)


def factor(profile: Profile, processor: str) -> float:
    return next(one.factor for one in profile.contention if one.processor == processor)


def test_each_lane_of_several_takes_longer_by_its_processors_factor(crowded: Profile) -> None:
    plan = make_baseline(crowded, "copies")
    assert len(plan.stages[0].lanes) > 1

    found = contended(plan, crowded)

    for before, after in zip(plan.stages[0].lanes, found.stages[0].lanes, strict=True):
        assert after.time_s == pytest.approx(before.time_s * factor(crowded, before.processor))
        assert (after.cores, after.parts) == (before.cores, before.parts)
    assert found.rate_hz == pytest.approx(1 / found.stages[0].period_s)
    assert found.rate_hz < plan.rate_hz
    assert found.latency_s == pytest.approx(found.credits / found.rate_hz)


def test_the_slowest_stage_in_company_sets_the_rate(crowded: Profile) -> None:
    plan = make_plan(crowded, stages=2)

    found = contended(plan, crowded)

    assert found.rate_hz == pytest.approx(1 / max(stage.period_s for stage in found.stages))


def test_a_lane_alone_is_not_slowed(crowded: Profile) -> None:
    plan = make_baseline(crowded, "single")

    assert contended(plan, crowded) == plan


def test_without_measured_contention_nothing_changes(measured: Profile) -> None:
    plan = make_baseline(measured, "copies")

    assert contended(plan, measured) == plan


def test_a_longer_period_takes_more_of_the_idle_machines_energy(crowded: Profile) -> None:
    machine = msgspec.structs.replace(crowded.machine, idle_w=2.0)
    profile = msgspec.structs.replace(crowded, machine=machine)
    plan: Plan = msgspec.structs.replace(make_baseline(profile, "copies"), energy_j=1.0)

    found = contended(plan, profile)

    assert found.energy_j == pytest.approx(1.0 + 2.0 * (1 / found.rate_hz - 1 / plan.rate_hz))
