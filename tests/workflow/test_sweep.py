"""A sweep trains every network once, keeps what is done, and says which to take."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from evener.artifacts.swept import Sweep
from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.virtual import run_ranks
from evener.errors import InputError
from evener.train import sweep as training
from evener.train.loop import one_thread
from evener.train.recipe import Recipe
from evener.train.shape import Shape
from evener.train.sharding import count_weights
from evener.train.sweep import Cell, Held
from evener.workflow.sweep import SweepWish, prepare_sweep, sweep_over_ranks
from evener.workflow.training_wish import TrainingWish

TRAINING = TrainingWish(
    widths=(64, 20, 20, 10),
    data="digits",
    shards=4,
    topology=Topology(input="sharded"),
    batch=600,
    iterations=2,
)


BASE = SweepWish(training=TRAINING, settings=("halo=0,full",), seeds=2)


def wish(**changes: object) -> SweepWish:
    return msgspec.structs.replace(BASE, **changes)


def run(asked: SweepWish) -> Sweep:
    with one_thread():
        return sweep_over_ranks(prepare_sweep(asked), Alone())


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, int]]:
    """Note what is trained, and from which seed."""
    found: list[tuple[object, int]] = []
    train_cell = training.train_cell

    def note(
        shape: Shape,
        held: Held,
        *,
        recipe: Recipe,
        iterations: int | None,
        communicator: Communicator,
    ) -> Cell:
        cell = train_cell(
            shape, held, recipe=recipe, iterations=iterations, communicator=communicator
        )
        found.append((shape.topology.halo, shape.seed))
        return cell

    monkeypatch.setattr(training, "train_cell", note)
    return found


def test_every_network_is_trained_from_every_seed_and_a_second_time_with_equal_weights() -> None:
    found = run(wish())

    halos = [(one.topology.halo, one.equal_weights) for one in found.points]
    assert halos == [(0, False), ("full", False), (0, True)]
    dense = count_weights(Topology(), TRAINING.widths or ())
    assert found.points[1].weights == dense
    assert found.points[2].weights == pytest.approx(dense, rel=0.03)
    assert (found.iterations, found.batch, found.ranks) == (2, 600, 1)
    assert all(one.test_accuracy is not None and one.seeds == 2 for one in found.points)
    assert found.points[0].bytes_per_row == 0 < found.points[1].bytes_per_row
    assert found.train_rows > found.test_rows > 0


def test_finished_cells_are_kept_and_more_seeds_train_only_those(
    trained: list[tuple[object, int]],
) -> None:
    asked = wish(equal_weights=None)

    first = run(asked)
    again = run(asked)
    run(msgspec.structs.replace(asked, seeds=3))

    assert again == first
    assert trained == [(0, 0), (0, 1), ("full", 0), ("full", 1), (0, 2), ("full", 2)]


def test_a_sweep_that_was_stopped_goes_on(
    trained: list[tuple[object, int]],
) -> None:
    asked = wish(equal_weights=None)

    def stop(*_: object) -> None:
        if len(trained) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), one_thread():
        sweep_over_ranks(prepare_sweep(asked), Alone(), progress=stop)
    run(asked)

    assert trained == [(0, 0), (0, 1), ("full", 0), ("full", 1)]


def test_ranks_come_to_the_same_and_the_first_one_keeps_it(
    trained: list[tuple[object, int]],
) -> None:
    asked = wish(settings=("halo=0,1",), equal_weights=None, seeds=1)

    def program(ranks: Communicator) -> Sweep:
        return sweep_over_ranks(prepare_sweep(asked, ranks=2), ranks)

    with one_thread():
        first, second = run_ranks(2, program)
        once = len(trained)
        assert run_ranks(2, program) == [first, second] == [first, first]

    assert len(trained) == once
    alone = run(asked)
    assert [one.test_loss for one in alone.points] == [one.test_loss for one in first.points]
    assert first.ranks == 2


def test_features_have_one_scaling_where_shards_see_means_of_them() -> None:
    sweeping = prepare_sweep(wish(settings=("halo=0", "coarse=0,2")))

    scalings = [sweeping.job_of(one).rows.scaling for one in sweeping.shapes[:2]]
    assert [len(set(one.mean.tolist())) > 1 for one in scalings if one] == [True, False]


def test_a_page_is_written(tmp_path: Path) -> None:
    page = tmp_path / "sweep.html"

    run(wish(page=page, seeds=1, equal_weights=None))

    assert "Recommended: " in page.read_text()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training": msgspec.structs.replace(TRAINING, data=None)}, "random rows teach nothing"),
        ({"training": msgspec.structs.replace(TRAINING, checkpoint=Path("c"))}, "out --checkpoint"),
        ({"training": msgspec.structs.replace(TRAINING, layout="paper")}, "out --layout paper"),
        ({"settings": ("width=2",)}, "'width=2' is nothing to sweep"),
        ({"training": msgspec.structs.replace(TRAINING, widths=(64, 10, 9))}, "give 64,10,10"),
    ],
)
def test_what_cannot_be_swept_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare_sweep(wish(**changes))


def test_each_network_has_a_shard_or_more_for_each_rank() -> None:
    with pytest.raises(InputError, match="2 ranks for 1 shard"):
        prepare_sweep(wish(settings=("shards=2,1",)), ranks=2)


def test_a_network_without_hidden_layers_has_no_other_width() -> None:
    flat = msgspec.structs.replace(TRAINING, widths=(64, 10))

    assert len(prepare_sweep(wish(training=flat)).shapes) == 2
