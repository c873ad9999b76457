"""Keep the plans that stay within limits, and say of limits that none keeps which is nearest."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from evener.errors import InfeasibleError, InputError
from evener.plan.problem import Problem
from evener.plan.steps import Chain
from evener.units import Dimension, count, show


@dataclass(frozen=True, slots=True)
class Limits:
    """What a plan must keep; None where there is no limit.

    Attributes:
        min_rate_hz: fewest frames per second.
        max_latency_s: longest time from credit to emission.
        max_energy_j: most joules per frame.
    """

    min_rate_hz: float | None = None
    max_latency_s: float | None = None
    max_energy_j: float | None = None

    def __post_init__(self) -> None:
        for name, limit in (
            ("rate", self.min_rate_hz),
            ("latency", self.max_latency_s),
            ("energy", self.max_energy_j),
        ):
            if limit is not None and not 0 < limit < inf:
                raise InputError(f"the limit of {name} is {limit}: give one above 0, or none")

    def keeps(self, chain: Chain) -> bool:
        """Return whether a plan is within all of them."""
        return self.excess(chain) <= 1

    def excess(self, chain: Chain) -> float:
        """Return how many times a plan is beyond the limit that it misses most; at most 1 if none.

        Example:
            >>> Limits(max_latency_s=2.0).excess(Chain((), period_s=3.0, credits=1))
            1.5
        """
        return max(
            0.0 if self.min_rate_hz is None else self.min_rate_hz * chain.period_s,
            0.0 if self.max_latency_s is None else chain.latency_s / self.max_latency_s,
            0.0 if self.max_energy_j is None else chain.energy_j / self.max_energy_j,
        )

    def keep(self, chains: Sequence[Chain]) -> tuple[Chain, ...]:
        """Return the plans within the limits.

        Args:
            chains: at least one; those that no other beats in what is limited.

        Raises:
            InfeasibleError: there is none; its text names the limit that no plan keeps and the plan
                that is nearest to it.
        """
        kept = tuple(chain for chain in chains if self.keeps(chain))
        if not kept:
            raise self._alone_missed(chains) or self._missed_together(chains)
        return kept

    def keep_or_nearest(self, chains: Sequence[Chain]) -> tuple[Chain, ...]:
        """Return the plans within the limits; where there is none, those that miss them least.

        Args:
            chains: as for `keep`.
        """
        least = min(map(self.excess, chains))
        return tuple(chain for chain in chains if self.excess(chain) <= max(1.0, least))

    def _alone_missed(self, chains: Sequence[Chain]) -> InfeasibleError | None:
        """Make the error for a limit that no plan keeps, whatever the others."""
        if self.max_latency_s is not None:
            best = min(chains, key=lambda each: each.latency_s)
            if best.latency_s > self.max_latency_s:
                return InfeasibleError(
                    f"no plan keeps a latency of {show(self.max_latency_s, 'time')}: the shortest "
                    f"is {show(best.latency_s, 'time')}, in {_stages(best)}. Allow more time or "
                    "further processors",
                    needed=self.max_latency_s,
                    available=best.latency_s,
                )
        if self.min_rate_hz is not None:
            best = min(chains, key=lambda each: each.period_s)
            if self.min_rate_hz * best.period_s > 1:
                return InfeasibleError(
                    f"no plan reaches {show(self.min_rate_hz, 'rate')}: the quickest makes "
                    f"{show(1 / best.period_s, 'rate')}, in {_stages(best)}. Ask for fewer frames, "
                    "or allow further processors",
                    needed=self.min_rate_hz,
                    available=1 / best.period_s,
                )
        if self.max_energy_j is not None:
            best = min(chains, key=lambda each: each.energy_j)
            if best.energy_j > self.max_energy_j:
                return InfeasibleError(
                    f"no plan keeps an energy of {show(self.max_energy_j, 'energy')} per frame: "
                    f"the least is {show(best.energy_j, 'energy')}, at "
                    f"{show(1 / best.period_s, 'rate')} in {_stages(best)}. Allow more energy, or "
                    "further processors or clocks",
                    needed=self.max_energy_j,
                    available=best.energy_j,
                )
        return None

    def _missed_together(self, chains: Sequence[Chain]) -> InfeasibleError:
        nearest = min(chains, key=self.excess)
        asked = [
            f"{show(limit, dimension)}{of}"
            for limit, dimension, of in _named(self)
            if limit is not None
        ]
        energy = (
            "" if nearest.energy_j == inf else f", {show(nearest.energy_j, 'energy')} per frame"
        )
        return InfeasibleError(
            f"no plan keeps {' and '.join(asked)} together, though each alone can be kept: the "
            f"nearest makes {show(1 / nearest.period_s, 'rate')} with a latency of "
            f"{show(nearest.latency_s, 'time')}{energy}, in {_stages(nearest)}. Loosen a limit"
        )


def check_energies(problem: Problem, host: str) -> None:
    """Refuse to weigh energy where that of a processor is not known.

    Args:
        problem: what to plan.
        host: name of the machine, for the message.

    Raises:
        InputError: a processor has times and no energies.
    """
    known = {
        problem.core_sets[index].processor
        for (index, _, _), segment in problem.segments.items()
        if segment.energy_j is not None
    }
    timed = {problem.core_sets[index].processor for index, _, _ in problem.segments}
    missing = [problem.processors[number].name for number in sorted(timed - known)]
    if missing:
        others = [problem.processors[number].name for number in sorted(known)]
        instead = f"leave it to others (--processors {','.join(others)}), or " if others else ""
        raise InputError(
            f"energy is asked for, and the profile of {host} has no energies of "
            f"{', '.join(missing)}: {instead}plan with a profile or board that has them"
        )


def _named(limits: Limits) -> tuple[tuple[float | None, Dimension, str], ...]:
    return (
        (limits.min_rate_hz, "rate", ""),
        (limits.max_latency_s, "time", " of latency"),
        (limits.max_energy_j, "energy", " per frame"),
    )


def _stages(chain: Chain) -> str:
    return count(len(chain.steps), "stage")
