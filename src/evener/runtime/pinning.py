"""Pin the calling thread to a core, and read back from the kernel where threads may run.

A runtime is told to pin its threads, and may fail to without saying so; what the kernel reports
is what counts. Nothing here trusts a call that returned.
"""

import os
import threading
import time
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from evener.errors import InputError

PROCESS_CORES: Final = frozenset(os.sched_getaffinity(0))
"""The logical CPUs this process was given, read before Evener pins anything."""

MAKING: Final = threading.Lock()
"""Held while a session makes threads, so that those counted since `before` are its own."""

_TASKS: Final = Path("/proc/self/task")
_POLL_S: Final = 0.0005


@contextmanager
def pinned(cores: tuple[int, ...]) -> Iterator[None]:
    """Keep the calling thread on the first of some cores while the context is open.

    The other cores belong to the threads of a session that is opened inside. No cores, as of a
    device, pin nothing. Where the thread could run before is restored at the end.

    Args:
        cores: logical CPUs, each once.

    Raises:
        InputError: a core is given twice, or this process may not use it.

    Example:
        >>> with pinned((min(PROCESS_CORES),)):
        ...     thread_cores() == {min(PROCESS_CORES)}
        True
    """
    check_cores(cores)
    if not cores:
        yield
        return
    with allowed(cores[:1]):
        yield


@contextmanager
def allowed(cores: Iterable[int]) -> Iterator[None]:
    """Let the calling thread, and threads that it starts, run on some cores for a while."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def check_cores(cores: tuple[int, ...]) -> None:
    """Check that this process may use some cores.

    Raises:
        InputError: a core is given twice, or this process may not use it.
    """
    if len(set(cores)) != len(cores):
        raise InputError(f"cores {show_cores(cores)} name a core twice; give each core once")
    foreign = set(cores) - PROCESS_CORES
    if foreign:
        raise InputError(
            f"core {show_cores(foreign)} is not among the cores this process may use, "
            f"{show_cores(PROCESS_CORES)}; choose from those, or plan for this machine again"
        )


def threads() -> frozenset[int]:
    """Return the kernel's ids of all threads of this process."""
    return frozenset(int(task.name) for task in _TASKS.iterdir())


def thread_cores(thread: int | None = None) -> frozenset[int]:
    """Return the logical CPUs that the kernel lets a thread run on; empty if it has ended.

    Args:
        thread: the kernel's id of a thread of this process; None for the calling one.
    """
    task = Path("/proc/thread-self") if thread is None else _TASKS / str(thread)
    try:
        status = (task / "status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return frozenset()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return parse_cores(fields["Cpus_allowed_list"])


def thread_cpu_s(thread: int) -> float:
    """Return the CPU time that a living thread of this process has used, in seconds."""
    spent_ns, _ = (_TASKS / str(thread) / "schedstat").read_text().split(maxsplit=1)
    return int(spent_ns) * 1e-9


def confirmed_cores(cores: AbstractSet[int], before: AbstractSet[int]) -> frozenset[int]:
    """Return which of some cores the kernel keeps a thread on: the caller or one begun since.

    Args:
        cores: where threads were asked to stay; one that may leave them does not count.
        before: `threads()` before those threads were made.
    """
    kept: set[int] = set()
    for thread in (None, *(threads() - before)):
        allowed = thread_cores(thread)
        if allowed <= cores:
            kept |= allowed
    return frozenset(kept)


def await_confirmed(
    cores: AbstractSet[int], before: AbstractSet[int], *, patience_s: float = 1.0
) -> AbstractSet[int]:
    """Wait until the kernel confirms every core, and return those it confirmed.

    A new thread pins itself, so that its maker can be ahead of it for a moment.
    """
    deadline = time.monotonic() + patience_s
    while True:
        confirmed = confirmed_cores(cores, before)
        if confirmed == cores or time.monotonic() >= deadline:
            return confirmed
        time.sleep(_POLL_S)


def parse_cores(text: str) -> frozenset[int]:
    """Read a list of CPUs as the kernel writes it.

    Example:
        >>> sorted(parse_cores("0-2,7"))
        [0, 1, 2, 7]
    """
    cores: set[int] = set()
    for span in text.strip().split(","):
        first, _, last = span.partition("-")
        cores.update(range(int(first), int(last or first) + 1))
    return frozenset(cores)


def show_cores(cores: AbstractSet[int] | tuple[int, ...]) -> str:
    """Write cores for a person.

    Example:
        >>> show_cores((4, 5, 7))
        '4, 5, 7'
    """
    return ", ".join(map(str, sorted(cores))) or "none"
