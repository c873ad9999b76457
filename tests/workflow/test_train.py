"""Training over ranks tells what an iteration takes, and the same network on any number of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.comm.virtual import run_ranks
from evener.errors import DivergedError, EvenerError, InputError, InvalidFileError
from evener.train.loop import one_thread
from evener.train.over_ranks import TrainingResult
from evener.train.sharding import count_weights
from evener.train.verify import answers
from evener.workflow import TrainingWish, prepare_training, train_over_ranks

WIDTHS = (64, 24, 24, 10)
WISH = TrainingWish(
    widths=WIDTHS,
    data="digits",
    shards=4,
    topology=Topology(halo=1),
    epochs=2,
    optimiser="momentum",
    learning_rate=0.05,
    seed=3,
)


@pytest.fixture(autouse=True)
def single() -> Iterator[None]:
    with one_thread():
        yield


def trained(wish: TrainingWish, ranks: int = 1) -> TrainingResult:
    job = prepare_training(wish, ranks=ranks)
    if ranks == 1:
        return train_over_ranks(job, Alone())
    told = run_ranks(ranks, lambda one: train_over_ranks(job, one))
    assert all(one == told[0] for one in told)
    return told[0]


def test_any_number_of_ranks_comes_to_the_same_network_and_learns(tmp_path: Path) -> None:
    files = [tmp_path / "alone.onnx", tmp_path / "together.onnx"]
    alone, together = (
        trained(msgspec.structs.replace(WISH, out=out), ranks)
        for out, ranks in zip(files, (1, 3), strict=True)
    )

    assert files[0].read_bytes() == files[1].read_bytes()
    assert alone.test == together.test
    assert alone.loss == pytest.approx(together.loss, rel=1e-12)  # logarithms are not to the bit
    assert alone.test is not None
    assert alone.test > 0.8
    assert (alone.ranks, together.ranks) == (1, 3)


def test_replicas_share_the_rows_and_come_to_the_same_network(tmp_path: Path) -> None:
    halves = msgspec.structs.replace(WISH, replicas=2, out=tmp_path / "halves.onnx")

    alone, found = trained(WISH), trained(halves, 4)

    assert found.loss == pytest.approx(alone.loss, rel=1e-4)
    assert found.test == pytest.approx(alone.test, abs=0.006)  # two of 360 rows
    assert (found.ranks, found.replicas, alone.replicas) == (4, 2, 1)
    assert found.weights == alone.weights
    assert (tmp_path / "halves.onnx").stat().st_size > 1000


def test_a_dense_training_goes_on_with_other_shards_and_replicas(tmp_path: Path) -> None:
    dense = TrainingWish(
        widths=WIDTHS, data="digits", optimiser="adamw", batch=256, checkpoint=tmp_path
    )
    halves = msgspec.structs.replace(dense, epochs=2, replicas=2)

    def stop(_what: str, done: int, total: int) -> None:
        if done > total // 2:
            raise EvenerError("the lights went out")

    job = prepare_training(halves, ranks=4)
    with pytest.raises(EvenerError, match="lights"):
        run_ranks(4, lambda one: train_over_ranks(job, one, progress=stop))

    resumed = trained(msgspec.structs.replace(dense, epochs=2, resume=True), 3)

    straight = trained(msgspec.structs.replace(dense, epochs=2, checkpoint=None))
    assert resumed.iterations == straight.iterations / 2
    assert resumed.loss == pytest.approx(straight.loss, rel=1e-3)


def test_figures_are_those_of_the_network_and_of_what_was_sent() -> None:
    wish = TrainingWish(widths=WIDTHS, shards=4, topology=Topology(halo=1), iterations=3, batch=2)

    found = trained(wish, 2)

    assert found.weights == count_weights(Topology(shards=4, halo=1), WIDTHS)
    # Between two ranks a row and its gradient at either end, of two layers; the loss of each shard.
    exchanged = 2 * 2 * 2 * 2 * 2 * 4
    assert found.bytes_per_iteration >= exchanged
    assert found.bytes_per_iteration < exchanged + 300
    assert found.iterations == 3
    assert 0 < found.communication_share < 1
    assert found.bound_s > 0
    assert found.iteration_s > 0
    assert found.test is None


def test_a_rank_that_is_alone_sends_nothing() -> None:
    assert trained(TrainingWish(widths=(3, 8, 2), iterations=1)).bytes_per_iteration == 0


@pytest.mark.parametrize("ranks", [1, 3])
def test_the_papers_layout_trains_alone_or_on_a_rank_more_than_workers(ranks: int) -> None:
    widths = (64, 24, 10)
    wish = TrainingWish(
        widths=widths, data="digits", layout="paper", shards=2, batch=4, learning_rate=1.0
    )

    found = trained(wish, ranks)

    assert (found.ranks, found.layout) == (3, "paper")
    assert found.weights == count_weights(Topology(shards=2, halo=1), widths)
    assert found.test is not None
    assert found.test > 0.5
    assert found.bytes_per_iteration > 0


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_network_that_is_written_answers_as_it_was_trained_to(
    ranks: int, tmp_path: Path
) -> None:
    out = tmp_path / "digits.onnx"

    found = trained(msgspec.structs.replace(WISH, out=out), ranks)

    prepared = prepare_training(WISH)
    assert prepared.rows.test_inputs is not None
    assert prepared.rows.scaling is not None
    raw = prepared.rows.test_inputs * prepared.rows.scaling.spread + prepared.rows.scaling.mean
    answered = answers(out.read_bytes(), raw.astype(np.float32), 10).argmax(1)
    assert (answered == prepared.rows.test_labels).mean() == pytest.approx(found.test, abs=0.003)
    assert found.network == str(out)


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    trained(msgspec.structs.replace(WISH, checkpoint=tmp_path))

    other = msgspec.structs.replace(WISH, checkpoint=tmp_path, resume=True, learning_rate=0.2)
    with pytest.raises(InvalidFileError, match=r"learning_rate is 0\.05, not 0\.2"):
        trained(other)


def test_a_loss_that_is_no_number_ends_it_with_step_and_layer() -> None:
    with pytest.raises(DivergedError, match=r"diverged in step \d+ of .* layer \d on rank \d"):
        trained(msgspec.structs.replace(WISH, learning_rate=1e30), 2)


def test_progress_is_told_by_the_first_rank_and_goes_on_where_it_was(tmp_path: Path) -> None:
    told: list[Any] = []
    wish = TrainingWish(widths=(3, 4, 2), iterations=4, checkpoint=tmp_path)

    train_over_ranks(prepare_training(wish), Alone(), progress=lambda *what: told.append(what))

    assert told == [("training", done, 4) for done in (1, 2, 3, 4)]


def test_rows_of_numbers_are_not_for_ranks(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,label\n" + "".join(f"{i},{i / 3}\n" for i in range(30)))
    wish = TrainingWish(widths=(1, 4, 1), data=str(tmp_path / "rows.csv"))

    with pytest.raises(InputError, match="ranks and shards train networks that tell classes apart"):
        prepare_training(wish)
