"""`evener train --sweep` compares networks, and says which to take."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evener.train.loop import one_thread
from evener.workflow import ranks

Evener = Callable[..., tuple[int, str, str]]
DIGITS = ("train", "--shape", "64,20,10", "--data", "digits", "--batch", "600", "--shards", "4")
SWEEP = (*DIGITS, "--input", "sharded", "--iterations", "2", "--sweep", "halo=0,full")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with one_thread():
        yield


def test_programs_get_every_network_and_the_one_to_take(evener: Evener) -> None:
    code, out, _ = evener(*SWEEP, "--seeds", "2", "--json")

    told = json.loads(out)
    assert code == 0
    assert set(told) >= {"settings", "points", "best", "recommended", "reason", "ranks"}
    assert [one["topology"]["halo"] for one in told["points"]] == [0, "full", 0]
    assert [one["equal_weights"] for one in told["points"]] == [False, False, True]
    assert set(told["points"][0]) >= {
        *("weights", "bytes_per_row", "train_loss", "test_loss", "train_accuracy"),
        *("test_accuracy", "iteration_s", "epoch_s", "communication_share", "seeds"),
    }
    assert told["points"][0]["test_accuracy"]["half_width"] is not None


def test_people_get_a_table_and_a_page(evener: Evener) -> None:
    code, out, err = evener(*SWEEP, "--seeds", "1", "--equal-weights", "none", "-o", "s.html")

    assert code == 0
    assert "digits: 1,079 rows to learn from" in out
    assert "halo full" in out
    assert out.splitlines()[-1].startswith("* 4 shards, halo")
    assert "wrote s.html" in err
    page = Path("s.html").read_text()
    assert page.startswith("<!doctype html>")
    assert page.count("<svg") == 2
    assert evener(*SWEEP, "--seeds", "1", "-o", "s.html")[0] == 0  # its own page it may replace


def test_networks_are_named_by_what_makes_them_differ(evener: Evener) -> None:
    asked = ("--sweep", "shuffle=off,on", "--seeds", "1", "--equal-weights", "none")

    _, out, _ = evener(*SWEEP, *asked)

    lines = [" ".join(line.split()[:4]) for line in out.splitlines()]
    assert "halo 0, shuffle off" in lines
    assert "halo 0, shuffle on" in lines
    assert sum(line.startswith("halo full") for line in lines) == 1


def test_so_many_weights_as_are_said_are_given_a_second_time(evener: Evener) -> None:
    _, out, _ = evener(*SWEEP, "--seeds", "1", "--equal-weights", "3000", "--json")

    weights = [one["weights"] for one in json.loads(out)["points"][2:]]
    assert weights == pytest.approx([3000, 3000], rel=0.03)


def test_ranks_are_started_with_the_same_command(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []

    def start(count: int, _: object, **__: object) -> int:
        started.append(count)
        return 0

    monkeypatch.setattr(ranks, "start_ranks", start)

    assert evener(*SWEEP, "--ranks", "2")[0] == 0
    assert started == [2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*DIGITS, "--seeds", "2"), "--seeds without a sweep: add --sweep"),
        ((*DIGITS, "--equal-weights", "full"), "--equal-weights without a sweep"),
        ((*DIGITS, "-o", "s.html"), "-o s.html without a sweep"),
        ((*SWEEP, "-o", "s.onnx"), "leave out an ONNX file behind -o"),
        ((*SWEEP, "-o", "mine.html"), "mine.html is already there, holds no page made by Evener"),
        ((*SWEEP, "--sweep", "halo=1"), "halo is swept twice"),
        ((*SWEEP, "--sweep", "shards=0"), "0 shards"),
        ((*SWEEP, "--seeds", "0"), "--seeds"),
        ((*SWEEP, "--equal-weights", "many"), "'many' is no number of weights"),
        ((*SWEEP, "--checkpoint", "kept"), "leave out --checkpoint"),
        ((*SWEEP, "--ranks", "5"), "5 ranks for 4 shards"),
        (("train", "--shape", "3,2", "--sweep", "halo=0"), "random rows teach nothing"),
    ],
)
def test_what_cannot_be_swept_is_refused_before_anything_is_trained(
    evener: Evener, arguments: tuple[str, ...], message: str
) -> None:
    Path("mine.html").write_text("mine")

    code, out, err = evener(*arguments)

    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert [path.name for path in Path().iterdir()] == ["mine.html"]
