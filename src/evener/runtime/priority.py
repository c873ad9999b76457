"""Let a process that is only held ready stand behind those that work, on the same cores."""

import logging
import os
import resource
from pathlib import Path
from typing import Final

BEHIND: Final = 10
"""By how much its niceness is greater: beside a thread that is always busy it gets about a tenth of
the core, so that it opens its sessions within seconds and the other hardly notices."""
_SYS_NICE: Final = 1 << 23  # CAP_SYS_NICE, in linux/capability.h
_ALL_USERS: Final = ["0", "0", "4294967295"]  # each is itself, as only in the initial namespace
_LOG: Final = logging.getLogger(__name__)


def may_step_forward(proc: Path = Path("/proc/self")) -> bool:
    """Whether this process may undo `stand_behind`: Linux lets not everybody lower a niceness.

    The limit of a process is enough; the capability must be one of the initial user namespace, not
    of a container's own (`can_nice` in the kernel's scheduler).

    Args:
        proc: where the kernel describes this process.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NICE)
    if soft == resource.RLIM_INFINITY or 20 - soft <= os.getpriority(os.PRIO_PROCESS, 0):
        return True
    effective = next(
        (line for line in (proc / "status").read_text().splitlines() if line.startswith("CapEff:")),
        "CapEff: 0",
    )
    return bool(int(effective.split()[1], 16) & _SYS_NICE) and _in_initial_namespace(proc)


def stand_behind(process: int) -> bool:
    """Let a process that was just started, and whatever threads it starts, stand behind.

    Args:
        process: its id.

    Returns:
        Whether it does; not if nobody here could undo it, or nothing is left of the process.
    """
    if not may_step_forward():
        return False
    mine = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        os.setpriority(os.PRIO_PROCESS, process, mine + BEHIND)
    except ProcessLookupError:
        return False
    return True


def step_forward(process: int, proc: Path = Path("/proc")) -> None:
    """Give every thread of a process the niceness of this one; of a process that ended, do nothing.

    Where the kernel forbids it, the process stays behind, which is slow and not wrong; so that is
    logged.

    Args:
        process: its id.
        proc: where the kernel describes processes.
    """
    mine = os.getpriority(os.PRIO_PROCESS, 0)
    done: set[int] = set()
    while left := _threads(process, proc) - done:  # a thread may start another meanwhile
        for thread in left:
            try:
                os.setpriority(os.PRIO_PROCESS, thread, mine)
            except ProcessLookupError:  # it has ended
                continue
            except PermissionError as refusal:
                _LOG.warning(
                    "process %d keeps a niceness greater by %d, and gets about a tenth of a core "
                    "that others use: %s; allow it CAP_SYS_NICE, or a niceness (ulimit -e)",
                    process,
                    BEHIND,
                    refusal,
                )
                return
        done |= left


def _in_initial_namespace(proc: Path) -> bool:
    """Whether the user namespace is the first one: it alone maps each user to itself."""
    try:
        return (proc / "uid_map").read_text().split() == _ALL_USERS
    except FileNotFoundError:  # a kernel without user namespaces
        return True


def _threads(process: int, proc: Path) -> set[int]:
    try:
        return {int(entry.name) for entry in (proc / str(process) / "task").iterdir()}
    except (FileNotFoundError, ProcessLookupError):
        return set()
