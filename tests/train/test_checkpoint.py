"""Checkpoints of a sharded training: it goes on from them on any number of ranks."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from safetensors.torch import load_file

from evener.artifacts.files import load
from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.virtual import run_ranks
from evener.errors import InvalidFileError, RankError
from evener.train.checkpoint import MANIFEST, Checkpoint, newest
from evener.train.grid import Grid
from evener.train.loop import one_thread
from evener.train.ranked import RankedNetwork
from evener.train.recipe import Recipe
from evener.train.shape import Shape
from evener.train.trainer import Trainer
from evener.train.twin import Twin

HALO = Shape((4, 21, 17, 8), ("tanh", "sigmoid", "identity"), Topology(shards=6, halo=2))
FULL = Shape(HALO.widths, HALO.activations, Topology(shards=6))
ADAM = Recipe(epochs=4, batch=3, optimiser="adamw", learning_rate=0.01, dropout=0.2, clip=1.0)
RECIPES = [Recipe(epochs=4, batch=3), Recipe(epochs=4, batch=3, momentum=0.9), ADAM]
INPUTS = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
WANTED = torch.rand(8, 8, generator=torch.Generator().manual_seed(1))


@pytest.fixture(autouse=True)
def single() -> Iterator[None]:
    with one_thread():
        yield


def on_ranks(ranks: int, program: Callable[[Communicator], Any]) -> list[Any]:
    return [program(Alone())] if ranks == 1 else run_ranks(ranks, program)


def begin(communicator: Communicator, shape: Shape, recipe: Recipe, replicas: int = 1) -> Trainer:
    grid = Grid.of(communicator, replicas)
    return Trainer(RankedNetwork(shape, grid.shards), recipe, INPUTS, WANTED, grid=grid)


def trained(
    ranks: int,
    shape: Shape,
    recipe: Recipe,
    *,
    folder: Path | None = None,
    until: int | None = None,
    replicas: int = 1,
) -> tuple[Twin, float]:
    """Train on ranks from the newest checkpoint; to the end, or so many steps and save."""

    def program(communicator: Communicator) -> tuple[RankedNetwork, float]:
        trainer = begin(communicator, shape, recipe, replicas)
        if until is None:
            return trainer.network, trainer.run(checkpoints=folder)
        for _ in range(until):
            trainer.advance()
        assert folder is not None
        trainer.save(folder)
        return trainer.network, 0.0

    found = on_ranks(ranks, program)
    each = ranks // replicas
    return Twin(shape, [network for network, _ in found[:each]]), found[0][1]


def assert_equal(found: Twin, other: Twin, tolerance: float = 0.0) -> None:
    for ours, theirs in zip(
        [*found.weights, *found.biases], [*other.weights, *other.biases], strict=True
    ):
        assert (ours - theirs).abs().max() <= tolerance


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
@pytest.mark.parametrize(("before", "after"), [(1, 4), (3, 1), (3, 2), (2, 5)])
def test_a_training_goes_on_with_other_ranks_to_the_same_bits(
    tmp_path: Path, recipe: Recipe, before: int, after: int
) -> None:
    trained(before, HALO, recipe, folder=tmp_path, until=5)

    resumed = trained(after, HALO, recipe, folder=tmp_path)
    straight = trained(1, HALO, recipe)

    assert_equal(resumed[0], straight[0])
    assert resumed[1] == straight[1]


@pytest.mark.parametrize(("before", "after"), [(3, 2), (1, 3), (3, 1)])
def test_a_dense_training_goes_on_to_rounding(tmp_path: Path, before: int, after: int) -> None:
    trained(before, FULL, ADAM, folder=tmp_path, until=5)

    # Of two of its layers several ranks have columns of the weights, and one rank has rows.
    assert_equal(trained(after, FULL, ADAM, folder=tmp_path)[0], trained(1, FULL, ADAM)[0], 1e-5)


def test_replicas_save_once_and_all_go_on(tmp_path: Path) -> None:
    trained(4, HALO, ADAM, folder=tmp_path, until=5, replicas=2)

    resumed, _ = trained(4, HALO, ADAM, folder=tmp_path, replicas=2)

    assert len(list((tmp_path / "step-000000012").glob("*.safetensors"))) == 2
    assert_equal(resumed, trained(4, HALO, ADAM, replicas=2)[0])


def test_a_finished_training_is_not_trained_on(tmp_path: Path) -> None:
    first = trained(2, HALO, ADAM, folder=tmp_path)

    again = trained(2, HALO, ADAM, folder=tmp_path)

    assert_equal(first[0], again[0])
    assert first[1] == again[1]


def test_the_newest_two_stay(tmp_path: Path) -> None:
    trained(1, HALO, RECIPES[0], folder=tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-000000009", "step-000000012"]
    assert newest(tmp_path) == tmp_path / "step-000000012"


def test_no_rank_writes_what_another_has(tmp_path: Path) -> None:
    trained(3, HALO, ADAM, folder=tmp_path, until=1)
    manifest = load(tmp_path / "step-000000001" / MANIFEST, Checkpoint).value

    for layer, width in enumerate(HALO.widths[1:], 1):
        rows = sorted(
            row
            for piece in manifest.pieces
            if piece.layer == layer
            for row in range(piece.first, piece.stop)
        )
        assert rows == list(range(width))
    assert manifest.arrays == ["value", "exp_avg", "exp_avg_sq"]
    for index, file in enumerate(manifest.files):
        stored = load_file(tmp_path / "step-000000001" / file.name)
        mine = [piece for piece in manifest.pieces if piece.file == index]
        assert len(stored) == 2 * 3 * len(mine)


def damaged(tmp_path: Path, damage: Callable[[Path], object]) -> pytest.ExceptionInfo[Exception]:
    trained(2, HALO, ADAM, folder=tmp_path, until=1)
    damage(tmp_path / "step-000000001")
    with pytest.raises(InvalidFileError) as failure:
        trained(1, HALO, ADAM, folder=tmp_path)
    return failure


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 9)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda folder: truncate(folder / "rank-00001.safetensors"),
            r"cannot go on from .*: it has \d+ bytes of \d+. Remove .*, and training goes on from",
        ),
        (lambda folder: flip(folder / "rank-00000.safetensors"), "does not match its sha256"),
        (
            lambda folder: (folder / "rank-00001.safetensors").unlink(),
            "rank-00001.safetensors: No such file",
        ),
        (
            lambda folder: truncate(folder / MANIFEST),
            "cannot go on from .*: .* is not JSON .* Remove",
        ),
    ],
)
def test_a_damaged_checkpoint_is_refused(
    tmp_path: Path, damage: Callable[[Path], object], message: str
) -> None:
    damaged(tmp_path, damage).match(message)


def test_a_manifest_that_leaves_neurons_out_is_refused(tmp_path: Path) -> None:
    def leave_out(folder: Path) -> None:
        from evener.artifacts.files import save

        manifest = load(folder / MANIFEST, Checkpoint).value
        save(folder / MANIFEST, msgspec.structs.replace(manifest, pieces=manifest.pieces[1:]))

    damaged(tmp_path, leave_out).match(r"\d+ weights of layer 1 are in none of its files")


def test_a_checkpoint_of_another_training_says_in_what_it_differs(tmp_path: Path) -> None:
    trained(1, HALO, ADAM, folder=tmp_path, until=1)
    other = Shape(HALO.widths, HALO.activations, Topology(shards=6, halo=3))

    with pytest.raises(
        InvalidFileError,
        match=r"is of another training: its shape.topology.halo is 2, not 3; its recipe.epochs is "
        "4, not 9. Name another folder for checkpoints, or train as it was trained",
    ):
        trained(1, other, msgspec.structs.replace(ADAM, epochs=9), folder=tmp_path)


def test_other_rows_are_another_training(tmp_path: Path) -> None:
    trained(1, HALO, ADAM, folder=tmp_path, until=1)
    trainer = Trainer(RankedNetwork(HALO, Alone()), ADAM, INPUTS + 1, WANTED)

    with pytest.raises(InvalidFileError, match="another training: its rows are others"):
        trainer.restore(tmp_path)


def test_where_nothing_can_be_written_every_rank_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    def program(communicator: Communicator) -> str:
        trainer = begin(communicator, HALO, ADAM)
        with pytest.raises((InvalidFileError, RankError)) as failure:
            trainer.save(tmp_path / "file" / "checkpoints")
        return str(failure.value)

    mine, other = run_ranks(2, program)

    assert mine.startswith(f"cannot write the checkpoint {tmp_path / 'file' / 'checkpoints'}: ")
    assert other == f"rank 0: {mine}"


KILLED = """
import os, signal, sys
from pathlib import Path
import evener.train.checkpoint as checkpoint
from tests_of_checkpoints import ADAM, HALO, begin
from evener.comm.alone import Alone

begin(Alone(), HALO, ADAM)  # the first optimiser of a process loads much of torch
for at in sys.argv[2:]:
    if not os.fork():
        folder = Path(sys.argv[1]) / at
        trainer = begin(Alone(), HALO, ADAM)
        trainer.advance()
        trainer.save(folder)
        trainer.advance()
        setattr(checkpoint, at, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        trainer.save(folder)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == -signal.SIGKILL
"""


def test_killed_while_it_saves_a_training_keeps_the_checkpoint_before(tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    (tmp_path / "tests_of_checkpoints.py").write_text(Path(__file__).read_text())
    moments = ["save_file", "file_sha256", "save", "sync_folder"]

    ended = subprocess.run(
        [sys.executable, script, tmp_path, *moments],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert ended.returncode == 0, ended.stderr
    straight = trained(1, HALO, ADAM)[0]
    for folder in (tmp_path / at for at in moments):
        assert newest(folder) == folder / "step-000000001"
        assert list(folder.glob(".partial-*"))
        assert_equal(trained(2, HALO, ADAM, folder=folder)[0], straight)
        assert not list(folder.glob(".partial-*"))
