"""Predict what the best plan of a profile reaches, without making its record.

A search asks this of every network that it proposes; a plan to be run also states its lanes, its
bound and its rivals, see `evener.plan.decide`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final

from evener.artifacts.plan import Objective
from evener.artifacts.profile import Profile
from evener.plan.choose import choose
from evener.plan.limits import Limits
from evener.plan.problem import make_problem

NO_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a plan comes to.

    Attributes:
        period_s: seconds between two frames.
        latency_s: seconds from credit to emission.
        energy_j: joules per frame, those of the idle machine included; None where not known.
    """

    period_s: float
    latency_s: float
    energy_j: float | None


def predict_plan(
    profile: Profile,
    *,
    objective: Objective = "throughput",
    limits: Limits = NO_LIMITS,
    processors: Sequence[str] | None = None,
) -> Prediction:
    """Say what the best plan within limits comes to, or the nearest to them where none keeps them.

    Args:
        profile: what the network's segments cost.
        objective: what the plan is to be best at, as for `evener.plan.make_plan`.
        limits: what it should keep.
        processors: names of those that may be used; all if None.

    Raises:
        InfeasibleError: nothing can run the network.
        InputError: an unknown processor.

    Example:
        >>> from evener.artifacts.board import load_board
        >>> from evener.plan import board_profile
        >>> profile = board_profile(load_board("khadas-vim3"), "alexnet", transfers=False)
        >>> found = predict_plan(profile)
        >>> round(1 / found.period_s, 1), round(found.latency_s, 3)
        (21.9, 0.228)
    """
    best = choose(
        make_problem(profile, processors=processors),
        objective=objective,
        method="dp",
        limits=limits,
        stages=None,
        or_nearest=True,
    )
    energy_j = best.energy_j if isfinite(best.energy_j) else None
    return Prediction(best.period_s, best.latency_s, energy_j)
