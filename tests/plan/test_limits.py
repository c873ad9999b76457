"""Keeping plans within limits."""

from collections.abc import Callable
from math import inf

import pytest

from evener.artifacts.profile import Profile
from evener.errors import InfeasibleError, InputError
from evener.plan.limits import Limits, check_energies
from evener.plan.problem import make_problem
from evener.plan.steps import Chain

ProfileOf = Callable[..., Profile]
QUICK = Chain((), period_s=0.1, credits=4, energy_j=2.0)
PROMPT = Chain((), period_s=0.3, credits=1, energy_j=1.5)
THRIFTY = Chain((), period_s=0.5, credits=2, energy_j=0.5)
PLANS = (QUICK, PROMPT, THRIFTY)


def test_without_limits_every_plan_is_kept() -> None:
    assert Limits().keep(PLANS) == PLANS


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        (Limits(min_rate_hz=10.0), (QUICK,)),
        (Limits(max_latency_s=0.35), (PROMPT,)),
        (Limits(max_energy_j=1.5), (PROMPT, THRIFTY)),
        (Limits(min_rate_hz=3.0, max_energy_j=1.5), (PROMPT,)),
    ],
)
def test_plans_at_a_limit_or_within_it_are_kept(limits: Limits, kept: tuple[Chain, ...]) -> None:
    assert limits.keep(PLANS) == kept


@pytest.mark.parametrize(
    ("limits", "message", "needed", "available"),
    [
        (Limits(min_rate_hz=20.0), "no plan reaches 20 /s: the quickest makes 10 /s", 20.0, 10.0),
        (Limits(max_latency_s=0.1), "latency of 100 ms: the shortest is 300 ms", 0.1, 0.3),
        (
            Limits(max_energy_j=0.25),
            "an energy of 250 mJ per frame: the least is 500 mJ, at 2 /s",
            0.25,
            0.5,
        ),
    ],
)
def test_a_limit_that_no_plan_keeps_names_the_nearest(
    limits: Limits, message: str, needed: float, available: float
) -> None:
    with pytest.raises(InfeasibleError, match=message) as caught:
        limits.keep(PLANS)

    assert caught.value.needed == pytest.approx(needed)
    assert caught.value.available == pytest.approx(available)


def test_limits_that_no_plan_keeps_together_name_the_plan_that_misses_least() -> None:
    with pytest.raises(
        InfeasibleError,
        match=r"no plan keeps 3.2 /s and 1.6 J per frame together, though each alone can be kept: "
        r"the nearest makes 3.33 /s with a latency of 300 ms, 1.7 J per frame",
    ):
        Limits(min_rate_hz=3.2, max_energy_j=1.6).keep(
            (QUICK, Chain((), period_s=0.3, credits=1, energy_j=1.7), THRIFTY)
        )


def test_a_plan_of_unknown_energy_keeps_no_limit_of_energy() -> None:
    unknown = Chain((), period_s=0.1, credits=1)

    assert unknown.energy_j == inf
    assert Limits(max_energy_j=1e9).keep((unknown, THRIFTY)) == (THRIFTY,)
    assert Limits(min_rate_hz=1.0).keeps(unknown)


@pytest.mark.parametrize("limit", [0.0, -1.0, inf])
def test_a_limit_that_is_none_is_refused(limit: float) -> None:
    with pytest.raises(InputError, match=f"the limit of rate is {limit}: give one above 0"):
        Limits(min_rate_hz=limit)


def test_energy_asked_for_where_a_processor_has_none_names_it(profile_of: ProfileOf) -> None:
    times = {("cpu0", 1): lambda *_: 1.0, ("gpu0", 1): lambda *_: 1.0}
    profile = profile_of(1, {"cpu0": 1, "gpu0": 1}, times, energy_j={"gpu0": 1.0})

    check_energies(make_problem(profile, processors=["gpu0"]), "board")
    with pytest.raises(
        InputError,
        match=r"the profile of board has no energies of cpu0: leave it to others \(--processors gp",
    ):
        check_energies(make_problem(profile), "board")
    with pytest.raises(InputError, match="no energies of cpu0: plan with a profile or board that"):
        check_energies(make_problem(profile, processors=["cpu0"]), "board")
