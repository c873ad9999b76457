"""What runs in lower precision beside a comparison in f32, with what that costs in accuracy."""

from collections.abc import Mapping
from dataclasses import dataclass

from evener.artifacts.lowering import Deviation
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.errors import InfeasibleError
from evener.plan.baselines import BASELINES
from evener.plan.decide import make_baseline
from evener.workflow.admit import admitted
from evener.workflow.opened import Opened
from evener.workflow.race import Entrant, entrant, without_those_too_big


@dataclass(frozen=True)
class Lower:
    """Plans in lower precision, and how far off each is.

    Attributes:
        opened: the network in its precisions.
        plans: by name, such as "copies in int8".
    """

    opened: Opened
    plans: Mapping[str, tuple[Plan, Deviation]]

    @property
    def entrants(self) -> dict[str, Entrant]:
        """Those that fit in memory, for a race."""
        able, _ = without_those_too_big(
            {name: entrant(self.opened, plan) for name, (plan, _) in self.plans.items()}
        )
        return able


def lower_rivals(opened: Opened, plan: Plan, profile: Profile) -> Lower:
    """Find the plan and the baselines that compute in lower precision and are near enough.

    Args:
        opened: the network in its precisions.
        plan: the best plan; left out if it computes in f32.
        profile: the times that the baselines are made from.
    """
    plans = [plan]
    for what in BASELINES:
        try:
            plans.append(make_baseline(profile, what))
        except InfeasibleError:
            continue  # no core set runs the whole network: compare_opened says so
    found = {}
    for one in admitted(opened, plans):
        deviation = None if one.lowering is None else one.lowering.deviation
        if deviation is not None:
            found[f"{one.what} in {deviation.precision}"] = (one, deviation)
    return Lower(opened, found)
