"""Say of a plan what it comes to when its lanes' times vary as the profile measured."""

from typing import Final

import msgspec
import numpy as np

from evener.artifacts.plan import Plan, Simulated
from evener.artifacts.profile import Profile
from evener.plan.service import constant, lognormal, spreads_of
from evener.plan.simulate import simulate

FRAMES: Final = 2000  # twenty of them lie beyond the 99th percentile


def with_simulated(plan: Plan, profile: Profile, *, frames: int = FRAMES, seed: int = 0) -> Plan:
    """Return a plan with what it came to in a simulated run.

    Args:
        plan: the plan.
        profile: what it was made from.
        frames: how many run through it.
        seed: what the times are drawn from.

    Raises:
        InputError: the plan was made from another profile.

    Example:
        >>> from evener.artifacts.board import load_board
        >>> from evener.plan import board_profile, make_plan
        >>> profile = board_profile(load_board("khadas-vim3"), "alexnet", transfers=False)
        >>> found = with_simulated(make_plan(profile, space="paper"), profile).simulated
        >>> round(found.rate_hz, 1), round(found.latency_p99_s, 3), found.varied
        (21.2, 0.141, False)
    """
    spreads = spreads_of(profile, plan)
    varied = any(spread > 0 for of in spreads for spread in of)
    service = lognormal(plan, spreads, np.random.default_rng(seed)) if varied else constant(plan)
    found = simulate(plan, frames=frames, service=service)
    return msgspec.structs.replace(
        plan,
        simulated=Simulated(
            frames=frames,
            rate_hz=found.rate_hz,
            latency_p50_s=found.latency_p50_s,
            latency_p95_s=found.latency_p95_s,
            latency_p99_s=found.latency_p99_s,
            varied=varied,
        ),
    )
