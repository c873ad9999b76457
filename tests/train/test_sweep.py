"""Networks that differ in who sees whom are trained alike and compared."""

from dataclasses import replace

import numpy as np
import pytest

from evener.artifacts.topology import Topology
from evener.comm.virtual import run_ranks
from evener.errors import DivergedError, InputError
from evener.train.loop import one_thread
from evener.train.recipe import Recipe
from evener.train.shape import Shape
from evener.train.sharding import count_weights
from evener.train.sweep import Held, bytes_per_row, seeded, sweep, train_cell
from evener.train.sweep_axes import widened

SHARDED = Topology(shards=4, halo=0, input="sharded")


def classes(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose class only the first and the last quarter of the features tell together."""
    rng = np.random.default_rng(seed)
    inputs_BI = rng.standard_normal((rows, 8)).astype(np.float32)
    right_B = (inputs_BI[:, 0] > 0) ^ (inputs_BI[:, 7] > 0)
    return inputs_BI, np.eye(2, dtype=np.float32)[right_B.astype(int)]


HELD = Held(*classes(256, 0), *classes(256, 1))
RECIPE = Recipe(epochs=25, batch=32, learning_rate=0.5)
WIDTHS = (8, 32, 32, 2)


def classifier(topology: Topology) -> Shape:
    return Shape(WIDTHS, ("tanh", "tanh", "softmax"), topology)


def test_shards_that_see_nothing_of_one_another_do_worse_where_features_belong_together() -> None:
    shapes = [classifier(SHARDED), classifier(Topology(shards=4))]

    apart, together = sweep(shapes, HELD, recipe=RECIPE, seeds=2)

    assert apart.test_accuracy is not None
    assert together.test_accuracy is not None
    assert apart.test_accuracy.mean < 0.6
    assert together.test_accuracy.mean > 0.75
    assert apart.weights < together.weights
    assert apart.bytes_per_row < together.bytes_per_row
    assert together.train_loss.mean < apart.train_loss.mean


def test_a_network_without_a_softmax_has_a_loss_only() -> None:
    shape = Shape((8, 8, 2), ("tanh", "identity"), SHARDED)

    (found,) = sweep([shape], HELD, recipe=Recipe(batch=64), seeds=1)

    assert found.test_accuracy is found.train_accuracy is None
    assert found.test_loss.half_width is None


def test_a_loss_that_is_no_number_ends_the_sweep() -> None:
    shape = Shape((8, 8, 2), ("relu", "identity"), SHARDED)

    message = "4 shards, halo 0, input sharded, seed 0: training diverged in step .* Lower the"
    with pytest.raises(DivergedError, match=message):
        sweep([shape], HELD, recipe=Recipe(epochs=30, batch=32, learning_rate=1e6), seeds=1)


def test_no_seed_is_refused() -> None:
    with pytest.raises(InputError, match="0 seeds: give 1 or more"):
        sweep([classifier(SHARDED)], HELD, recipe=RECIPE, seeds=0)


def test_a_wider_network_has_about_as_many_weights_as_it_should() -> None:
    thin = classifier(Topology(shards=4, halo=1))
    dense = count_weights(Topology(), WIDTHS)

    wide = widened(thin, dense)

    assert count_weights(wide.topology, wide.widths) == pytest.approx(dense, rel=0.05)
    assert wide == replace(thin, widths=wide.widths)


def test_nothing_hidden_cannot_be_widened() -> None:
    with pytest.raises(InputError, match="without hidden layers"):
        widened(Shape((4, 2), ("identity",)), 100)


def test_a_shared_input_is_not_sent_and_its_gradient_neither() -> None:
    dense = Shape((8, 4, 2), ("tanh", "identity"), Topology(shards=2))
    sharded = replace(dense, topology=Topology(shards=2, input="sharded"))

    sums = 2 * 4  # of the narrower layer, forth, and as many gradients back
    assert bytes_per_row(dense) == 2 * sums
    assert bytes_per_row(sharded) == 2 * sums + 4 * 8


def test_a_cell_is_the_same_on_any_number_of_ranks_but_for_its_time() -> None:
    shape = Shape((8, 16, 16, 2), ("tanh", "tanh", "softmax"), Topology(shards=4, halo=1))
    recipe = Recipe(epochs=2, batch=32)

    with one_thread():
        alone = train_cell(shape, HELD, recipe=recipe)
        two = run_ranks(2, lambda ranks: train_cell(shape, HELD, recipe=recipe, communicator=ranks))

    assert two[0] == two[1]
    figures = ("train_loss", "test_loss", "train_accuracy", "test_accuracy")
    assert [getattr(two[0], one) for one in figures] == [getattr(alone, one) for one in figures]
    assert alone.communication_share == 0 < two[0].communication_share < 1
    assert alone.epoch_s > alone.iteration_s


def test_so_many_iterations_are_taken_as_are_asked_for() -> None:
    ticks = iter(range(1000))

    cell = train_cell(
        classifier(SHARDED), HELD, recipe=RECIPE, iterations=3, clock=lambda: float(next(ticks))
    )

    assert next(ticks) == 6  # before each iteration, and behind it
    assert (cell.iteration_s, cell.epoch_s) == (1.0, 8.0)


def test_seeds_begin_with_that_of_the_network() -> None:
    assert [one.seed for one in seeded(replace(classifier(SHARDED), seed=7), 3)] == [7, 8, 9]
