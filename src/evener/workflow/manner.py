"""How frames go through a pipeline, whatever the network and the plan."""

from collections.abc import Iterable, Iterator
from math import inf
from pathlib import Path
from typing import Final, TypedDict

import msgspec

from evener.artifacts.plan import Plan
from evener.artifacts.trace import Trace
from evener.errors import InputError
from evener.run.batching import Batches
from evener.run.entry import Frame
from evener.run.live import Policy, paced
from evener.run.pipeline import Pipeline
from evener.run.sink import Emit
from evener.run.supervise import SupervisedPipeline
from evener.run.transport import Transport

_SLOWEST_HZ: Final = 1e-6  # a frame in eleven days: of less, the wait between two cannot be told


class MannerChoices(TypedDict, total=False):
    """The fields of `Manner`, as keyword arguments."""

    transport: str
    policy: Policy
    source_rate_hz: float | None
    batch: int
    supervise: bool
    standby: bool


class Manner(msgspec.Struct, frozen=True, kw_only=True):
    """How frames come, and where the lanes live.

    Attributes:
        transport: where the lanes live: "threads" of this process, "processes" of their own, or
            the "ranks" of MPI that this process is the first of.
        policy: what to do with a frame for which there is no credit: "block" makes the source wait,
            "drop_oldest", "drop_newest" and "latest_only" leave some out.
        source_rate_hz: how many frames come a second; None for as many as are taken.
        batch: how many frames go through the stages at once, where the network can.
        supervise: whether to go on by another plan where a stage fails, hangs or slows down.
        standby: whether to hold ready, then, what is needed once a stage fails, where memory
            allows.
    """

    transport: str = "threads"
    policy: Policy = "block"
    source_rate_hz: float | None = None
    batch: int = 1
    supervise: bool = False
    standby: bool = True

    def check(self, out: Path | None, timeline: Path | None = None) -> None:
        """Refuse what cannot go together.

        Args:
            out: where the answers are to be written, if they are.
            timeline: where it is to be written when each stage ran each frame, if it is.

        Raises:
            InputError: frames come at no rate that a clock can keep, answers would be missing from
                the file, frames from a batch or from what is run again, a rank that is lost would
                end all, nothing is held ready anyway, or no one clock ran.
        """
        rate_hz = self.source_rate_hz
        if rate_hz is not None and not _SLOWEST_HZ <= rate_hz < inf:
            raise InputError(
                f"a source of {rate_hz} frames per second is none: give a rate from {_SLOWEST_HZ}"
            )
        if timeline is not None and (self.supervise or self.transport == "ranks"):
            other = (
                "each of --ranks may have another clock"
                if self.transport == "ranks"
                else "--supervise may change the plan"
            )
            raise InputError(
                f"--trace draws one plan by one clock, and {other}; leave out one of the two"
            )
        if not self.standby and not self.supervise:
            raise InputError(
                "without --supervise nothing is held ready; leave out --no-standby, or add "
                "--supervise"
            )
        if self.supervise and self.transport == "ranks":
            raise InputError(
                "--supervise replaces stages that fail, and MPI ends all ranks with one that does; "
                "leave out --ranks or --supervise"
            )
        if self.policy == "block":
            return
        if self.supervise:
            raise InputError(
                f"--supervise answers every frame, and --policy {self.policy} may leave some out; "
                "leave out one of the two"
            )
        if out is not None and out.suffix.lower() == ".npz":
            raise InputError(
                f"{out} holds an answer to each frame, and --policy {self.policy} may leave some "
                "out; leave out one of the two, or write a .jsonl or .csv file, which has numbers"
            )
        if self.batch > 1:
            raise InputError(
                f"--batch waits for {self.batch} frames, and --policy {self.policy} is for those "
                "that do not wait; leave out one of the two"
            )

    def place(self, plan: Plan) -> str | Transport:
        """Return where the lanes of a plan live."""
        if self.transport != "ranks":
            return self.transport
        from evener.run.ranks import Ranks  # imports MPI

        return Ranks(plan)

    def run(
        self,
        pipeline: Pipeline | SupervisedPipeline,
        frames: Iterable[Frame],
        emit: Emit,
        *,
        spans: bool = False,
    ) -> Trace:
        """Let a pipeline answer frames in this manner.

        Args:
            pipeline: an open one of the network, or of the network of batches.
            frames: the frames, one by one.
            emit: called with each answer, one by one.
            spans: whether to note when each lane ran each frame; not of a supervised pipeline.
        """
        given: Iterator[Frame] = iter(frames)
        if self.source_rate_hz is not None:
            given = paced(given, self.source_rate_hz)
        if self.batch == 1:
            return self._run(pipeline, given, emit, spans=spans)
        batches = Batches(given, self.batch)
        trace = self._run(pipeline, iter(batches), batches.taken_apart(emit), spans=spans)
        return batches.trace_of(trace, pipeline.credits)

    def _run(
        self,
        pipeline: Pipeline | SupervisedPipeline,
        frames: Iterator[Frame],
        emit: Emit,
        *,
        spans: bool,
    ) -> Trace:
        if isinstance(pipeline, SupervisedPipeline):
            return pipeline.run(frames, emit)
        return pipeline.run(frames, emit, policy=self.policy, spans=spans)
