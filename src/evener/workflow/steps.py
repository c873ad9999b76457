"""Run each step of a project once per inputs, and keep what it made, whatever kills the process.

A step ends by writing one artifact, whole; that file is its own record, since it names the hash of
everything it was made from. An artifact that is missing, damaged or made from other inputs is made
again; every other one is kept. Two builds of one project cannot run at once.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from evener.artifacts.files import ArtifactT, Kept, digest, load, save, sweep
from evener.errors import InputError, InvalidFileError

STATE_FOLDER: Final = ".evener"
_INPUTS: Final = "inputs"
_LOCK: Final = "lock"


class Steps:
    """The steps of one project, those that ran and those that were kept.

    Attributes:
        folder: where the project's state lies.
        ran: names of the steps that ran, in order.
        kept: names of the steps that were kept, in order.
        lock: the open file that keeps other builds out; None where nothing does.
    """

    def __init__(
        self,
        folder: Path,
        *,
        clock: Callable[[], float] = time.perf_counter,
        lock: int | None = None,
    ) -> None:
        self.folder = folder
        self.lock = lock
        self.ran: list[str] = []
        self.kept: list[str] = []
        self._clock = clock

    def step(
        self,
        name: str,
        of: type[ArtifactT],
        inputs: Mapping[str, object],
        make: Callable[[], ArtifactT],
        *,
        still_good: Callable[[ArtifactT], bool] = lambda _value: True,
    ) -> Kept[ArtifactT]:
        """Run a step, unless what it made from the same inputs is still there.

        Args:
            name: the step.
            of: the record it makes; its file is named after its kind.
            inputs: everything the step depends on, encodable as JSON.
            make: does the work; files beside the artifact must be written before it returns.
            still_good: checks those files when an artifact is found.
        """
        key = digest({"step": name, "inputs": dict(inputs)})
        path = self.folder / f"{of.kind}.json"
        kept = _read(path, of)
        if kept is not None and kept.made_from.get(_INPUTS) == key and still_good(kept.value):
            self.kept.append(name)
            return kept
        started = self._clock()
        value = make()
        save(path, value, made_from={_INPUTS: key}, took_s=self._clock() - started)
        self.ran.append(name)
        return load(path, of)


def _read(path: Path, of: type[ArtifactT]) -> Kept[ArtifactT] | None:
    try:
        return load(path, of)
    except InvalidFileError:
        return None  # none yet, damaged, or of another version: it is made again


@contextmanager
def open_steps(project: Path) -> Iterator[Steps]:
    """Open the state of a project for one build at a time.

    Args:
        project: the folder that holds `evener.toml`.

    Raises:
        InputError: another build of the project is running.
        InvalidFileError: the folder cannot be written.
    """
    folder = project / STATE_FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise InvalidFileError(
            f"cannot write {folder}: {error.strerror or error}; choose a place you may write to",
            path=str(folder),
        ) from error
    try:
        if not _locked(lock):
            raise InputError(
                f"another build of {project} is running; wait for it to end, or stop it"
            )
        sweep(folder)
        try:
            yield Steps(folder, lock=lock)
        finally:
            _tidy(folder)
    finally:
        os.close(lock)  # the kernel releases the lock, also when the process is killed


def _locked(lock: int) -> bool:
    """Take the lock; False if another process has it, or removed the file while it ended."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(lock).st_nlink > 0


def _tidy(folder: Path) -> None:
    """Remove a state folder in which no step has left anything: a refused input changes nothing."""
    if [path.name for path in folder.iterdir()] == [_LOCK]:
        (folder / _LOCK).unlink()
        folder.rmdir()


def code_version(*packages: str) -> str:
    """Return a hash of the source of some of Evener's packages, so that changed code runs again.

    Raises:
        FileNotFoundError: there is no such package.

    Example:
        >>> code_version("units.py") == code_version("units.py")
        True
    """
    root = Path(__file__).parent.parent
    sources: list[Path] = []
    for package in packages:
        place = root / package
        if not place.exists():
            raise FileNotFoundError(f"{place} is no source of Evener")
        sources += [place] if place.is_file() else sorted(place.rglob("*.py"))
    hashed = hashlib.sha256()
    for source in sources:
        hashed.update(str(source.relative_to(root)).encode())
        hashed.update(source.read_bytes())
    return hashed.hexdigest()
