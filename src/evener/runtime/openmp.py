"""Keep the OpenMP threads that compute with the calling one on cores of their own.

OpenMP makes a team of threads for each thread that computes, keeps it for the next time, and tells
nobody which they are; `OMP_PLACES` is one setting for the whole process. So the team is made to
call back, and each thread pins itself. An OpenMP library takes the same team for every later
computation of the same caller on as many threads.
"""

import ctypes
import os
import threading
from functools import cache
from pathlib import Path
from typing import Final

from evener.errors import RuntimeFailedError

_MAPS: Final = Path("/proc/self/maps")
_PAUSE_HARD: Final = 2  # omp_pause_hard of OpenMP 5.0: end the threads
_Task: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_team: Final = threading.local()  # cores: where the team of this thread is, if it was placed


def place(cores: tuple[int, ...], *, runtime: str, folder: str) -> None:
    """Put the calling thread's team on some cores, one thread each, unless it is there already.

    The calling thread is the first of them. Whether the kernel obeyed, the caller has to check.

    Args:
        cores: logical CPUs; on a single one there is no team.
        runtime: name of the runtime, for messages.
        folder: part of the path of its OpenMP library, of which a process may hold several.

    Raises:
        RuntimeFailedError: there is no OpenMP library to ask, or it gives fewer threads.
    """
    if len(cores) < 2 or getattr(_team, "cores", None) == cores:
        return
    library = _library(folder)
    if library is None:
        raise RuntimeFailedError(
            f"{runtime} computes without an OpenMP library that can be told where its threads go; "
            "give it one core",
            runtime=runtime,
        )
    placed: dict[int, str] = {}

    def pin(_: object) -> None:
        number = library.omp_get_thread_num()
        try:
            os.sched_setaffinity(0, {cores[number]})
            placed[number] = ""
        except OSError as error:
            placed[number] = str(error)

    library.GOMP_parallel(_Task(pin), None, len(cores), 0)
    refused = [why for why in placed.values() if why]
    if len(placed) < len(cores) or refused:
        raise RuntimeFailedError(
            f"{runtime} asked OpenMP for {len(cores)} threads and could place "
            f"{len(placed) - len(refused)} ({refused[0] if refused else 'no more were given'}); "
            "see whether OMP_THREAD_LIMIT or a cpuset limits it",
            runtime=runtime,
        )
    _team.cores = cores


def dismiss(*, folder: str) -> None:
    """End the threads of the calling thread's team; the next computation makes new ones."""
    library = _library(folder)
    if library is not None:
        library.omp_pause_resource_all(_PAUSE_HARD)
    _team.cores = None


@cache
def _library(folder: str) -> ctypes.CDLL | None:
    """Return an OpenMP library that this process has loaded, best one from below a folder."""
    paths = {
        line.split(maxsplit=5)[-1]
        for line in _MAPS.read_text().splitlines()
        if "libgomp" in line or "libomp" in line
    }
    chosen = sorted(paths, key=lambda path: (folder not in path, path))
    return ctypes.CDLL(chosen[0]) if chosen else None
