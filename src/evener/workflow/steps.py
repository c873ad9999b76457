"""Run each step of a project once per inputs, and keep what it made, whatever kills the process.

A step writes its files whole and, last of all, a record that names its inputs' key and its files'
hashes. A step whose record is missing, names another key, or whose files differ is run again;
every other step is kept. Two builds of one project cannot run at once.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Final

import msgspec

from evener.artifacts.files import digest, load, save, sweep
from evener.errors import InputError, InvalidFileError

STATE_FOLDER: Final = ".evener"


class MadeFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file that a step made.

    Attributes:
        path: relative to the state folder.
        sha256: of its bytes.
    """

    path: str
    sha256: str


class StepRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """That a step is done.

    Attributes:
        step: its name.
        key: hash of everything it depends on.
        files: what it made, by name.
    """

    kind: ClassVar[str] = "step"
    schema: ClassVar[int] = 1

    step: str
    key: str
    files: dict[str, MadeFile]


class Steps:
    """The steps of one project, those that ran and those that were kept.

    Attributes:
        folder: where the project's state lies.
        ran: names of the steps that ran, in order.
        kept: names of the steps that were kept, in order.
    """

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self.folder = folder
        self.ran: list[str] = []
        self.kept: list[str] = []
        self._clock = clock

    def step(
        self, name: str, inputs: Mapping[str, object], make: Callable[[], Mapping[str, Path]]
    ) -> dict[str, Path]:
        """Run a step unless what it made from the same inputs is still there.

        Args:
            name: the step.
            inputs: everything the step depends on, encodable as JSON.
            make: does the work, writes files below `folder`, and returns them by name.

        Returns:
            The files by name.
        """
        key = digest({"step": name, "inputs": dict(inputs)})
        record_path = self.folder / "steps" / f"{name}.json"
        kept = self._kept(record_path, key)
        if kept is not None:
            self.kept.append(name)
            return kept
        started = self._clock()
        made = dict(make())
        files = {
            label: MadeFile(path=str(path.relative_to(self.folder)), sha256=file_sha256(path))
            for label, path in made.items()
        }
        record = StepRecord(step=name, key=key, files=files)
        save(record_path, record, took_s=self._clock() - started)
        self.ran.append(name)
        return made

    def _kept(self, record_path: Path, key: str) -> dict[str, Path] | None:
        if not record_path.exists():
            return None
        try:
            record = load(record_path, StepRecord).value
        except InvalidFileError:
            return None  # damaged or of an older version: what it recorded is made again
        if record.key != key:
            return None
        files = {}
        for label, made in record.files.items():
            path = self.folder / made.path
            if not path.is_file() or file_sha256(path) != made.sha256:
                return None
            files[label] = path
        return files


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
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise InvalidFileError(
            f"cannot write {folder}: {error.strerror or error}; choose a place you may write to",
            path=str(folder),
        ) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                f"another build of {project} is running; wait for it, or stop it"
            ) from error
        sweep(folder)
        yield Steps(folder)
    finally:
        os.close(lock)  # the kernel releases the lock, also when the process is killed


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def code_version(*packages: str) -> str:
    """Return a hash of the source of some of Evener's packages, so that changed code runs again.

    Example:
        >>> code_version("units.py") == code_version("units.py")
        True
    """
    root = Path(__file__).parent.parent
    sources: list[Path] = []
    for package in packages:
        place = root / package
        sources += [place] if place.is_file() else sorted(place.rglob("*.py"))
    hashed = hashlib.sha256()
    for source in sources:
        hashed.update(str(source.relative_to(root)).encode())
        hashed.update(source.read_bytes())
    return hashed.hexdigest()
