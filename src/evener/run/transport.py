"""Where lanes live, and how frames get from one to the next: a transport by its name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from evener.artifacts.plan import Lane
from evener.artifacts.tensor import Tensor
from evener.comm.channel import Channel
from evener.comm.processes import MOST_SLOTS, ProcessChannel
from evener.comm.threads import ThreadChannel
from evener.errors import InputError, StageFailedError
from evener.run.carrier import Carrier
from evener.run.entry import Entry
from evener.run.lane import LaneThread, Outlet, Worker
from evener.run.order import Inlet
from evener.run.process import LaneProcess
from evener.run.sink import Sink

Crashed = Callable[[StageFailedError], None]


@dataclass(frozen=True, slots=True)
class Joints:
    """What joins the lanes of an open pipeline.

    Attributes:
        inlets: what the lanes of each stage take frames from.
        outlets: what they hand frames to.
        channels: those between stages, and beside entry and sink where these are elsewhere.
        carriers: threads that copy frames between entry, sink and such channels.
        release: gives back what the channels hold, once nothing uses them.
    """

    inlets: Sequence[Inlet] = ()
    outlets: Sequence[Outlet] = ()
    channels: Sequence[Channel] = ()
    carriers: Sequence[Carrier] = ()
    release: Callable[[], None] = lambda: None

    def close(self, error: Exception | None = None) -> None:
        """Close every channel."""
        for channel in self.channels:
            channel.close(error)


class Transport(Protocol):
    """A place for lanes, and channels between them."""

    def worker(
        self, stage: int, lane: Lane, *, clock: Callable[[], float], crashed: Crashed
    ) -> Worker:
        """Make a lane that is not launched yet.

        Args:
            stage: index of its stage.
            lane: where and what it runs.
            clock: the time, in seconds, for lanes of this process.
            crashed: called with the error when the lane ends unasked.
        """
        ...

    def join(
        self,
        tensors: Sequence[Sequence[Tensor]],
        lanes: Sequence[int],
        *,
        credits: int,
        entry: Entry,
        sink: Sink,
        crashed: Crashed,
    ) -> Joints:
        """Make what joins the lanes, once they are open.

        Args:
            tensors: what comes in, then what each stage hands on.
            lanes: how many each stage has.
            credits: most frames in flight.
            entry: where frames come from.
            sink: where answers go.
            crashed: called with the error when a carrier breaks down.
        """
        ...


class Threads:
    """Lanes are threads of this process; nothing is copied between them."""

    def worker(
        self, stage: int, lane: Lane, *, clock: Callable[[], float], crashed: Crashed
    ) -> Worker:
        """Make a thread; see `Transport.worker`."""
        return LaneThread(stage, lane, clock=clock, crashed=crashed)

    def join(
        self,
        tensors: Sequence[Sequence[Tensor]],
        lanes: Sequence[int],  # noqa: ARG002 - threads need not know
        *,
        credits: int,
        entry: Entry,
        sink: Sink,
        crashed: Crashed,  # noqa: ARG002 - there are no carriers
    ) -> Joints:
        """Put a channel between every two stages; see `Transport.join`."""
        channels = [ThreadChannel(_shapes(made), credits) for made in tensors[1:-1]]
        return Joints(inlets=[entry, *channels], outlets=[*channels, sink], channels=channels)


class Processes:
    """Lanes are processes; entry and sink stay here, at the ends of two further channels."""

    def worker(
        self,
        stage: int,
        lane: Lane,
        *,
        clock: Callable[[], float],  # noqa: ARG002 - no clock of this process is there
        crashed: Crashed,
    ) -> Worker:
        """Make a process; see `Transport.worker`."""
        return LaneProcess(stage, lane, crashed=crashed)

    def join(
        self,
        tensors: Sequence[Sequence[Tensor]],
        lanes: Sequence[int],
        *,
        credits: int,
        entry: Entry,
        sink: Sink,
        crashed: Crashed,
    ) -> Joints:
        """Put a channel before, between and behind the stages; see `Transport.join`."""
        slots = min(credits, MOST_SLOTS)
        ahead = min(slots, lanes[0] + 1)  # each lane has a frame, and one waits for the first free
        channels = [
            ProcessChannel.create(_shapes(made), slots if index else ahead)
            for index, made in enumerate(tensors)
        ]
        carriers = [
            Carrier(entry, channels[0], name="entry", crashed=crashed),
            Carrier(channels[-1], sink, name="sink", crashed=crashed),
        ]

        def release() -> None:
            for channel in channels:
                channel.release()

        return Joints(channels[:-1], channels[1:], channels, carriers, release)


TRANSPORTS: Final[dict[str, Callable[[], Transport]]] = {
    "threads": Threads,
    "processes": Processes,
}


def get_transport(name: str) -> Transport:
    """Return a transport.

    Raises:
        InputError: none has this name.

    Example:
        >>> type(get_transport("processes")).__name__
        'Processes'
    """
    if name not in TRANSPORTS:
        raise InputError(f"no transport is called '{name}'; known ones: {', '.join(TRANSPORTS)}")
    return TRANSPORTS[name]()


def _shapes(tensors: Sequence[Tensor]) -> list[tuple[tuple[int, ...], str]]:
    return [(tensor.shape, tensor.dtype) for tensor in tensors]
