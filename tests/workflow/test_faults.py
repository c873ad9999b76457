"""What happens to ranks that train when something happens to one of them."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evener.cli.main import execute
from evener.comm.started import EXIT_CODE_FILE
from evener.train.loop import one_thread

PROGRAM = str(Path(__file__).with_name("faulty_rank.py"))
TRAIN = (
    *("train", "--shape", "16,40,40,10", "--shards", "4", "--halo", "1"),
    *("--batch", "8", "--iterations", "10"),
)
Start = Callable[..., "subprocess.CompletedProcess[str]"]
Whole = Callable[..., tuple[dict[str, Any], bytes]]
either_library = pytest.mark.parametrize("library", ["MPICH", "Open MPI"])


@pytest.fixture(autouse=True)
def single() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture
def ended_in(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Whole:
    """Return what trains to the end in this process, and tells the figures and the network."""

    def train(*arguments: str) -> tuple[dict[str, Any], bytes]:
        out = tmp_path / "whole.onnx"
        capfd.readouterr()
        assert execute([*TRAIN, *arguments, "-o", str(out), "--json"]) == 0
        return json.loads(capfd.readouterr().out), out.read_bytes()

    return train


def said(ended: "subprocess.CompletedProcess[str]") -> list[str]:
    return [line for line in ended.stderr.splitlines() if line.startswith("evener train: ")]


def test_what_is_raised_on_one_rank_ends_all_with_its_message(start: Start) -> None:
    ended = start("Open MPI", 2, PROGRAM, "raises:1", *TRAIN)

    (line,) = said(ended)
    assert ended.returncode == 3
    assert line.startswith(
        "evener train: on rank 1 of 2: this is a fault of evener: RuntimeError: the lights went"
    )


@either_library
def test_a_rank_that_hangs_is_named_with_the_exchange_it_is_missed_in(
    library: str, start: Start
) -> None:
    ended = start(library, 2, PROGRAM, "hangs:1", *TRAIN, "--timeout", "1 s")

    (line,) = said(ended)
    assert ended.returncode == 3
    assert "rank 0: rank 1 sent nothing for 1 s in 'layer 2, batch 8, values' (tag " in line


@either_library
def test_after_kill_9_all_end_and_go_on_with_another_number_of_ranks(
    library: str, start: Start, ended_in: Whole, tmp_path: Path
) -> None:
    kept = str(tmp_path / "kept")
    ended = start(library, 2, PROGRAM, "killed:1", *TRAIN, "--checkpoint", kept)
    assert ended.returncode != 0
    assert "signal 9" in ended.stdout + ended.stderr  # says the launcher, whichever it is

    told, network = ended_in("--checkpoint", kept, "--resume")

    undisturbed, wanted = ended_in()
    assert told["iterations"] == 4  # an epoch of so few rows is a step
    assert network == wanted
    assert told["loss"] == pytest.approx(undisturbed["loss"], rel=1e-12)  # not to the bit


def test_ranks_that_outlive_the_first_share_its_part_and_end_in_the_same_weights(
    start: Start, ended_in: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(EXIT_CODE_FILE, str(tmp_path / "code"))
    out = tmp_path / "left.onnx"
    arguments = (*TRAIN, "--on-failure", "shrink", "--checkpoint", str(tmp_path / "kept"))

    ended = start(
        *("Open MPI", 3, PROGRAM, "killed:0", *arguments, "-o", str(out), "--json"),
        options=("--with-ft", "ulfm"),
    )

    assert "1 rank ended; left are 2 ranks, which go on from the last checkpoint" in ended.stderr
    assert (tmp_path / "code").read_text() == "0"  # left by the rank that is the first one now
    told = json.loads(ended.stdout)
    assert (told["ranks"], told["iterations"]) == (2, 4)
    assert out.read_bytes() == ended_in()[1]  # a halo's weights are so to the bit


def test_ranks_that_end_together_cannot_be_told_to_go_on(
    evener_ends: Callable[..., str], tmp_path: Path
) -> None:
    kept = ("--checkpoint", str(tmp_path / "kept"))
    shrink = (*TRAIN, "--on-failure", "shrink")

    assert "goes on from a checkpoint: name a folder by --checkpoint" in evener_ends(*shrink)
    assert "with 2 replicas" in evener_ends(*shrink, *kept, "--replicas", "2", "--ranks", "2")
    assert "needs Open MPI, and mpi4py uses MPICH" in evener_ends(*shrink, *kept, "--ranks", "2")
    assert not (tmp_path / "kept").exists()


@pytest.fixture
def evener_ends(capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return what runs a command that the user must mend, and tells what it says."""

    def run(*arguments: str) -> str:
        capfd.readouterr()
        assert execute(list(arguments)) == 2
        return capfd.readouterr().err

    return run
