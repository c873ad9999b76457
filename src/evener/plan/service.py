"""How long lanes take for each frame, and when frames arrive: what a simulation draws from.

A *service* holds an endless iterator of seconds for each lane of each stage of a plan.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, count, repeat
from math import inf, log
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.plan import Lane, Part, Plan
from evener.artifacts.profile import Profile, SegmentTime
from evener.errors import InputError

Service = Sequence[Sequence[Iterator[float]]]
Spreads = Sequence[Sequence[float]]

_DRAWN: Final = 256  # at once; one by one would take longer than the simulation
_QUARTILES: Final = 2 * NormalDist().inv_cdf(0.75)  # between them, in standard deviations


def constant(plan: Plan) -> Service:
    """Let every frame take a lane's predicted time.

    Example:
        >>> from evener.testing.plans import chain
        >>> next(constant(chain((1, [()])))[0][0])
        1.0
    """
    return [[repeat(lane.time_s) for lane in stage.lanes] for stage in plan.stages]


def lognormal(plan: Plan, spreads: Spreads, rng: np.random.Generator) -> Service:
    """Draw each frame's time from a lognormal distribution whose median is the predicted time.

    Args:
        plan: the lanes.
        spreads: standard deviation of the time's logarithm for each lane of each stage; a lane of
            0 always takes its predicted time.
        rng: what the times are drawn from; each lane gets a stream of its own.

    Raises:
        InputError: not one spread for each lane, or one below 0 or not finite.
    """
    lanes = [len(stage.lanes) for stage in plan.stages]
    if [len(of) for of in spreads] != lanes:
        raise InputError(
            f"{[len(of) for of in spreads]} spreads do not fit {lanes} lanes; give one per lane"
        )
    wrong = [spread for of in spreads for spread in of if not 0 <= spread < inf]
    if wrong:
        raise InputError(f"a spread of {wrong[0]} is not one: give 0 or more")

    def draw(median_s: float, spread: float, stream: np.random.Generator) -> Iterator[float]:
        return _endless(lambda: median_s * stream.lognormal(0.0, spread, _DRAWN))

    return [
        [
            draw(lane.time_s, spread, rng.spawn(1)[0]) if spread else repeat(lane.time_s)
            for lane, spread in zip(stage.lanes, of, strict=True)
        ]
        for stage, of in zip(plan.stages, spreads, strict=True)
    ]


def spreads_of(profile: Profile, plan: Plan) -> Spreads:
    """Return how much each lane's time varies, from the quartiles of the segments it runs.

    This is an estimate: quartiles of isolated runs, of which segments that were interpolated have
    none of their own, and a board's table none at all (their spread is 0). The parts of a lane are
    taken to be slow together.

    Raises:
        InputError: the profile has no time of a part.

    Example:
        >>> from evener.artifacts.board import load_board
        >>> from evener.plan import board_profile, make_plan
        >>> profile = board_profile(load_board("khadas-vim3"), "alexnet", transfers=False)
        >>> spreads_of(profile, make_plan(profile))
        [[0.0], [0.0, 0.0]]
    """
    known = {_key(one): one for one in profile.segments}

    def spread(lane: Lane) -> float:
        found = [_find(known, lane, part) for part in lane.parts]
        low_s, high_s = sum(one.low_s for one in found), sum(one.high_s for one in found)
        return log(high_s / low_s) / _QUARTILES if high_s > low_s > 0 else 0.0

    return [[spread(lane) for lane in stage.lanes] for stage in plan.stages]


def periodic(rate_hz: float) -> Iterator[float]:
    """Let frames arrive one period apart, the first at once.

    Example:
        >>> from itertools import islice
        >>> list(islice(periodic(4.0), 3))
        [0.0, 0.25, 0.5]
    """
    _check_rate(rate_hz)
    return (number / rate_hz for number in count())


def poisson(rate_hz: float, rng: np.random.Generator) -> Iterator[float]:
    """Let frames arrive independently of one another.

    Args:
        rate_hz: frames per second, on average.
        rng: what the gaps are drawn from.
    """
    _check_rate(rate_hz)
    return accumulate(_endless(lambda: rng.exponential(1 / rate_hz, _DRAWN)))


def _endless(draw: Callable[[], NDArray[np.float64]]) -> Iterator[float]:
    while True:
        yield from draw().tolist()


_Key = tuple[str, int, int, int, str, str, str, float | None]


def _key(one: SegmentTime) -> _Key:
    span = (one.first_block, one.last_block)
    return (
        *(one.processor, one.cores),
        *span,
        *(one.runtime, one.precision, one.execution, one.clock_hz),
    )


def _find(known: dict[_Key, SegmentTime], lane: Lane, part: Part) -> SegmentTime:
    cores = len(lane.cores) or 1
    key = (
        *(lane.processor, cores),
        *(part.first_block, part.last_block),
        *(part.runtime, part.precision, part.execution, lane.clock_hz),
    )
    if key not in known:
        raise InputError(
            f"the profile has no time of blocks {part.first_block} to {part.last_block} with "
            f"{part.runtime} on {cores} cores of {lane.processor}; take the profile that the plan "
            "was made from"
        )
    return known[key]


def _check_rate(rate_hz: float) -> None:
    if not 0 < rate_hz < inf:
        raise InputError(f"frames cannot arrive at {rate_hz} /s; give a rate above 0")
