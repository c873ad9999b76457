"""What happens to ranks that train when something happens to one of them."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evener.cli.main import execute
from evener.errors import EvenerError
from evener.train.loop import one_thread
from evener.workflow import ranks

PROGRAM = str(Path(__file__).with_name("faulty_rank.py"))
TRAIN = (
    *("train", "--shape", "16,40,40,10", "--shards", "4", "--halo", "1"),
    *("--batch", "8", "--iterations", "10"),
)
Start = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def single() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture
def start() -> Start:
    """Return what trains on two ranks, something happening to the second in its seventh step."""

    def on_two_ranks(fault: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        try:
            launcher = ranks.find_launcher()
        except EvenerError as error:
            pytest.skip(str(error))
        # A rank waits for two minutes unless told otherwise: ranks that hang run into this limit.
        return subprocess.run(
            [launcher, "-n", "2", sys.executable, PROGRAM, fault, *TRAIN, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=ranks.freely(),
            timeout=60,
        )

    return on_two_ranks


def test_what_is_raised_on_one_rank_ends_all_with_its_message(start: Start) -> None:
    ended = start("raises")

    said = [line for line in ended.stderr.splitlines() if line.startswith("evener train: ")]
    assert ended.returncode == 3
    (line,) = said
    assert line.startswith(
        "evener train: on rank 1 of 2: this is a fault of evener: RuntimeError: the lights went"
    )


def test_a_rank_that_hangs_is_named_with_the_exchange_it_is_missed_in(start: Start) -> None:
    ended = start("hangs", "--timeout", "1 s")

    (said,) = [line for line in ended.stderr.splitlines() if line.startswith("evener train: ")]
    assert ended.returncode == 3
    assert "rank 0: rank 1 sent nothing for 1 s in 'layer 2, batch 8, values' (tag " in said


def test_after_kill_9_a_training_goes_on_with_another_number_of_ranks(
    start: Start, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    kept = str(tmp_path / "kept")
    ended = start("killed", "--checkpoint", kept)
    assert ended.returncode != 0
    assert "signal 9" in ended.stdout + ended.stderr  # says the launcher, whichever it is

    told, losses = [], []
    for name, arguments in (
        ("resumed", ("--checkpoint", kept, "--resume")),
        ("whole", ()),
    ):
        out = tmp_path / f"{name}.onnx"
        capfd.readouterr()
        assert execute([*TRAIN, *arguments, "-o", str(out), "--json"]) == 0
        printed = json.loads(capfd.readouterr().out)
        losses.append(printed["loss"])
        told.append(out.read_bytes())
        if name == "resumed":
            assert printed["iterations"] == 4  # an epoch of so few rows is a step

    assert told[0] == told[1]
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)  # logarithms are not to the bit
