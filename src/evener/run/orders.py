"""What a pipeline tells a lane in another process, and what it hears back."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from evener.artifacts.plan import Lane
from evener.artifacts.tensor import Tensor
from evener.run.record import LaneProgress, LaneRecord
from evener.run.wiring import Wiring
from evener.runtime.session import Array, Optimisation, Runtime


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """What a new process must know before it can read anything else.

    Attributes:
        path: where its maker finds modules.
        cores: the logical CPUs that its maker was given; a child inherits those of the thread
            that started it, which may be pinned.
    """

    path: tuple[str, ...]
    cores: tuple[int, ...]


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """Be this lane.

    Attributes:
        stage: index of its stage.
        lane: where and what it runs.
        runtimes: by name.
        optimisation: how far the runtimes optimise each part.
    """

    stage: int
    lane: Lane
    runtimes: Mapping[str, Runtime]
    optimisation: Optimisation


class Open(msgspec.Struct, frozen=True, kw_only=True):
    """Open a session for each part. Answered by `Opened` or `Failed`.

    Attributes:
        models: the model of each part.
    """

    models: Sequence[bytes]


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """Take frames from one channel and hand them to another. Answered by `Done` or `Failed`.

    Attributes:
        wiring: how the sessions are joined.
        source: what the transport needs to join the channel of the inlet.
        to: the same, of the outlet.
    """

    wiring: Wiring
    source: Any
    to: Any


class Begin(msgspec.Struct, frozen=True, kw_only=True):
    """Forget the times and states of the run before. Answered by `Done`.

    Attributes:
        first: number of the first frame to come.
        spans: whether to report when each frame began.
        states: values of states before that frame, by input; the others are zero.
    """

    first: int
    spans: bool = False
    states: Mapping[str, Array] = {}


class Report(msgspec.Struct, frozen=True):
    """Say what you did in this run. Answered by `Reported`."""


class Look(msgspec.Struct, frozen=True):
    """Say what you do just now. Answered by `Seen`."""


class Stop(msgspec.Struct, frozen=True):
    """Close your sessions and end. Answered by `Ended`, the last that is said."""


class OpenedPorts(msgspec.Struct, frozen=True, kw_only=True):
    """What a session reads and writes.

    Attributes:
        inputs: what it reads, in graph order.
        outputs: what it writes, in graph order.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """The sessions are open.

    Attributes:
        sessions: what each reads and writes.
    """

    sessions: tuple[OpenedPorts, ...]


class Done(msgspec.Struct, frozen=True):
    """The order was followed."""


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """What the lane did in this run.

    Attributes:
        record: its times.
    """

    record: LaneRecord


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What the lane does just now.

    Attributes:
        progress: the frame in work, since when, and how long the last ones took.
    """

    progress: LaneProgress


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The lane is no more.

    Attributes:
        in_time: whether it ended when it was told to; else a session hangs.
    """

    in_time: bool


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """The order could not be followed.

    Attributes:
        error: the packed exception.
    """

    error: bytes


class Crashed(msgspec.Struct, frozen=True, kw_only=True):
    """The lane broke down between two orders.

    Attributes:
        error: the packed exception.
    """

    error: bytes
