"""Bound the rate of every plan: pipelines, copies, and any mixture of them in time.

Say x[c,B,E] is the share of frames whose blocks B to E run as one segment on core set c. Whatever
the plan, each frame goes from the first block to the last by some row of segments, so x is a flow
of 1; and in one period a processor of u cores has u core-periods to give, of which a segment on k
cores takes k times its time. The shortest period that any such x allows is a linear program, and no
plan is quicker. Times of segments enter as they are, so they need not add up; where they do, this
is the textbook's program over single blocks. Layout: P processors, B first block, E last block.

The answer does not hang on the solver's tolerances. Put a price on each processor's time, all
prices together 1: a plan of period p has p to spend per frame, so p is at least the cost of the
cheapest row of segments, whatever the prices (weak duality). The solver finds the best prices; the
bound is the cost of the cheapest row under them, by dynamic programming. Where state is kept from
frame to frame, the time of the quickest lane that keeps it is a bound as well. Times are those in
company; a lane that is the only one may be quicker, and then its rate is the bound.
"""

from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np

from evener.artifacts.profile import SegmentTime
from evener.plan.feasible import no_chain
from evener.plan.problem import Floats, Problem

ROUNDING: Final = 1e-12  # more than the sums below can lose
LEAST_SHARE: Final = 1e-6  # of the frames; less is the solver's tolerance


@dataclass(frozen=True, slots=True)
class Bound:
    """What no plan exceeds, and what that rests on.

    Attributes:
        rate_hz: frames per second that no plan exceeds.
        segments: those that the quickest mixture of all uses. Where one is an estimate, so is the
            bound, and most likely too high, as the mixture picks the estimates that flatter it:
            measure it to know better.
    """

    rate_hz: float
    segments: tuple[SegmentTime, ...]

    @property
    def estimated(self) -> bool:
        """Whether it rests on times that nobody has measured."""
        return any(segment.interpolated for segment in self.segments)


def find_bound(problem: Problem) -> Bound:
    """Find the rate that no plan exceeds on these core sets, by these times.

    Takes hundredths of a second for sixty blocks on eight processors.

    Args:
        problem: what to plan.

    Raises:
        InfeasibleError: no row of segments runs all blocks.
    """
    bound = _bound_in_company(problem)
    if problem.alone_s_C is None:
        return bound
    core_set = int(np.argmin(problem.alone_s_C))
    rate_hz = (1 + ROUNDING) / float(problem.alone_s_C[core_set])
    if rate_hz <= bound.rate_hz:
        return bound
    return Bound(rate_hz, (problem.segments[core_set, 0, problem.blocks - 1],))


def _bound_in_company(problem: Problem) -> Bound:
    """Bound the rate of all plans but those of a lane that has the machine to itself."""
    shares_s_CBE = _shares_s(problem)
    shares_s_PBE = _by_processor(problem, shares_s_CBE)
    count = len(shares_s_PBE)
    equal = np.full(count, 1 / count)
    period_s = _cheapest_s(shares_s_PBE, equal)
    if period_s == inf:
        raise no_chain(problem, None)
    mixture = _best_mixture(shares_s_PBE)
    if mixture is not None:
        period_s = max(period_s, _cheapest_s(shares_s_PBE, mixture.prices_P))
    state = _lone_lane(problem)
    if state is not None and problem.times_s_CBE[state] > period_s:
        return Bound((1 + ROUNDING) / float(problem.times_s_CBE[state]), (problem.segments[state],))
    return Bound(
        rate_hz=(1 + ROUNDING) / period_s,
        segments=tuple(
            _segment(problem, shares_s_CBE, *place)
            for place in (mixture.places if mixture is not None else ())
        ),
    )


@dataclass(frozen=True, slots=True)
class _Mixture:
    """The solution of the program.

    Attributes:
        prices_P: of each processor's time, together 1.
        places: processor, first and last block of the segments that it uses.
    """

    prices_P: Floats  # noqa: N815 -- its axes are part of its name
    places: tuple[tuple[int, int, int], ...]


