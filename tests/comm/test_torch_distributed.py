"""The communicator of torch.distributed, over gloo, between processes that torchrun might start."""

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from evener.testing.communicator_checks import Check
from evener.testing.communicator_contract import CommunicatorContract

if find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

PROGRAM = str(Path(__file__).with_name("torch_program.py"))
SIZES = (1, 2, 3, 5)


@pytest.fixture(scope="module")
def ended() -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, PROGRAM, *map(str, SIZES)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(params=SIZES)
def told(
    request: pytest.FixtureRequest, ended: "subprocess.CompletedProcess[str]"
) -> Callable[[str], None]:
    size = request.param

    def judge(check: str) -> None:
        lines = [json.loads(line) for line in ended.stdout.splitlines()]
        found = {
            line["rank"]: line["error"]
            for line in lines
            if (line["check"], line["size"]) == (check, size)
        }
        wrong = [f"rank {rank}: {error}" for rank, error in found.items() if error]
        assert not wrong, "\n".join(wrong)
        assert sorted(found) == list(range(size)), ended.stderr

    return judge


class TestTorchRank(CommunicatorContract):
    @pytest.fixture
    def perform(self, told: Callable[[str], None]) -> Callable[[Check], None]:
        return lambda check: told(check.__name__)

    @pytest.mark.parametrize(
        "check",
        [
            "copies_elsewhere_are_sent_and_received",
            "a_rank_that_sends_nothing_is_named_and_one_that_went_too",
        ],
    )
    def test_of_its_own(self, told: Callable[[str], None], check: str) -> None:
        told(check)
