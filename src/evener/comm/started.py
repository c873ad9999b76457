"""What launchers of ranks leave in the environment of a process."""

import os
from collections.abc import Mapping
from typing import Final

from evener.errors import InputError

EXIT_CODE_FILE: Final = "EVENER_EXIT_CODE_FILE"
"""Names the file where rank 0 leaves its exit code: what mpiexec makes of it differs."""

OUTLIVED: Final = "EVENER_OUTLIVED"
"""Set where a rank outlived another: to its number among those that are left."""

# Of Open MPI, of MPICH and its like, and of Slurm's srun.
_SIZES: Final = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
_RANKS: Final = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")


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


def is_launched(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether an MPI launcher started this process among others, or may have.

    Example:
        >>> is_launched({"PMI_SIZE": "2"}), is_launched({"PMIX_RANK": "0"}), is_launched({})
        (True, True, False)
    """
    return ranks_started(environment) > 1 or "PMIX_RANK" in environment


def is_torchrun(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether torchrun started this process, alone or among others.

    Example:
        >>> is_torchrun({"TORCHELASTIC_RUN_ID": "none", "WORLD_SIZE": "2"})
        True
    """
    return "TORCHELASTIC_RUN_ID" in environment


def outlive(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether Open MPI lets ranks go on where another ends, as mpiexec --with-ft ulfm says.

    Example:
        >>> outlive({"OMPI_MCA_mpi_ft_enable": "1"}), outlive({"PMI_SIZE": "2"})
        (True, False)
    """
    return environment.get("OMPI_MCA_mpi_ft_enable", "").lower() in ("1", "true", "yes")


def check_asked(asked: int | None, started: int) -> None:
    """Refuse a number of ranks that differs from what was started.

    Args:
        asked: how many ranks the user asked for, if at all.
        started: how many there are.

    Raises:
        InputError: they differ.
    """
    if asked is not None and asked != started:
        raise InputError(
            f"--ranks {asked} was given to a command that is one of {started} ranks already; leave "
            "it out under mpirun and srun"
        )


def check_together(size: int, library: str, environment: Mapping[str, str] = os.environ) -> None:
    """Refuse ranks that were started together and do not find one another.

    Args:
        size: how many ranks MPI sees.
        library: what MPI says it is.
        environment: what the launcher left.

    Raises:
        InputError: the launcher started another number.

    Example:
        >>> check_together(1, "MPICH 5.0.2", {"OMPI_COMM_WORLD_SIZE": "4"})
        Traceback (most recent call last):
        ...
        evener.errors.InputError: 4 ranks were started, and MPICH 5.0.2 sees 1 of them: ...
    """
    started = ranks_started(environment)
    if started > 1 and started != size:
        raise InputError(
            f"{started} ranks were started, and {library} sees {size} of them: the launcher is "
            "another MPI's. Use the mpiexec of this one, or --ranks, which finds it; with srun, "
            "try --mpi=pmix and --mpi=pmi2"
        )


def check_alone(environment: Mapping[str, str] = os.environ) -> None:
    """Refuse to be the only rank of an allocation of Slurm that was made for several.

    Args:
        environment: what Slurm left.

    Raises:
        InputError: it gave room for more tasks.

    Example:
        >>> check_alone({"SLURM_NTASKS": "1"})
    """
    tasks = int(environment.get("SLURM_NTASKS", "1"))
    if tasks > 1:
        raise InputError(
            f"Slurm gave room for {tasks} tasks (SLURM_NTASKS), and this is a single process: put "
            "srun before the command, or say --ranks 1"
        )
