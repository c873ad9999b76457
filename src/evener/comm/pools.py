"""Pools of processes that do parts of a work: on this machine, or ranks of MPI."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from typing import cast

from evener.comm.started import own_rank


@contextmanager
def process_pool(workers: int) -> Iterator[Executor]:
    """Start processes that end with this one, however it ends.

    They end at once where an exception leaves the `with` block, whatever they had been given.

    Args:
        workers: how many.
    """
    context = multiprocessing.get_context("spawn")  # threads of libraries do not outlive a fork
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_begin) as executor:
        try:
            yield executor
        except BaseException:
            # Leaving waits for all that was submitted: minutes after Ctrl-C. It has to wait for the
            # pool's own thread, which else ends while the interpreter wakes it to end: a traceback.
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            executor.shutdown(wait=True, cancel_futures=True)
            raise


@contextmanager
def rank_pool() -> Iterator[Executor | None]:
    """Be one of the ranks that a launcher started: rank 0 hands out work, the others do it.

    Yields:
        The pool on rank 0; None on the others, once there is no more work.
    """
    from mpi4py.futures import MPICommExecutor  # noqa: TID251 - this module speaks MPI

    if own_rank() > 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is rank 0's to hear
    with MPICommExecutor() as executor:
        yield cast("Executor | None", executor)  # mpi4py declares none of its classes


def _begin() -> None:
    """Leave Ctrl-C to the parent, and end when it does: a pool's process would wait forever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: "multiprocessing.process.BaseProcess") -> None:
    parent.join()
    os._exit(1)
