"""`evener train --auto` says what it chose and why, and trains so."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evener import workflow
from evener.artifacts.calibration import Calibration, Link, Rate
from evener.cli.main import execute
from evener.comm import join
from evener.comm.communicator import Communicator
from evener.comm.virtual import run_ranks
from evener.errors import EvenerError
from evener.train.loop import one_thread
from evener.workflow import ranks

Evener = Callable[..., tuple[int, str, str]]
SMALL = ("train", "--shape", "8,64,64,8", "--iterations", "2")
KNOWN = Calibration(
    processor="a core",
    updates=(Rate(1.0, 2e8),),
    reads=(Rate(1.0, 1e8),),
    products=(Rate(1.0, 1e10),),
    dense_layer_s=1e-5,
    sharded_layer_s=3e-5,
    shard_s=1e-6,
    link=Link(name="quick", latency_s=1e-6, gap_s=1e-7, bandwidth_bytes_per_s=1e10),
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(workflow, "calibration_for", lambda *_, **__: KNOWN)
    monkeypatch.setattr(workflow, "calibration_among", lambda _: KNOWN)
    with one_thread():
        yield


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Say how many ranks there may be."""

    def allow(most: int) -> None:
        monkeypatch.setattr(workflow, "ranks_here", lambda _: (most, (f"{most} at most",)))

    return allow


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, Sequence[str]]]:
    """Note which ranks were started, and let them say something."""
    told: list[tuple[int, Sequence[str]]] = []

    def start(
        count: int, arguments: Sequence[str], *, hear: Callable[[str], object] = lambda _: None
    ) -> int:
        told.append((count, arguments))
        hear('{"loss": \n')
        hear("1.5}\n")
        return 0

    monkeypatch.setattr(ranks, "start_ranks", start)
    return told


def test_one_rank_trains_here_and_the_choice_stands_above(
    evener: Evener, room: Callable[[int], None]
) -> None:
    room(1)

    code, out, _ = evener(*SMALL, "--auto")

    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert code == 0
    assert "Predicted for batches of 1 row" in lines
    assert any(line.startswith("dense on 1 rank ") and line.endswith(" chosen") for line in lines)
    assert any(line.startswith("dense on 1 rank: ") for line in lines)
    assert "1 at most" in lines
    assert "predicted from what was measured of a core and quick, one thread a rank" in lines
    assert any(line.startswith("8-64-64-8 by 1 shard, halo full") for line in lines)


def test_programs_get_the_choice_beside_the_figures(
    evener: Evener, room: Callable[[int], None]
) -> None:
    room(1)

    told = json.loads(evener(*SMALL, "--auto", "--json")[1])

    assert (told["ranks"], told["iterations"]) == (1, 2)
    assert told["choice"]["chosen"]["ranks"] == 1
    assert [one["why"] for one in told["choice"]["candidates"]] == ["chosen"]


def test_several_ranks_are_started_with_what_was_chosen(
    evener: Evener, room: Callable[[int], None], started: list[tuple[int, Sequence[str]]]
) -> None:
    room(4)

    code, out, _ = evener(*SMALL, "--auto", "--within", "1 s")
    told = json.loads(evener(*SMALL, "--within=1 s", "--json", "--halo", "auto")[1])
    evener(*SMALL, "--auto", "--")

    assert code == 0
    assert "dense on 4 ranks" in out
    said = ("--ranks", "4", "--replicas", "1", "--shards", "4", "--halo", "full")
    assert started == [
        (4, [*SMALL, *said]),
        (4, [*SMALL, "--json", "--halo", "auto", *said]),
        (4, [*SMALL, *said, "--"]),
    ]
    assert told["loss"] == 1.5
    assert told["choice"]["chosen"]["layout"] == "dense on 4 ranks"


def test_ranks_train_as_was_chosen(evener: Evener, room: Callable[[int], None]) -> None:
    try:
        ranks.find_launcher()
    except EvenerError as error:
        pytest.skip(str(error))
    room(2)

    code, out, _ = evener(*SMALL, "--auto", "--json")

    told = json.loads(out)
    assert code == 0
    assert (told["ranks"], told["iterations"]) == (2, 2)
    assert told["topology"] == told["choice"]["chosen"]["topology"]
    assert told["choice"]["chosen"]["layout"] == "dense on 2 ranks"


def test_ranks_that_fail_leave_their_code_and_print_nothing(
    evener: Evener, room: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    room(4)
    monkeypatch.setattr(ranks, "start_ranks", lambda *_, **__: 2)

    assert evener(*SMALL, "--auto", "--json")[:2] == (2, "")


def test_ranks_that_are_started_already_choose_the_same_and_the_first_one_speaks(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    mine = threading.local()

    @contextmanager
    def joined(**_: Any) -> Iterator[Communicator]:  # noqa: ANN401 - as the real one takes them
        yield mine.communicator

    def be(communicator: Communicator) -> int:
        mine.communicator = communicator
        return execute([*SMALL, "--batch", "4", "--auto", "--json"])

    monkeypatch.setattr(join, "joined", joined)
    monkeypatch.setenv("PMI_SIZE", "2")

    assert run_ranks(2, be) == [0, 0]
    told = json.loads(capfd.readouterr().out)
    assert told["ranks"] == 2
    assert {one["ranks"] for one in told["choice"]["candidates"]} == {2}
    assert told["replicas"] == told["choice"]["chosen"]["replicas"]


def test_a_long_list_is_shortened_and_keeps_the_chosen_one(
    evener: Evener,
    room: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
    started: list[tuple[int, Sequence[str]]],
) -> None:
    slow = Link(name="slow", latency_s=1.0, gap_s=1.0, bandwidth_bytes_per_s=1e3)
    linked = msgspec.structs.replace(KNOWN, link=slow, shard_s=0.0)
    monkeypatch.setattr(workflow, "calibration_for", lambda *_, **__: linked)
    room(8)

    out = evener(*SMALL, "--batch", "8", "--auto")[1]

    assert "and 10 more, which --json lists" in " ".join(out.split())
    assert started == []
    assert "dense on 1 rank" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--within", "1 s"), "--within limits what --auto chooses: add --auto"),
        (("--auto", "--within", "1"), "has no unit"),
        (("--auto", "--layout", "paper"), "the paper's layout leaves nothing to choose"),
        (("--auto", "--replicas", "2"), "--auto chooses the replicas: leave out --replicas"),
        (("--auto", "--halo", "2"), "without --shards: shards say which weights exist"),
        (("--auto", "--sweep", "halo=0,1"), "--sweep compares networks, and --auto trains one"),
        (("--halo", "auto", "--within", "1 us"), "no layout takes 1 µs an iteration or less"),
    ],
)
def test_what_cannot_be_chosen_is_refused(
    evener: Evener,
    room: Callable[[int], None],
    started: list[tuple[int, Sequence[str]]],
    arguments: Sequence[str],
    message: str,
) -> None:
    room(4)

    code, out, err = evener(*SMALL, *arguments)

    assert (code, out, started) == (1 if "no layout" in message else 2, "", [])
    assert message in err
    assert list(Path().iterdir()) == []
