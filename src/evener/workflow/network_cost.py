"""Say what networks will cost where they are to run, before any of them is trained.

A network that was only proposed is drafted (`evener.network.draft`), its segments are estimated,
and the planner says what its best plan reaches. So a search can look for networks that *pipeline*
well: that divide among the processors of a board so that none waits for another.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from typing import Final

import msgspec

from evener.artifacts.board import load_board
from evener.artifacts.files import digest
from evener.artifacts.networks import Ends
from evener.artifacts.networks import Network as Found
from evener.artifacts.plan import Objective
from evener.artifacts.profile import Profile
from evener.artifacts.requirements import Requirement
from evener.errors import InfeasibleError
from evener.network.draft import draft_network, file_bytes
from evener.network.model import Network
from evener.plan.board import board_profile, unpowered
from evener.plan.limits import Limits
from evener.plan.machine import machine_profile
from evener.plan.predict import predict_plan
from evener.runtime import usable
from evener.workflow.machine_costs import machine_costs
from evener.workflow.opened import Progress, usable_processors
from evener.workflow.steps import code_version

Cost = Mapping[str, float]
"""`period_s`, `latency_s` and, where it is known, `energy_j` of the best plan; `size_bytes`."""

_CODE: Final = ("network", "plan", "workflow/network_cost.py")  # that says what a network costs
_FIGURES: Final[Mapping[str, str]] = {  # of a plan, by the requirement that limits it
    "throughput": "period_s",
    "latency_p50": "latency_s",
    "latency_p99": "latency_s",
    "energy": "energy_j",
    "size": "size_bytes",
}


class NetworkCost:
    """What each network costs where it is to run; kept by its id, and the same whoever asks.

    Times and energies are estimates: those of the profile that `profile_of` makes, which says of
    what. Size is counted.

    Args:
        ends: inputs and outputs of all networks.
        profile_of: estimates what the segments of a drafted network cost.
        source: hash of what the estimates rest on.
        requirements: of these the hard ones on what a plan or a file comes to are limits.
        objective: what plans are to be best at.
        processors: names of those that may be used; all if None.

    Attributes:
        limited: the requirements that it is held to.
        depends_on: all that a network's cost depends on beside the network, encodable as JSON.
    """

    def __init__(
        self,
        ends: Ends,
        profile_of: Callable[[Network], Profile],
        *,
        source: str,
        requirements: Sequence[Requirement] = (),
        objective: Objective = "throughput",
        processors: Sequence[str] | None = None,
    ) -> None:
        self.limited = tuple(one for one in requirements if one.hard and one.name in _FIGURES)
        self.depends_on: Mapping[str, object] = {
            "source": source,
            "code": code_version(*_CODE),
            "requirements": self.limited,
            "objective": objective,
            "processors": processors,
        }
        self._ends = ends
        self._profile_of = profile_of
        self._limited = tuple((_FIGURES[one.name], one) for one in self.limited)
        self._limits = _limits(self.limited)
        self._objective: Objective = objective
        self._processors = processors
        self._known: dict[str, Cost] = {}

    def __call__(self, networks: Sequence[Found]) -> list[Cost]:
        """Return what each network costs, in their order.

        Times and energies are infinite where no processor can hold the network.

        Args:
            networks: proposed; none need be trained.

        Raises:
            InputError: a network that cannot be drafted, or an unknown processor.
        """
        for one in networks:
            if one.id not in self._known:
                self._known[one.id] = self._cost(one)
        return [self._known[one.id] for one in networks]

    def most(self, figure: str) -> float | None:
        """Return the most that hard requirements allow of a figure of the plan; None for all.

        Args:
            figure: such as "period_s".
        """
        allowed = [
            1 / one.limit if figure == "period_s" else one.limit
            for name, one in self._limited
            if name == figure
        ]
        return min(allowed, default=None)

    def violation(self, network: Found) -> float:
        """Return by how much a network breaks hard requirements on its size and its plan.

        The sum over requirements of the share by which each is missed; 0 if all are kept, and
        infinite where no processor can hold the network. A limit of energy counts where energies
        are known.
        """
        (cost,) = self([network])
        return inf if cost["period_s"] == inf else sum(_excesses(cost, self._limited))

    def _cost(self, found: Found) -> Cost:
        network = draft_network(found, self._ends)
        size_bytes = float(file_bytes(network))
        try:
            plan = predict_plan(
                self._profile_of(network),
                objective=self._objective,
                limits=self._limits,
                processors=self._processors,
            )
        except InfeasibleError:
            return {"period_s": inf, "latency_s": inf, "energy_j": inf, "size_bytes": size_bytes}
        cost = {"period_s": plan.period_s, "latency_s": plan.latency_s, "size_bytes": size_bytes}
        return cost if plan.energy_j is None else cost | {"energy_j": plan.energy_j}


def cost_on_board(
    board: str,
    ends: Ends,
    *,
    requirements: Sequence[Requirement] = (),
    objective: Objective = "throughput",
    processors: Sequence[str] | None = None,
) -> NetworkCost:
    """Return what networks cost on a board, by its cost model.

    Args:
        board: name of a known board, or path of a board's file.
        ends: inputs and outputs of all networks.
        requirements: of these the hard ones are limits to plan within.
        objective: what plans are to be best at.
        processors: names of those that may be used; all if None.

    Raises:
        InputError: no such board.

    Example:
        >>> from evener.artifacts.layer_graph import LayerGraph
        >>> cost = cost_on_board("khadas-vim3", Ends(features=64, outputs=10))
        >>> wide = LayerGraph(widths=(4096,), links=((0, 1), (1, 2)))
        >>> (found,) = cost([wide])
        >>> sorted(found), found["size_bytes"]
        (['energy_j', 'latency_s', 'period_s', 'size_bytes'], 1230552.0)
    """
    found = load_board(board)
    if unpowered(found, processors):
        requirements = _but_energy(requirements)
    return NetworkCost(
        ends,
        partial(board_profile, found, transfers=False),
        source=digest(msgspec.to_builtins(found)),
        requirements=requirements,
        objective=objective,
        processors=processors,
    )


def cost_here(
    ends: Ends,
    *,
    requirements: Sequence[Requirement] = (),
    objective: Objective = "throughput",
    processors: Sequence[str] | None = None,
    runtimes: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> NetworkCost:
    """Return what networks cost on this machine, by a cost model that is measured once and kept.

    Args:
        ends: inputs and outputs of all networks.
        requirements: of these the hard ones are limits to plan within.
        objective: what plans are to be best at.
        processors: names of those that may be used; all if None.
        runtimes: names of those that may run; all installed ones if None.
        progress: told what is being measured.

    Raises:
        InputError: an unknown runtime.
    """
    chosen = usable(runtimes, "all")
    machine = usable_processors(chosen, runtimes, "all")
    costs = machine_costs(machine, chosen, progress=progress)
    return NetworkCost(
        ends,
        partial(machine_profile, costs.value),
        source=costs.sha256,
        requirements=_but_energy(requirements),  # which the model of a machine does not know
        objective=objective,
        processors=processors,
    )


def _but_energy(requirements: Sequence[Requirement]) -> tuple[Requirement, ...]:
    return tuple(one for one in requirements if one.name != "energy")


def _limits(requirements: Sequence[Requirement]) -> Limits:
    limits: dict[str, float] = {}
    for one in requirements:
        figure = _FIGURES[one.name]  # two latencies limit one figure: the stricter counts
        limits[figure] = min(one.limit, limits.get(figure, inf))
    return Limits(
        min_rate_hz=limits.get("period_s"),
        max_latency_s=limits.get("latency_s"),
        max_energy_j=limits.get("energy_j"),
    )


def _excesses(cost: Cost, limited: Sequence[tuple[str, Requirement]]) -> Iterator[float]:
    for figure, requirement in limited:
        if figure in cost:
            most = 1 / requirement.limit if figure == "period_s" else requirement.limit
            yield max(0.0, cost[figure] / most - 1)
