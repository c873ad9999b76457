"""What MPI libraries are known to get wrong is found where it is wrong, and not elsewhere."""

import json
import subprocess
from collections.abc import Callable

import pytest

Start = Callable[..., "subprocess.CompletedProcess[str]"]
PROGRAM = """
import json
from msgspec import to_builtins
from mpi4py import MPI
from evener.comm.mpi_faults import check_rings
found = to_builtins(check_rings())
if MPI.COMM_WORLD.rank == 0:
    print(json.dumps(found))
"""


@pytest.mark.parametrize("library", ["MPICH", "Open MPI"])
def test_rings_of_one_to_all_ranks_are_tried_in_every_way(start: Start, library: str) -> None:
    ended = start(library, 3, "-c", PROGRAM)

    assert ended.returncode == 0, ended.stderr
    found = {(one["name"], one["ranks"]): one["right"] for one in json.loads(ended.stdout)}
    assert len(found) == 9
    # A ring of three is right everywhere, and so is what blocks; MPICH gets everything right.
    assert all(right for (_, ranks), right in found.items() if ranks == 3)
    assert all(right for (name, _), right in found.items() if name == "Neighbor_alltoall")
    if library == "MPICH":
        assert all(found.values())
