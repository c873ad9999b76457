"""The errors that Evener raises, each a thing a caller would handle in its own way.

    EvenerError                  every error below; exit code 3: ours is at fault
    ├── InputError               the user's input is at fault; exit code 2
    │   ├── InvalidFileError     a file is missing, unreadable, truncated or of another kind
    │   ├── InvalidNetworkError  a network cannot be planned or run as it is
    │   ├── InvalidDataError     a dataset cannot be learned from as it is
    │   ├── InvalidProjectError  `evener.toml` has an unknown key or a wrong value
    │   ├── DivergedError        the loss of a training stopped being a number
    │   └── MissingExtraError    an optional package is needed; says what to install
    ├── InfeasibleError          the input is valid but a limit cannot be met; exit code 1
    ├── StageFailedError         a stage of a running pipeline raised
    ├── FrameFailedError         the unsplit network cannot answer a frame
    ├── UnavailableError         a service takes no request just now; says when to ask again
    ├── RuntimeFailedError       a runtime refused a network or failed to run it
    ├── ChannelError             a hand-off between stages ended
    │   ├── ChannelClosedError   the other side closed it
    │   └── DeadlineError        nothing moved before the deadline
    └── RankError                ranks that train together lost one another
        ├── RankLostError        a rank ended, and the others go on without it
        ├── RankTimeoutError     a rank did not answer in time
        └── DeadlockError        every rank waits for another

A message states the fact with its numbers and names, where it was found, and what to do next.
"""

from typing import Any, ClassVar, Final

STOPPED: Final = 130
"""Exit code after Ctrl-C, which is no error."""


class EvenerError(Exception):
    """Any error that Evener raises on purpose; it can be pickled, its fields included.

    Attributes:
        exit_code: what the command line ends with.
    """

    exit_code: ClassVar[int] = 3

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), self.args, self.__dict__)


def _remade(kind: type[EvenerError], args: tuple[Any, ...], fields: dict[str, Any]) -> EvenerError:
    """Make an error anew from what it holds: its constructor may want other arguments."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class InputError(EvenerError, ValueError):
    """What the user gave cannot be used."""

    exit_code: ClassVar[int] = 2


class InvalidFileError(InputError):
    """A file is missing, unreadable, truncated, not writable or of another kind.

    Attributes:
        path: the file.
    """

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path


class InvalidNetworkError(InputError):
    """A network cannot be planned or run as it is.

    Attributes:
        node: name of the offending node, or "" where the fault is not in one node.
    """

    def __init__(self, message: str, *, node: str = "") -> None:
        super().__init__(message)
        self.node = node


class InvalidDataError(InputError):
    """A dataset cannot be learned from as it is.

    Attributes:
        column: name of the offending column, or "".
    """

    def __init__(self, message: str, *, column: str = "") -> None:
        super().__init__(message)
        self.column = column


class InvalidProjectError(InputError):
    """A project file has an unknown key or a wrong value.

    Attributes:
        key: the dotted key, such as "requirements.accuracy".
    """

    def __init__(self, message: str, *, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class DivergedError(InputError):
    """The loss of a training stopped being a number: the project asks for too high a learning rate.

    Attributes:
        epoch: the pass in which it happened, from 1.
        step: the step, from 1; 0 where it is not known.
        layer: the first whose answers were no numbers, from 1; 0 where it is not known.
        rank: the first that saw it.
    """

    def __init__(
        self, message: str, *, epoch: int, step: int = 0, layer: int = 0, rank: int = 0
    ) -> None:
        super().__init__(message)
        self.epoch = epoch
        self.step = step
        self.layer = layer
        self.rank = rank


class MissingExtraError(InputError):
    """An optional package is needed.

    Attributes:
        extra: the extra that brings it, such as "train".
    """

    def __init__(self, what: str, *, extra: str, then: str = "") -> None:
        further = f", then {then}" if then else ""
        super().__init__(
            f"{what} needs the extra '{extra}': pip install 'evener[{extra}]'{further}"
        )
        self.extra = extra


class InfeasibleError(EvenerError):
    """The input is valid, but no plan meets a limit.

    Attributes:
        needed: the figure that the limit asks for, SI units, where there is one.
        available: the best that can be had, SI units, where there is one.
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self, message: str, *, needed: float | None = None, available: float | None = None
    ) -> None:
        super().__init__(message)
        self.needed = needed
        self.available = available


class StageFailedError(EvenerError):
    """A stage of a running pipeline raised.

    Attributes:
        stage: index of the stage, from 0.
        frame_id: the frame it was working on, or -1 where it was not working on one.
        processor: name of the processor that its lane was on, "" where that is not known.
        cores: the cores of that lane; none for a device.
    """

    def __init__(
        self,
        message: str,
        *,
        stage: int,
        frame_id: int = -1,
        processor: str = "",
        cores: tuple[int, ...] = (),
    ) -> None:
        super().__init__(message)
        self.stage = stage
        self.frame_id = frame_id
        self.processor = processor
        self.cores = cores


class FrameFailedError(EvenerError):
    """The unsplit network cannot answer a frame, so no plan of it can.

    Attributes:
        frame_id: number of the frame, from 0.
    """

    def __init__(self, message: str, *, frame_id: int) -> None:
        super().__init__(message)
        self.frame_id = frame_id


class UnavailableError(EvenerError):
    """A service takes no request just now: it is full, ends, or has broken down.

    Attributes:
        retry_after_s: when it is worth asking again, in seconds.
    """

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class RuntimeFailedError(EvenerError):
    """A runtime refused a network or failed to run it.

    Attributes:
        runtime: its name.
    """

    def __init__(self, message: str, *, runtime: str) -> None:
        super().__init__(message)
        self.runtime = runtime


class ChannelError(EvenerError):
    """A hand-off between stages ended."""


class ChannelClosedError(ChannelError):
    """The other side closed the channel."""


class DeadlineError(ChannelError, TimeoutError):
    """Nothing moved through the channel before the deadline."""


class RankError(EvenerError):
    """Ranks that train one network together lost one another."""


class RankLostError(RankError):
    """A rank ended, and MPI lets the others go on without it."""


class RankTimeoutError(RankError, TimeoutError):
    """A rank did not answer in time.

    Attributes:
        rank: the one that waited.
        peer: the one that did not answer.
        name: of the exchange or collective.
    """

    def __init__(self, message: str, *, rank: int, peer: int, name: str) -> None:
        super().__init__(message)
        self.rank = rank
        self.peer = peer
        self.name = name


class DeadlockError(RankError):
    """Every rank waits for another: they do not make the same calls in the same order."""
