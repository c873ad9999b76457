"""How long each segment of a network takes on each processor of a machine."""

from typing import ClassVar, Literal

import msgspec

from evener.artifacts.processors import Machine
from evener.artifacts.tensor import Tensor

Granularity = Literal["paper", "strict", "node", "table"]  # "table": parts a board was timed in
Execution = Literal["sequential", "parallel"]


class Block(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part of a network between two neighbouring cuts.

    By the rule "node" neighbouring cuts need not follow each other as the network runs. What the
    network does up to the second is then more in one branch and may be less in another; operators,
    macs and weights_bytes are differences, which add up over any blocks that form a segment.

    Attributes:
        name: the first main node in it, for people.
        operators: how many nodes of each operator it holds.
        macs: multiply-accumulates per frame, counted from shapes.
        weights_bytes: bytes of its constants.
        inputs: tensors that cross the cut before it; the network's inputs for the first block.
        outputs: tensors that cross the cut after it; the network's outputs for the last block.
        states: how many states it keeps from frame to frame: a single lane must run one that does.
            Adds up over a segment.
    """

    name: str
    operators: dict[str, int]
    macs: int
    weights_bytes: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    states: int = 0


class SegmentTime(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Time of blocks `first_block` to `last_block` on some cores of a processor.

    Attributes:
        first_block: index of its first block, from 0.
        last_block: index of its last block, included.
        processor: name of the processor.
        cores: how many of its cores run it together.
        runtime: name of the runtime.
        precision: element type it computes in, such as "f32".
        execution: whether the branches of the segment are computed one after the other, or at
            once by a runtime that can.
        clock_hz: clock that the processor is set to; None where the system chooses.
        median_s: median of the isolated runs, hand-off excluded, in seconds.
        low_s: lower quartile.
        high_s: upper quartile.
        repeats: how many runs were timed; 0 if interpolated.
        interpolated: whether it was estimated from measured segments instead of timed.
        energy_j: energy per run beyond what the machine draws when idle, where it is known.
    """

    first_block: int
    last_block: int
    processor: str
    cores: int
    runtime: str
    precision: str = "f32"
    execution: Execution = "sequential"
    clock_hz: float | None = None
    median_s: float
    low_s: float
    high_s: float
    repeats: int
    interpolated: bool = False
    energy_j: float | None = None


class Transfer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Cost of moving one frame from the memory of one processor to that of another.

    Attributes:
        sender: name of the processor that hands on, and that pays.
        receiver: name of the processor that takes.
        fixed_s: time per frame, in seconds.
    """

    sender: str
    receiver: str
    fixed_s: float


class HandOff(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Cost of handing one frame from a stage to the next in the same process.

    A stage makes most of what it hands on in place. What it only passes on, it copies.

    Attributes:
        fixed_s: time per hand-off, in seconds, whatever its size.
        per_byte_s: further time per byte; 0 where slots are shared and nothing is copied.
        passed_per_byte_s: further time per byte of tensors that a stage gets and hands on as they
            are.
        transfers: further time between two processors; pairs that are not listed cost nothing.
    """

    fixed_s: float
    per_byte_s: float = 0.0
    passed_per_byte_s: float = 0.0
    transfers: tuple[Transfer, ...] = ()


class Contention(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much slower a core of a processor is while others work too.

    Attributes:
        processor: name of the processor.
        others: how many other cores worked, of any processor.
        factor: time of the whole network beside them over its time alone; 1 or more.
    """

    processor: str
    others: int
    factor: float


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything a planner needs to know of a network on a machine; portable between machines.

    Attributes:
        network: name of the network.
        network_sha256: its hash.
        granularity: rule by which the blocks were cut.
        blocks: the blocks in order.
        machine: where it was measured.
        segments: the times, every pair of blocks and core set present once per runtime; by the
            rule "node" only of those pairs that form a segment.
        hand_off: cost of passing a frame on.
        optimisation: graph optimisation level of the runtime that was timed.
        max_live: most tensors that cross a cut, by the rule "node"; None by the other rules.
        variants: the networks timed in precisions below f32, by precision; see
            `evener.artifacts.lowering.Lowering.networks`.
        contention: how much its processors slow one another down; empty where nobody measured it.
        estimate: what the times are where none was measured of this very network, such as "cost
            model of khadas-vim3"; None where they are measurements and sums of such.
        estimate_error: median relative error of a block's time so estimated, where it is known.
    """

    kind: ClassVar[str] = "profile"
    schema: ClassVar[int] = 3  # 3: clocks, execution and idle power

    network: str
    network_sha256: str
    granularity: Granularity
    blocks: tuple[Block, ...]
    machine: Machine
    segments: tuple[SegmentTime, ...]
    hand_off: HandOff
    optimisation: Literal["extended", "all"] = "all"
    max_live: int | None = None
    variants: dict[str, str] = {}
    contention: tuple[Contention, ...] = ()
    estimate: str | None = None
    estimate_error: float | None = None
