"""List the plans of a network that are worth choosing from: the Pareto front."""

import time
from typing import Unpack

import msgspec

from evener.artifacts.plans import Plans
from evener.plan.foresee import with_simulated
from evener.workflow.admit import decide_admitted
from evener.workflow.choices import settle
from evener.workflow.cutting import Cutting
from evener.workflow.opened import Opened, Progress
from evener.workflow.opening import Engines, OpeningChoices
from evener.workflow.plan import settle_profile, with_nodes
from evener.workflow.times import Basis, BasisChoices, planning_times
from evener.workflow.wish import LimitChoices, Wish, decide_front


class FrontChoices(OpeningChoices, LimitChoices, BasisChoices, total=False):
    """What `plan_front` takes as keyword arguments."""


def plan_front(
    net: str,
    *,
    cutting: Cutting = Cutting(),
    engines: Engines = Engines(),
    wish: Wish = Wish(),
    basis: Basis = Basis(),
    fresh: bool = False,
    progress: Progress | None = None,
    **choices: Unpack[FrontChoices],
) -> Plans:
    """List every plan of a network that no other beats in predicted rate, latency and energy.

    Energy counts where the times say what segments take, as those of a board do. All plans are
    predictions: on this machine from measured times, and none is tried.

    Args:
        net: as for `plan_network`.
        cutting: as for `plan_network`.
        engines: as for `plan_network`.
        wish: as for `plan_network`, but for the objective, which is always "pareto".
        basis: as for `plan_network`.
        fresh: profile again even if times are kept.
        progress: told what is being done.
        choices: fields of these records.

    Raises:
        InputError: as for `plan_network`.
        InfeasibleError: as for `plan_network`.

    Example:
        >>> found = plan_front("alexnet", board="khadas-vim3", space="paper")
        >>> [round(plan.rate_hz, 1) for plan in found.plans][0]
        21.2
    """
    cutting, engines, wish, basis = settle(choices, cutting, engines, wish, basis)
    wish = msgspec.structs.replace(wish, objective="pareto")
    processors = engines.processors
    source = planning_times(net, cutting, engines, basis, space=wish.space, progress=progress)
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