def _lone_lane(problem: Problem) -> tuple[int, int, int] | None:
    """Find the quickest lane for a state: every frame passes through one, whatever the plan."""
    if problem.stateful_BE is None:
        return None
    times_s_CBE = np.where(problem.stateful_BE, problem.times_s_CBE, inf)
    core_set, first, last = np.unravel_index(np.argmin(times_s_CBE), times_s_CBE.shape)
    return int(core_set), int(first), int(last)


def _shares_s(problem: Problem) -> Floats:
    """Return seconds that a frame takes of the whole processor of each core set."""
    units = [problem.processors[one.processor].units for one in problem.core_sets]
    shares = [one.cores / of for one, of in zip(problem.core_sets, units, strict=True)]
    return np.array(shares)[:, None, None] * problem.times_s_CBE


def _by_processor(problem: Problem, shares_s_CBE: Floats) -> Floats:
    """Return seconds that a frame takes of each processor on its core set that takes least."""
    shares_s_PBE = np.full((len(problem.processors), problem.blocks, problem.blocks), inf)
    for core_set, shares_s_BE in zip(problem.core_sets, shares_s_CBE, strict=True):
        of_processor = shares_s_PBE[core_set.processor]
        np.minimum(of_processor, shares_s_BE, out=of_processor)
    return shares_s_PBE


def _segment(
    problem: Problem, shares_s_CBE: Floats, processor: int, first: int, last: int
) -> SegmentTime:
    core_sets = [c for c, one in enumerate(problem.core_sets) if one.processor == processor]
    best = min(core_sets, key=lambda c: float(shares_s_CBE[c, first, last]))
    return problem.segments[best, first, last]


def _cheapest_s(shares_s_PBE: Floats, prices_P: Floats) -> float:
    """Return the cost of the cheapest row of segments; inf if none runs all blocks."""
    able = np.isfinite(shares_s_PBE)
    costs = prices_P[:, None, None] * np.where(able, shares_s_PBE, 0.0)
    costs_BE = np.where(able, costs, inf).min(axis=0)
    cheapest = np.zeros(len(costs_BE) + 1)  # of the first so many blocks
    for end in range(1, len(cheapest)):
        cheapest[end] = np.min(cheapest[:end] + costs_BE[:end, end - 1])
    return float(cheapest[-1])


def _best_mixture(shares_s_PBE: Floats) -> _Mixture | None:
    """Solve the program; None if the solver gave up."""
    from scipy.optimize import linprog  # half a second to import
    from scipy.sparse import coo_array

    processors, blocks, _ = shares_s_PBE.shape
    processor, first, last = np.nonzero(np.isfinite(shares_s_PBE))
    count = len(processor)  # of the shares of frames; the last unknown is the period
    number, each = np.arange(count), np.ones(count)
    leaves_and_enters = coo_array(
        (
            np.concatenate([each, -each]),
            (np.concatenate([first, last + 1]), np.concatenate([number, number])),
        ),
        shape=(blocks + 1, count + 1),
    )
    flow = np.zeros(blocks + 1)
    flow[0], flow[-1] = 1, -1
    work_less_period = coo_array(
        (
            np.concatenate([shares_s_PBE[processor, first, last], -np.ones(processors)]),
            (
                np.concatenate([processor, np.arange(processors)]),
                np.concatenate([number, np.full(processors, count)]),
            ),
        ),
        shape=(processors, count + 1),
    )
    period = np.zeros(count + 1)
    period[-1] = 1
    solved = linprog(
        period,
        A_ub=work_less_period.tocsr(),
        b_ub=np.zeros(processors),
        A_eq=leaves_and_enters.tocsr(),
        b_eq=flow,
        method="highs",
        options={"presolve": False},  # it takes longer than it saves
    )
    if not solved.success:
        return None
    prices_P: Floats = np.maximum(-np.asarray(solved.ineqlin.marginals, np.float64), 0.0)
    used = np.flatnonzero(solved.x[:count] > LEAST_SHARE).tolist()
    return _Mixture(
        prices_P / prices_P.sum(),
        tuple((int(processor[each]), int(first[each]), int(last[each])) for each in used),
    )
