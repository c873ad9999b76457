"""The communicator of MPI, on the ranks of two libraries."""

import json
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from evener.testing.communicator_checks import Check
from evener.testing.communicator_contract import CommunicatorContract

Start = Callable[..., "subprocess.CompletedProcess[str]"]
# Ranks to start, fewer than a machine has cores and more, and the communicators they come to form.
SIZES = {2: (2, 1), 5: (5, 3, 2)}
PROGRAM = str(Path(__file__).with_name("mpi_program.py"))
OWN = [
    "a_rank_that_sends_nothing_is_named_and_can_still_do_so",
    "a_message_of_another_size_is_refused",
    "an_array_with_gaps_is_refused",
]


@pytest.fixture(scope="module")
def ended(start: Start) -> Start:
    """Return what starts ranks of a library, each number of them once."""
    return cache(lambda library, ranks: start(library, ranks, PROGRAM))


@pytest.fixture(
    params=[
        (library, ranks, size)
        for library in ("MPICH", "Open MPI")
        for ranks, sizes in SIZES.items()
        for size in sizes
    ],
    ids=lambda param: "{} {}, {} together".format(*param),
)
def told(request: pytest.FixtureRequest, ended: Start) -> Callable[[str], None]:
    """Tell how each check ended on the ranks of a communicator."""
    library, ranks, size = request.param

    def judge(check: str) -> None:
        all_ranks = ended(library, ranks)
        lines = [json.loads(line) for line in all_ranks.stdout.splitlines() if line[:1] == "{"]
        found = {
            line["rank"]: line["error"]
            for line in lines
            if (line["check"], line["size"]) == (check, size)
        }
        wrong = [f"rank {rank}: {error}" for rank, error in found.items() if error]
        assert not wrong, "\n".join(wrong)
        assert sorted(found) == list(range(size)), all_ranks.stderr

    return judge


class TestMpiRank(CommunicatorContract):
    @pytest.fixture
    def perform(self, told: Callable[[str], None]) -> Callable[[Check], None]:
        return lambda check: told(check.__name__)

    @pytest.mark.parametrize("check", OWN)
    def test_of_its_own(self, told: Callable[[str], None], check: str) -> None:
        told(check)
