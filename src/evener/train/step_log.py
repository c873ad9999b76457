"""Log each step of a training, as events for TensorBoard or as lines of JSON."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final, Protocol

import msgspec

from evener.artifacts.folder import check_place
from evener.comm.communicator import Communicator
from evener.comm.share import together
from evener.errors import InvalidFileError, MissingExtraError
from evener.train.trainer import OnProgress, Progress

LINES: Final = ".jsonl"
"""Ends the name of a log that is lines of JSON; any other is a folder for TensorBoard."""

_EVENTS: Final = "events.out.tfevents.*"  # the files that TensorBoard looks for


class LoggedStep(msgspec.Struct, frozen=True, kw_only=True):
    """What is logged of a step.

    Attributes:
        step: its number, from 1.
        epoch: pass over the rows that it belongs to, from 1.
        loss: of its rows, before it was taken.
        learning_rate: of it.
        steps_per_s: since this run of the training began.
        communication_share: of the first rank's time since then in messages.
        gradient_norm: of the gradient of all weights and biases, before it was clipped.
    """

    step: int
    epoch: int
    loss: float
    learning_rate: float
    steps_per_s: float
    communication_share: float | None
    gradient_norm: float | None

    @classmethod
    def of(cls, progress: Progress) -> "LoggedStep":
        """Pick it out of where a training is."""
        return cls(**{name: getattr(progress, name) for name in cls.__struct_fields__})


class Curve:
    """The mean loss of each epoch of which steps are seen.

    Example:
        >>> curve = Curve()
        >>> for epoch, loss in [(3, 1.0), (3, 0.5), (4, 0.25)]:
        ...     curve.see(epoch, loss)
        >>> curve.means
        (0.75, 0.25)
    """

    def __init__(self) -> None:
        self._sums: dict[int, tuple[float, int]] = {}  # by epoch, and of how many steps

    def see(self, epoch: int, loss: float) -> None:
        """Take a step into account."""
        total, count = self._sums.get(epoch, (0.0, 0))
        self._sums[epoch] = (total + loss, count + 1)

    @property
    def means(self) -> tuple[float, ...]:
        """The means, in the order of the epochs."""
        return tuple(total / count for total, count in self._sums.values())


class _Log(Protocol):
    """Where steps go."""

    def write(self, step: LoggedStep) -> None:
        """Write a step so that it is there whatever happens next."""

    def close(self) -> None:
        """Write nothing any more."""


def check_log(path: Path, *, goes_on: bool) -> None:
    """Refuse what cannot be logged to, before anything starts.

    Args:
        path: file of lines, or folder.
        goes_on: whether the training goes on from a checkpoint, and so its log goes on.

    Raises:
        MissingExtraError: it is for TensorBoard, and what writes that is missing.
        InvalidFileError: it is of another training, or can be no log.
    """
    as_lines = path.suffix == LINES
    if not as_lines and find_spec("tensorboardX") is None:
        raise MissingExtraError(
            f"a log for TensorBoard, unlike one that ends in {LINES},", extra="tensorboard"
        )
    if path.exists() and path.is_dir() == as_lines:
        kind = "a folder" if as_lines else f"no folder, and does not end in {LINES}"
        raise InvalidFileError(
            f"cannot log to {path}: it is {kind}; name a file that ends in {LINES}, or a folder",
            path=str(path),
        )
    check_place(path.parent if as_lines else path)
    used = path.exists() if as_lines else any(path.glob(_EVENTS))
    if used and not goes_on:
        raise InvalidFileError(
            f"{path} already holds the log of a training: name another, or remove it",
            path=str(path),
        )


@contextmanager
def logging_to(path: Path | None, ranks: Communicator) -> Iterator[OnProgress]:
    """Yield what logs each step on the first rank, and does nothing on others.

    Args:
        path: file of lines, or folder, that passed `check_log`; a log that is there goes on.
            None for nothing to log to.
        ranks: all of them, each of which calls it.

    Raises:
        InvalidFileError: the log cannot be written.
        RankError: it cannot on the first rank, and this is another.
    """
    if path is None:
        yield _nothing
        return
    log = together(ranks, lambda: _open(path) if ranks.rank == 0 else None)
    if log is None:
        yield _nothing
        return

    def write(progress: Progress) -> None:
        try:
            log.write(LoggedStep.of(progress))
        except OSError as error:
            raise _not_written(path, error) from error

    try:
        yield write
    finally:
        log.close()


def _nothing(_: Progress) -> None:
    """Leave it to the first rank."""


def _open(path: Path) -> _Log:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _Lines(path) if path.suffix == LINES else _Events(path)
    except OSError as error:
        raise _not_written(path, error) from error


class _Lines:
    """A line of JSON for each step."""

    def __init__(self, path: Path) -> None:
        self._file: IO[bytes] = path.open("ab", buffering=0)

    def write(self, step: LoggedStep) -> None:
        self._file.write(msgspec.json.encode(step) + b"\n")

    def close(self) -> None:
        self._file.close()


class _Events:
    """Events for TensorBoard, a scalar for each figure.

    Written by this thread: tensorboardX's usual writer has one of its own, whose failure nobody
    would hear of.
    """

    def __init__(self, folder: Path) -> None:
        from tensorboardX.event_file_writer import EventsWriter

        folder.mkdir(exist_ok=True)
        # The name holds the second only, and another run may begin in it.
        self._writer = EventsWriter(str(folder / "events"), f".{os.getpid()}.{time.time_ns()}")

    def write(self, step: LoggedStep) -> None:
        from tensorboardX.proto.event_pb2 import Event
        from tensorboardX.proto.summary_pb2 import Summary

        figures = msgspec.structs.asdict(step)
        del figures["step"]
        scalars = [
            Summary.Value(tag=name, simple_value=float(figure))
            for name, figure in figures.items()
            if figure is not None
        ]
        event = Event(wall_time=time.time(), step=step.step, summary=Summary(value=scalars))
        self._writer.write_event(event)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


def _not_written(path: Path, error: OSError) -> InvalidFileError:
    return InvalidFileError(
        f"cannot write the log {path}: {error.strerror or error}; choose a place you may write to",
        path=str(path),
    )
