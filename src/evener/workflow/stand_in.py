"""Let this machine stand in for the processors of a plan that are not here.

Every lane gets a runtime of its own that computes here and takes the lane's time; see
`evener.runtime.simulated`. Lanes are pinned nowhere, for their cores are not this machine's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

import msgspec

from evener.artifacts.plan import Lane, Part, Plan, Stage
from evener.errors import InfeasibleError
from evener.plan.service import Service, constant
from evener.runtime.session import Runtime
from evener.runtime.simulated import SimulatedRuntime

MOST_OVERRUNS: Final = 0.02  # share of the computations; more than that and the figures are wrong


@dataclass(frozen=True)
class StandIns:
    """A plan that this machine can open in the place of another.

    Attributes:
        plan: with lanes on no cores, each of one part in a runtime of its own.
        runtimes: those, by name.
    """

    plan: Plan
    runtimes: Mapping[str, SimulatedRuntime]

    @property
    def overruns(self) -> int:
        """How many computations took longer here than the simulated processor takes."""
        return sum(one.tally.overruns for one in self.runtimes.values())

    def begin(self) -> None:
        """Forget the overruns so far; no frame may be in flight."""
        for runtime in self.runtimes.values():
            runtime.tally.clear()

    def check(self) -> None:
        """Check that this machine was quick enough for the run since `begin`.

        Raises:
            InfeasibleError: of some lane's computations more than `MOST_OVERRUNS`, and more than
                one, were overruns.
        """
        for name, runtime in self.runtimes.items():
            tally = runtime.tally
            if tally.overruns > max(1, MOST_OVERRUNS * tally.frames):
                raise InfeasibleError(
                    f"{name} is simulated, and for {tally.overruns} of {tally.frames} frames this "
                    f"machine computed longer than it would, up to {tally.worst:.1f} times as long "
                    f"({MOST_OVERRUNS:.0%} are let pass): rate and latency would be this machine's."
                    f" Let all take longer with --slowdown {ceil(tally.worst) + 1}, or leave "
                    "computing out with --no-compute",
                    needed=MOST_OVERRUNS,
                    available=tally.overruns / tally.frames,
                )


def stand_in(
    plan: Plan, inner: Runtime, *, compute: bool = True, service: Service | None = None
) -> StandIns:
    """Make a plan for other processors one that this machine can open.

    Args:
        plan: whose lanes may be anywhere.
        inner: what computes the answers here, in f32.
        compute: whether it does; if not, answers are zeros.
        service: how long each lane takes for each of its frames; its predicted time if None.
    """
    times = constant(plan) if service is None else service
    runtimes: dict[str, SimulatedRuntime] = {}
    stages = []
    for number, (stage, of) in enumerate(zip(plan.stages, times, strict=True)):
        lanes = []
        for place, (lane, times_s) in enumerate(zip(stage.lanes, of, strict=True)):
            name = f"lane {place} of stage {number} on {lane.processor}"
            runtimes[name] = SimulatedRuntime(times_s, inner, compute=compute)
            lanes.append(_lane(stage, lane, name))
        stages.append(msgspec.structs.replace(stage, lanes=tuple(lanes)))
    return StandIns(msgspec.structs.replace(plan, stages=tuple(stages)), runtimes)


def slowed(plan: Plan, factor: float) -> Plan:
    """Return a plan whose lanes take so many times as long, with the rate and latency of those.

    What it was measured or simulated to reach, and its energy, hold no longer and are left out.

    Example:
        >>> from evener.testing.plans import chain
        >>> slow = slowed(chain((1, [()]), (1, [()])), 4.0)
        >>> slow.stages[0].lanes[0].time_s, slow.rate_hz, slow.latency_s
        (4.0, 0.25, 8.0)
    """
    bound_hz = plan.bound_rate_hz
    return msgspec.structs.replace(
        plan,
        stages=tuple(
            msgspec.structs.replace(
                stage,
                lanes=tuple(
                    msgspec.structs.replace(lane, time_s=lane.time_s * factor)
                    for lane in stage.lanes
                ),
            )
            for stage in plan.stages
        ),
        rate_hz=plan.rate_hz / factor,
        latency_s=plan.latency_s * factor,
        bound_rate_hz=None if bound_hz is None else bound_hz / factor,
        energy_j=None,
        measured=None,
        simulated=None,
    )


def _lane(stage: Stage, lane: Lane, runtime: str) -> Lane:
    whole = Part(first_block=stage.first_block, last_block=stage.last_block, runtime=runtime)
    return msgspec.structs.replace(lane, cores=(), parts=(whole,))
