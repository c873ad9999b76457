"""What opening a session on cores takes, whichever runtime opens it: checks before and after.

A call that sets where threads may run can fail without saying so. So the kernel is asked where they
are, and a session whose threads are elsewhere is closed and refused.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from evener.errors import RuntimeFailedError
from evener.runtime import pinning, refusal


def check_caller(runtime: str, cores: tuple[int, ...]) -> None:
    """Check that the calling thread stays on the first of the cores, which are this process's.

    Raises:
        InputError: this process may not use a core.
        RuntimeFailedError: no core at all, or the thread may run elsewhere too.
    """
    if not cores:
        raise RuntimeFailedError(f"{runtime} needs at least one core to run on", runtime=runtime)
    pinning.check_cores(cores)
    allowed = os.sched_getaffinity(0)
    if allowed != {cores[0]}:
        raise RuntimeFailedError(
            f"{runtime} is to run on cores {pinning.show_cores(cores)}, but its first thread, the "
            f"caller's, may run on {pinning.show_cores(allowed)}; open the network inside "
            "evener.runtime.pinning.pinned(cores)",
            runtime=runtime,
        )


@contextmanager
def confirmed_threads(runtime: str, cores: tuple[int, ...]) -> Iterator[ExitStack]:
    """Check that the threads which are made inside, and the caller, end up one on each core.

    Args:
        runtime: its name.
        cores: where they should be.

    Yields:
        What is to be closed if they are not.

    Raises:
        RuntimeFailedError: the kernel confirms fewer cores.
    """
    with ExitStack() as if_misplaced:
        with pinning.MAKING:
            before = pinning.threads()
            yield if_misplaced
            confirmed = pinning.await_confirmed(frozenset(cores), before)
        if confirmed != set(cores):
            raise refusal.misplaced(runtime, cores, confirmed)
        if_misplaced.pop_all()
