"""The communicator of MPI, on the ranks of two libraries."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from evener.testing.communicator_checks import Check
from evener.testing.communicator_contract import CommunicatorContract

PROGRAM = str(Path(__file__).with_name("mpi_program.py"))
OWN = [
    "a_rank_that_sends_nothing_is_named_and_can_still_do_so",
    "a_message_of_another_size_is_refused",
    "an_array_with_gaps_is_refused",
]


@pytest.fixture(
    scope="module",
    params=[(library, ranks) for library in ("MPICH", "Open MPI") for ranks in (1, 2, 3, 5)],
    ids=lambda param: f"{param[0]} {param[1]}",
)
def told(
    request: pytest.FixtureRequest, start: Callable[..., "subprocess.CompletedProcess[str]"]
) -> Callable[[str], None]:
    """Start the ranks once, and tell how each check ended on them."""
    library, ranks = request.param
    ended = start(library, ranks, PROGRAM)
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]

    def judge(check: str) -> None:
        found = {line["rank"]: line["error"] for line in lines if line["check"] == check}
        wrong = [f"rank {rank}: {error}" for rank, error in found.items() if error]
        assert not wrong, "\n".join(wrong)
        assert sorted(found) == list(range(ranks)), ended.stderr

    return judge


class TestMpiRank(CommunicatorContract):
    @pytest.fixture
    def perform(self, told: Callable[[str], None]) -> Callable[[Check], None]:
        return lambda check: told(check.__name__)

    @pytest.mark.parametrize("check", OWN)
    def test_of_its_own(self, told: Callable[[str], None], check: str) -> None:
        told(check)
