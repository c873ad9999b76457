"""List the plans of a network that are worth choosing from: the Pareto front."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from evener.artifacts.plans import Plans
from evener.artifacts.profile import Granularity
from evener.plan.foresee import with_simulated
from evener.workflow.admit import decide_admitted
from evener.workflow.opened import Fixed, Opened, Progress, Shapes, States
from evener.workflow.plan import settle_profile, with_nodes
from evener.workflow.precision import PrecisionWish
from evener.workflow.times import planning_times
from evener.workflow.wish import Wish, decide_front


def plan_front(
    net: str,
    *,
    granularity: Granularity = "paper",
    max_live: int | None = None,
    method: Literal["dp", "exhaustive"] = "dp",
    space: Literal["paper", "full"] = "full",
    min_rate_hz: float | None = None,
    max_latency_s: float | None = None,
    max_energy_j: float | None = None,
    stages: int | None = None,
    memory: Mapping[str, int] | None = None,
    processors: Sequence[str] | None = None,
    runtimes: Sequence[str] | None = None,
    shapes: Shapes | None = None,
    fixed: Fixed | None = None,
    states: States | None = None,
    profile: Path | None = None,
    board: str | None = None,
    transfers: bool = False,
    precision: PrecisionWish | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Plans:
    """List every plan of a network that no other beats in predicted rate, latency and energy.

    Energy counts where the times say what segments take, as those of a board do. All plans are
    predictions: on this machine from measured times, and none is tried.

    Args:
        net: as for `plan_network`.
        granularity: as for `plan_network`.
        max_live: as for `plan_network`.
        method: as for `plan_network`.
        space: as for `plan_network`.
        min_rate_hz: as for `plan_network`.
        max_latency_s: as for `plan_network`.
        max_energy_j: as for `plan_network`.
        stages: as for `plan_network`.
        memory: as for `plan_network`.
        processors: as for `plan_network`.
        runtimes: as for `plan_network`.
        shapes: as for `plan_network`.
        fixed: as for `plan_network`.
        states: as for `plan_network`.
        profile: as for `plan_network`.
        board: as for `plan_network`.
        transfers: as for `plan_network`.
        precision: as for `plan_network`.
        fresh: profile again even if times are kept.
        progress: told what is being done.

    Raises:
        InputError: as for `plan_network`.
        InfeasibleError: as for `plan_network`.

    Example:
        >>> found = plan_front("alexnet", board="khadas-vim3", space="paper")
        >>> [round(plan.rate_hz, 1) for plan in found.plans][0]
        21.2
    """
    wish = Wish(
        method=method,
        objective="pareto",
        space=space,
        min_rate_hz=min_rate_hz,
        max_latency_s=max_latency_s,
        max_energy_j=max_energy_j,
        stages=stages,
        memory=tuple(sorted((memory or {}).items())),
    )
    source = planning_times(
        net,
        granularity=granularity,
        max_live=max_live,
        space=space,
        processors=processors,
        runtimes=runtimes,
        shapes=shapes,
        fixed=fixed,
        states=states,
        profile=profile,
        board=board,
        transfers=transfers,
        precision=precision,
        progress=progress,
    )
    if isinstance(source, Opened):
        processors = None  # the opened network has no others
        opened: Opened | None = source
        known = settle_profile(source, wish, fresh=fresh, progress=progress).value
    else:
        known, opened = source
    started = time.perf_counter()
    plans = decide_admitted(opened, known, lambda times: decide_front(times, wish, processors))
    return Plans(
        network=known.network,
        network_sha256=known.network_sha256,
        plans=tuple(with_nodes(with_simulated(plan, known), opened) for plan in plans),
        elapsed_s=time.perf_counter() - started,
    )
