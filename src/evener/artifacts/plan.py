"""Which blocks run where: a network cut into stages, each on core sets of its own."""

from math import inf
from typing import ClassVar, Final, Literal

import msgspec

from evener.artifacts.lowering import Lowering
from evener.artifacts.profile import Execution, Granularity
from evener.units import show

Objective = Literal["throughput", "latency", "energy", "pareto"]
Unit = tuple[str, int | None]
"""One core of a processor by its name and number; a device by its name and None."""
PlanKind = Literal["plan", "single", "all_cores", "copies"]
ROUNDING: Final = 1e-9
"""By so much of a limit a figure may be off and keep it."""


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A segment in one session.

    Attributes:
        first_block: index of its first block, from 0.
        last_block: index of its last block, included.
        runtime: name of the runtime.
        precision: element type it computes in.
        execution: how the branches of the segment are computed.
    """

    first_block: int
    last_block: int
    runtime: str
    precision: str = "f32"
    execution: Execution = "sequential"


class Lane(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One core set that runs a stage, its parts one after the other.

    Attributes:
        processor: name of the processor.
        cores: the logical CPUs it is pinned to; empty for a device.
        parts: what it runs, in order.
        time_s: predicted time per frame, hand-off included, in seconds.
        clock_hz: clock that the processor is to be set to; None where the system chooses.
    """

    processor: str
    cores: tuple[int, ...]
    parts: tuple[Part, ...]
    time_s: float
    clock_hz: float | None = None

    @property
    def units(self) -> tuple[Unit, ...]:
        """What it takes up.

        Example:
            >>> Lane(processor="cpu0", cores=(2, 3), parts=(), time_s=0.1).units
            (('cpu0', 2), ('cpu0', 3))
            >>> Lane(processor="npu", cores=(), parts=(), time_s=0.1).units
            (('npu', None),)
        """
        return tuple((self.processor, core) for core in self.cores) or ((self.processor, None),)

    @property
    def place(self) -> str:
        """Name it for people, such as "cpu0 [2, 3]"; a device by its name alone."""
        return f"{self.processor} {list(self.cores)}" if self.cores else self.processor


class Stage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run of neighbouring blocks, and the lanes that share its frames.

    Attributes:
        first_block: index of its first block, from 0.
        last_block: index of its last block, included.
        inputs: names of the tensors it reads.
        outputs: names of the tensors it hands on.
        nodes: names of the nodes it runs, by the rule "node", by which blocks are steps from place
            to place and say little; empty by the other rules.
        lanes: one for a plain stage; more for a replicated one, whose frames go to the first
            lane that is free.
    """

    first_block: int
    last_block: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    lanes: tuple[Lane, ...]
    nodes: tuple[str, ...] = ()

    @property
    def period_s(self) -> float:
        """Predicted seconds between two frames that leave the stage when it never waits.

        Example:
            >>> part = Part(first_block=0, last_block=0, runtime="onnxruntime")
            >>> lane = Lane(processor="cpu0", cores=(0,), parts=(part,), time_s=0.25)
            >>> Stage(first_block=0, last_block=0, inputs=("x",), outputs=("y",),
            ...       lanes=(lane, lane)).period_s
            0.125
        """
        return 1 / sum(1 / lane.time_s for lane in self.lanes)


class Measured(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a plan reached when it was tried against its rivals in one interleaved run.

    Attributes:
        rate_hz: median over the rounds, by the wall clock at the sink.
        rate_low_hz: lower quartile.
        rate_high_hz: upper quartile.
        latency_p50_s: median over the rounds of the median latency.
        latency_p99_s: median over the rounds of the 99th percentile.
        rounds: how often it ran.
        rivals: how many other plans it was tried against.
    """

    rate_hz: float
    rate_low_hz: float
    rate_high_hz: float
    latency_p50_s: float
    latency_p99_s: float
    rounds: int
    rivals: int


