"""What is logged of a training's steps, where, and what is refused."""

import importlib.util
import math
import struct
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import torch

from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.timed import Timed
from evener.comm.virtual import run_ranks
from evener.errors import InvalidFileError, MissingExtraError
from evener.train.loop import one_thread
from evener.train.ranked import RankedNetwork
from evener.train.recipe import Recipe
from evener.train.shape import Shape
from evener.train.step_log import LoggedStep, check_log, logging_to
from evener.train.trainer import Progress, Trainer

SHAPE = Shape((4, 12, 3), ("tanh", "identity"), Topology(shards=3, halo=1))
PLAIN = Recipe(epochs=2, batch=2)


@pytest.fixture(autouse=True)
def single() -> Iterator[None]:
    with one_thread():
        yield


def trained(
    communicator: Communicator, recipe: Recipe, path: Path | None
) -> tuple[Trainer, list[Progress]]:
    """Train for four steps, and return what each came to."""
    network = RankedNetwork(SHAPE, communicator)
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(4, 4, generator=generator)
    wanted = torch.rand(4, 3, generator=generator)
    trainer = Trainer(network, recipe, inputs, wanted, norms=path is not None)
    steps: list[Progress] = []
    with logging_to(path, communicator) as log:

        def see(progress: Progress) -> None:
            steps.append(progress)
            log(progress)

        trainer.run(see)
    return trainer, steps


def lines(path: Path) -> list[LoggedStep]:
    return [msgspec.json.decode(line, type=LoggedStep) for line in path.read_text().splitlines()]


def events(folder: Path) -> list[dict[str, float]]:
    """Read the events of a folder as TensorBoard does: records of a length, its sum and theirs."""
    proto = pytest.importorskip("tensorboardX.proto.event_pb2", reason="needs 'tensorboard'")
    found = []
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        while content:
            (length,) = struct.unpack("<Q", content[:8])
            event = proto.Event.FromString(content[12 : 12 + length])
            figures = {value.tag: value.simple_value for value in event.summary.value}
            if figures:
                found.append({"step": event.step, **figures})
            content = content[16 + length :]
    return found


@pytest.mark.parametrize("recipe", [PLAIN, Recipe(epochs=2, batch=2, optimiser="adamw", clip=0.01)])
def test_the_first_rank_logs_every_step_and_no_weight_is_another_for_it(
    recipe: Recipe, tmp_path: Path
) -> None:
    log = tmp_path / "new" / "steps.jsonl"

    logged = run_ranks(2, lambda one: trained(Timed(one), recipe, log))
    silent = run_ranks(2, lambda one: trained(Timed(one), recipe, None))

    for (ours, _), (theirs, _) in zip(logged, silent, strict=True):
        assert torch.equal(ours.network.parameters.flat, theirs.network.parameters.flat)
    steps = logged[0][1]
    assert lines(log) == [LoggedStep.of(step) for step in steps]
    assert [step.step for step in lines(log)] == [1, 2, 3, 4]
    assert all(step.communication_share is not None for step in lines(log))


def test_the_norm_is_that_of_the_whole_gradient_before_it_is_clipped(tmp_path: Path) -> None:
    log = tmp_path / "steps.jsonl"
    trainer, _ = trained(Alone(), Recipe(batch=4), None)  # one step, of all rows
    before, _ = trained(Alone(), Recipe(batch=4, learning_rate=1e-30), None)
    norm = float((before.network.parameters.flat - trainer.network.parameters.flat).norm()) / 0.1

    run_ranks(3, lambda one: trained(one, Recipe(batch=4), log))
    run_ranks(3, lambda one: trained(one, Recipe(batch=4, clip=1e-3), log))

    for step in lines(log):
        assert step.gradient_norm == pytest.approx(norm, rel=1e-5)


def test_tensorboard_reads_the_same_figures(tmp_path: Path) -> None:
    _, steps = trained(Timed(Alone()), PLAIN, tmp_path / "board")

    found = events(tmp_path / "board")

    assert len(found) == 4
    for figures, step in zip(found, steps, strict=True):
        wanted = msgspec.structs.asdict(LoggedStep.of(step))
        assert figures == pytest.approx(wanted, rel=1e-6)
        assert math.isfinite(figures["gradient_norm"])


@pytest.mark.parametrize("name", ["steps.jsonl", "board"])
def test_a_log_goes_on_where_the_training_does_and_is_not_mixed_with_another(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    check_log(path, goes_on=False)
    trained(Alone(), PLAIN, path)

    check_log(path, goes_on=True)
    with pytest.raises(InvalidFileError, match=f"{name} already holds the log of a training"):
        check_log(path, goes_on=False)
    trained(Alone(), PLAIN, path)
    assert len(lines(path) if path.is_file() else events(path)) == 8


def test_what_can_be_no_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "file").touch()

    with pytest.raises(InvalidFileError, match=r"folder.jsonl: it is a folder; name a file"):
        check_log(tmp_path / "folder.jsonl", goes_on=True)
    with pytest.raises(InvalidFileError, match=r"file: it is no folder, and does not end in"):
        check_log(tmp_path / "file", goes_on=True)
    with (
        pytest.raises(
            InvalidFileError, match=r"cannot write the log .*: File exists; choose a place"
        ),
        logging_to(tmp_path / "file" / "steps.jsonl", Alone()),
    ):
        pytest.fail("it was opened")


def test_a_full_disk_ends_the_training_and_says_so(tmp_path: Path) -> None:
    log = tmp_path / "full.jsonl"
    log.symlink_to("/dev/full")

    with pytest.raises(InvalidFileError, match=r"cannot write the log .*full.jsonl: No space"):
        trained(Alone(), PLAIN, log)


def test_without_tensorboardx_lines_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "evener.train.step_log.find_spec",
        lambda name: None if name == "tensorboardX" else find(name),
    )

    check_log(tmp_path / "steps.jsonl", goes_on=False)
    with pytest.raises(
        MissingExtraError,
        match=r"TensorBoard, unlike one that ends in .jsonl, needs the extra 'tensorboard': pip",
    ):
        check_log(tmp_path / "board", goes_on=False)
