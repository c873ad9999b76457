"""How long lanes take for each frame, and when frames arrive."""

from collections.abc import Callable
from itertools import islice

import msgspec
import numpy as np
import pytest

from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.errors import InputError
from evener.plan.decide import make_plan
from evener.plan.service import constant, lognormal, periodic, poisson, spreads_of
from evener.testing.plans import chain

TWO = chain((1, [()]), (1, [(), ()]))


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_a_constant_lane_always_takes_its_predicted_time() -> None:
    assert [[list(islice(lane, 2)) for lane in stage] for stage in constant(TWO)] == [
        [[1, 1]],
        [[1, 1], [1, 1]],
    ]


def test_drawn_times_have_the_predicted_median_and_the_given_spread() -> None:
    drawn = np.array(list(islice(lognormal(TWO, [[0.2], [0.0, 0.1]], rng())[0][0], 20_000)))

    assert np.median(drawn) == pytest.approx(1.0, rel=0.01)
    assert np.log(drawn).std() == pytest.approx(0.2, rel=0.02)


def test_lanes_draw_independently_and_the_same_seed_draws_the_same() -> None:
    spreads = [[0.1], [0.1, 0.0]]
    first, again = (lognormal(TWO, spreads, rng()) for _ in range(2))

    drawn = [list(islice(lane, 300)) for stage in first for lane in stage]
    assert drawn == [list(islice(lane, 300)) for stage in again for lane in stage]
    assert drawn[0] != drawn[1]
    assert drawn[2] == [1.0] * 300


def test_the_spread_of_a_lane_brings_its_quartiles_back(
    profile_of: Callable[..., Profile],
) -> None:
    profile = profile_of(2, {"cpu0": 1, "gpu0": 1}, {("cpu0", 1): span, ("gpu0", 1): span})
    profile = with_quartiles(profile, low=0.9, high=1.2)
    plan = make_plan(profile, stages=2)

    spreads = spreads_of(profile, plan)

    drawn = list(islice(lognormal(plan, spreads, rng())[0][0], 20_000))
    low, high = np.percentile(drawn, (25, 75))
    assert high / low == pytest.approx(1.2 / 0.9, rel=0.01)


def test_a_profile_of_something_else_is_refused(profile_of: Callable[..., Profile]) -> None:
    profile = profile_of(2, {"cpu0": 1, "gpu0": 1}, {("cpu0", 1): span, ("gpu0", 1): span})
    other = profile_of(2, {"gpu0": 1}, {("gpu0", 1): span})

    with pytest.raises(InputError, match=r"no time of blocks \d to \d with fake on 1 cores of cpu"):
        spreads_of(other, make_plan(profile, stages=2))


def test_random_arrivals_have_the_rate_that_was_asked_for() -> None:
    arrivals = list(islice(poisson(50.0, rng()), 10_000))

    assert arrivals == sorted(arrivals)
    assert 10_000 / arrivals[-1] == pytest.approx(50, rel=0.03)
    assert np.std(np.diff(arrivals)) == pytest.approx(1 / 50, rel=0.05)  # as of an exponential


@pytest.mark.parametrize("rate_hz", [0.0, -1.0, float("inf"), float("nan")])
def test_a_rate_that_cannot_be_is_refused_at_once(rate_hz: float) -> None:
    with pytest.raises(InputError, match="give a rate above 0"):
        periodic(rate_hz)
    with pytest.raises(InputError, match="give a rate above 0"):
        poisson(rate_hz, rng())


@pytest.mark.parametrize(
    ("plan", "spreads", "text"),
    [
        (TWO, [[0.1]], r"\[1\] spreads do not fit \[1, 2\] lanes; give one per lane"),
        (TWO, [[0.1], [0.1, -0.5]], "a spread of -0.5 is not one: give 0 or more"),
        (TWO, [[0.1], [0.1, float("inf")]], "a spread of inf"),
    ],
)
def test_spreads_that_do_not_fit_are_refused(
    plan: Plan, spreads: list[list[float]], text: str
) -> None:
    with pytest.raises(InputError, match=text):
        lognormal(plan, spreads, rng())


def span(first: int, last: int) -> float:
    return float(1 + last - first)


def with_quartiles(profile: Profile, *, low: float, high: float) -> Profile:
    segments = tuple(
        msgspec.structs.replace(one, low_s=low * one.median_s, high_s=high * one.median_s)
        for one in profile.segments
    )
    return msgspec.structs.replace(profile, segments=segments)