class Simulated(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a plan came to in a simulated run in which a frame was always at hand: an estimate.

    Attributes:
        frames: how many ran through it.
        rate_hz: frames per second while the pipeline was full.
        latency_p50_s: median from credit to in-order emission.
        latency_p95_s: 95th percentile of the same.
        latency_p99_s: 99th percentile of the same.
        varied: whether the lanes' times varied, by the quartiles that the profile measured; if
            not, each frame took a lane its predicted time.
    """

    frames: int
    rate_hz: float
    latency_p50_s: float
    latency_p95_s: float
    latency_p99_s: float
    varied: bool


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a plan was asked to keep; whoever plans again is to keep it too.

    Attributes:
        min_rate_hz: fewest predicted frames per second; None for no limit.
        max_latency_s: longest predicted latency in seconds; None for no limit.
        max_energy_j: most predicted energy per frame in joules; None for no limit.
        memory: bytes that a processor's sessions may hold, by its name, in place of what it has.
    """

    min_rate_hz: float | None = None
    max_latency_s: float | None = None
    max_energy_j: float | None = None
    memory: dict[str, int] = {}

    def excess(self, *, rate_hz: float, latency_s: float, energy_j: float | None = None) -> float:
        """Return how many times figures are beyond the limit that they miss most.

        At most 1 where they keep all of them; an energy that is not known keeps its limit.

        Example:
            >>> Asked(min_rate_hz=10.0, max_latency_s=2.0).excess(rate_hz=20.0, latency_s=3.0)
            1.5
        """
        latency = 0.0 if self.max_latency_s is None else latency_s / self.max_latency_s
        rate = 0.0
        if self.min_rate_hz is not None:
            rate = self.min_rate_hz / rate_hz if rate_hz > 0 else inf
        energy = 0.0
        if self.max_energy_j is not None and energy_j is not None:
            energy = energy_j / self.max_energy_j
        return max(rate, latency, energy)


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Stages on processors, with what they are predicted to reach.

    Attributes:
        network: name of the network.
        network_sha256: hash of the network.
        granularity: rule by which the blocks were cut.
        what: "plan" for the planner's choice, else the baseline that it is.
        method: how it was found, such as "dp".
        objective: what it is best at; "pareto" for one of the plans that no other beats.
        stages: in order; together they run every block once.
        credits: frames that may be in flight at once.
        rate_hz: predicted frames per second.
        latency_s: predicted seconds from credit to in-order emission: credits / rate_hz, or where
            more frames are in flight than lanes the 99th percentile in simulated time, if less.
        energy_j: predicted energy per frame, where the profile knows: what its stages draw, and
            what the idle machine draws in the time between two frames.
        bound_rate_hz: no plan on these core sets is faster than this under the profile.
        bound_estimated: whether the bound rests on times that the profile estimates.
        cut_points: how many places the network may be cut at.
        configurations: how many plans the named space holds.
        space: the space that was searched.
        max_live: most tensors that cross a cut, by the rule "node"; None by the other rules.
        estimate: what the times behind it are where none was measured of this very network; see
            the profile's.
        estimate_error: median relative error of a block's time so estimated, where it is known.
        elapsed_s: how long planning took, in seconds.
        measured: what it reached on the machine itself; None where it was only predicted.
        simulated: what it came to in simulated time; None where that was not asked for.
        lowering: what computing in fewer bits than f32 may cost in accuracy, and does; None where
            that was not asked for.
        asked: the limits that it was made to keep; None where there were none.
    """

    kind: ClassVar[str] = "plan"
    schema: ClassVar[int] = 2  # 2: clocks and execution

    network: str
    network_sha256: str
    granularity: Granularity
    what: PlanKind = "plan"
    method: str
    objective: Objective
    stages: tuple[Stage, ...]
    credits: int
    rate_hz: float
    latency_s: float
    energy_j: float | None = None
    bound_rate_hz: float | None = None
    bound_estimated: bool = False
    cut_points: int
    configurations: int
    space: Literal["paper", "full"] = "full"
    max_live: int | None = None
    estimate: str | None = None
    estimate_error: float | None = None
    elapsed_s: float = 0.0
    measured: Measured | None = None
    simulated: Simulated | None = None
    lowering: Lowering | None = None
    asked: Asked | None = None

    @property
    def misses(self) -> tuple[str, ...]:
        """Name each limit that it was asked to keep and is predicted to miss.

        None is missed by a plan that was made on the whole machine; where cores were lost since,
        it may be the nearest that is left.
        """
        asked = self.asked or Asked()
        found = []
        if asked.min_rate_hz is not None and self.rate_hz < asked.min_rate_hz * (1 - ROUNDING):
            limit, reached = show(asked.min_rate_hz, "rate"), show(self.rate_hz, "rate")
            found.append(f"the rate of {limit} that was asked for: it is to make {reached}")
        longest_s = asked.max_latency_s
        if longest_s is not None and self.latency_s > longest_s * (1 + ROUNDING):
            limit, reached = show(longest_s, "time"), show(self.latency_s, "time")
            found.append(f"the latency of {limit} that was asked for: it is to take {reached}")
        most_j = asked.max_energy_j
        if most_j is not None and (self.energy_j or 0.0) > most_j * (1 + ROUNDING):
            limit, reached = show(most_j, "energy"), show(self.energy_j or 0.0, "energy")
            found.append(f"the energy of {limit} that was asked for: it is to take {reached}")
        return tuple(found)

    @property
    def gap(self) -> float | None:
        """By how much of the bound the predicted rate misses it, in [0, 1]."""
        if self.bound_rate_hz is None:
            return None
        return max(0.0, 1 - self.rate_hz / self.bound_rate_hz)

    @property
    def outline(self) -> str:
        """Name it in a few words, such as "2 stages: cpu0[0] > cpu0[1]"."""
        stages = [
            " | ".join(f"{lane.processor}{list(lane.cores)}" for lane in stage.lanes)
            for stage in self.stages
        ]
        if len(stages) > 1:
            return f"{len(stages)} stages: " + " > ".join(stages)
        lanes = len(self.stages[0].lanes)
        return (f"{lanes} copies: " if lanes > 1 else "one session: ") + stages[0]
