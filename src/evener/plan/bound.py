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
bound is the cost of the cheapest row under them, by dynamic programming.
"""

from math import inf
from typing import Final

import numpy as np

from evener.plan.chain import no_chain
from evener.plan.problem import Floats, Problem

ROUNDING: Final = 1e-12  # more than the sums below can lose


def bound_rate_hz(problem: Problem) -> float:
    """Return frames per second that no plan exceeds on these core sets, by these times.

    Takes hundredths of a second for sixty blocks on eight processors.

    Args:
        problem: what to plan.

    Raises:
        InfeasibleError: no row of segments runs all blocks.
    """
    shares_s_PBE = _shares_s(problem)
    count = len(shares_s_PBE)
    equal = np.full(count, 1 / count)
    period_s = _cheapest_s(shares_s_PBE, equal)
    if period_s == inf:
        raise no_chain(problem, None)
    best = _best_prices(shares_s_PBE)
    if best is not None:
        period_s = max(period_s, _cheapest_s(shares_s_PBE, best))
    return (1 + ROUNDING) / period_s


def _shares_s(problem: Problem) -> Floats:
    """Return seconds that a frame takes of a whole processor, on the core set that takes least."""
    shares_s_PBE = np.full((len(problem.processors), problem.blocks, problem.blocks), inf)
    for core_set, times_s_BE in zip(problem.core_sets, problem.times_s_CBE, strict=True):
        share = core_set.cores / problem.processors[core_set.processor].units
        np.minimum(
            shares_s_PBE[core_set.processor],
            share * times_s_BE,
            out=shares_s_PBE[core_set.processor],
        )
    return shares_s_PBE


def _cheapest_s(shares_s_PBE: Floats, prices_P: Floats) -> float:
    """Return the cost of the cheapest row of segments; inf if none runs all blocks."""
    able = np.isfinite(shares_s_PBE)
    costs = prices_P[:, None, None] * np.where(able, shares_s_PBE, 0.0)
    costs_BE = np.where(able, costs, inf).min(axis=0)
    cheapest = np.zeros(len(costs_BE) + 1)  # of the first so many blocks
    for end in range(1, len(cheapest)):
        cheapest[end] = np.min(cheapest[:end] + costs_BE[:end, end - 1])
    return float(cheapest[-1])


def _best_prices(shares_s_PBE: Floats) -> Floats | None:
    """Solve the program and return its prices; None if the solver gave up."""
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
    prices: Floats = np.maximum(-np.asarray(solved.ineqlin.marginals, np.float64), 0.0)
    prices /= prices.sum()
    return prices
