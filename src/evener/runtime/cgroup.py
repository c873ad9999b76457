"""Limit how much of a core some threads may use, by control groups of the Linux kernel.

A group has a quota of CPU time in each period; what its threads want beyond it waits for the next.
The kernel looks at quotas at its clock tick, so that with a tick of 4 ms a thread runs for 4 ms and
then stands still until its share is kept on average. In the second version of the interface the
groups are "threaded", since threads of one process are in several of them.
"""

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Final

from evener.errors import InputError

PERIOD_US: Final = 2500
_LEAST_QUOTA_US: Final = 1000  # the kernel takes no less
_PREFIX: Final = "evener-"
_PATIENCE_S: Final = 2.0
_POLL_S: Final = 0.01
_NEEDS: Final = (
    "a limit takes Linux's control groups with the cpu controller, and root or a delegated group"
)


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The group that this process is in, below which it makes others.

    Attributes:
        folder: the group.
        version: of the kernel's interface, 1 or 2.
    """

    folder: Path
    version: int

    @property
    def threads(self) -> Path:
        """The file that lists the threads of the group, and takes further ones."""
        return threads_file(self.folder, self.version)


def threads_file(folder: Path, version: int) -> Path:
    """Return the file of a group that lists its threads, and takes further ones."""
    return folder / ("tasks" if version == 1 else "cgroup.threads")


def find_hierarchy(proc: Path = Path("/proc/self")) -> Hierarchy:
    """Find the group of this process by which the kernel limits CPU time.

    Args:
        proc: where the kernel describes this process.

    Raises:
        InputError: there is none.
    """
    try:
        groups = [line.split(":", 2) for line in (proc / "cgroup").read_text().splitlines()]
        mounts = (proc / "mountinfo").read_text().splitlines()
    except OSError as error:
        raise InputError(f"no core can be limited: {error}; {_NEEDS}") from error
    for _, controllers, path in groups:
        version = 1 if controllers else 2
        if version == 1 and "cpu" not in controllers.split(","):
            continue
        for root, place in _mounted(mounts, version):
            folder = place / path.removeprefix(root.rstrip("/")).lstrip("/")
            if version == 1 or "cpu" in _read(folder / "cgroup.controllers").split():
                return Hierarchy(folder, version)
    raise InputError(f"no core can be limited: no control group here limits CPU time; {_NEEDS}")


def _mounted(mounts: list[str], version: int) -> Iterator[tuple[str, Path]]:
    """Yield the root and the place of each mount that can hold groups with the cpu controller."""
    for line in mounts:
        before, _, after = line.partition(" - ")
        system, _, options = after.split(" ")[:3]
        if system == ("cgroup" if version == 1 else "cgroup2") and (
            version == 2 or "cpu" in options.split(",")
        ):
            yield before.split(" ")[3], Path(before.split(" ")[4])


@contextmanager
def limited(hierarchy: Hierarchy, shares: dict[str, float]) -> Iterator[dict[str, Path]]:
    """Make groups of which each may use a share of CPU time, and remove them at the end.

    Threads that are in them then go back to the group of the process. Groups of processes that
    were killed are removed first.

    Args:
        hierarchy: where.
        shares: seconds of CPU time per second, above 0, by a name of the caller's.

    Returns:
        The file that takes the threads of each, by name.

    Raises:
        InputError: this process may not make groups there, or the kernel refuses the quota.
    """
    remove_stale(hierarchy)
    made: list[Path] = []
    try:
        try:
            for name, share in shares.items():
                folder = hierarchy.folder / f"{_PREFIX}{os.getpid()}-{_born(os.getpid())}-{name}"
                folder.mkdir()
                made.append(folder)
                _limit(hierarchy, folder, share)
        except OSError as error:
            raise InputError(
                f"no core can be limited: {error.filename or hierarchy.folder}: {error.strerror}; "
                f"{_NEEDS}"
            ) from error
        yield {
            name: threads_file(folder, hierarchy.version)
            for name, folder in zip(shares, made, strict=True)
        }
    finally:
        for folder in made:
            _remove(hierarchy, folder)


def quota_us(share: float) -> tuple[int, int]:
    """Return quota and period of a share, in microseconds.

    Example:
        >>> quota_us(0.4), quota_us(0.1)
        ((1000, 2500), (1000, 10000))
    """
    period = max(PERIOD_US, ceil(_LEAST_QUOTA_US / share))
    return round(share * period), period


def remove_stale(hierarchy: Hierarchy, proc: Path = Path("/proc")) -> None:
    """Remove the groups that a process left when it was killed.

    Args:
        hierarchy: where it made them.
        proc: where the kernel describes processes.
    """
    for folder in hierarchy.folder.glob(f"{_PREFIX}*-*-*"):
        process, born, _ = folder.name.removeprefix(_PREFIX).split("-", 2)
        if process.isdecimal() and _born(int(process), proc) != born:
            _remove(hierarchy, folder)


def _limit(hierarchy: Hierarchy, folder: Path, share: float) -> None:
    quota, period = quota_us(share)
    if hierarchy.version == 1:
        _write(folder / "cpu.cfs_period_us", str(period))
        _write(folder / "cpu.cfs_quota_us", str(quota))
        return
    _write(folder / "cgroup.type", "threaded")
    _write(hierarchy.folder / "cgroup.subtree_control", "+cpu")
    _write(folder / "cpu.max", f"{quota} {period}")


def _remove(hierarchy: Hierarchy, folder: Path) -> None:
    """Send the threads of a group back and remove it; a thread that ends just now is waited for."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while True:
        for thread in _read(threads_file(folder, hierarchy.version)).split():
            move(int(thread), hierarchy.threads)
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline_s:
                raise
            time.sleep(_POLL_S)
        else:
            return


def move(thread: int, to: Path) -> None:
    """Put a thread into a group; one that has ended needs none.

    Args:
        thread: the kernel's id.
        to: the file that takes the threads of the group.
    """
    try:
        _write(to, str(thread))
    except ProcessLookupError:
        return


def _born(process: int, proc: Path = Path("/proc")) -> str:
    """Return when a process was started, which tells it from a later one of the same number."""
    stat = _read(proc / str(process) / "stat")
    return stat.rpartition(")")[2].split()[19] if stat else ""


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _write(path: Path, text: str) -> None:
    """Write into a file of the kernel's, which must be there already."""
    with path.open("r+", encoding="ascii") as file:
        file.write(text)
