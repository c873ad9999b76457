"""Networks that differ in who sees whom are trained alike and compared."""

from dataclasses import replace

import numpy as np
import pytest

from evener.artifacts.topology import Topology
from evener.errors import DivergedError, InputError
from evener.train.recipe import Recipe
from evener.train.shape import Shape
from evener.train.sharding import count_weights
from evener.train.sweep import (
    Held,
    Swept,
    interval,
    parse_sweep,
    sent_bytes,
    sweep,
    widened,
)

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
    told: list[Swept] = []

    apart, together = sweep(
        [classifier(SHARDED), classifier(Topology(shards=4))],
        HELD,
        recipe=RECIPE,
        seeds=2,
        on_network=told.append,
    )

    assert told == [apart, together]
    assert apart.test_accuracy is not None
    assert together.test_accuracy is not None
    assert apart.test_accuracy.mean < 0.6
    assert together.test_accuracy.mean > 0.75
    assert apart.weights < together.weights
    assert apart.sent_bytes < together.sent_bytes
    assert together.train_loss.mean < apart.train_loss.mean


def test_a_network_without_a_softmax_has_a_loss_only() -> None:
    shape = Shape((8, 8, 2), ("tanh", "identity"), SHARDED)

    (found,) = sweep([shape], HELD, recipe=Recipe(batch=64), seeds=1)

    assert found.test_accuracy is found.train_accuracy is None
    assert found.test_loss.half_width is None


def test_a_loss_that_is_no_number_ends_the_sweep() -> None:
    shape = Shape((8, 8, 2), ("relu", "identity"), SHARDED)

    with pytest.raises(DivergedError, match="training diverged in step .* Lower the learning rate"):
        sweep([shape], HELD, recipe=Recipe(epochs=30, batch=32, learning_rate=1e6), seeds=1)


def test_no_seed_is_refused() -> None:
    with pytest.raises(InputError, match="0 seeds: give 1 or more"):
        sweep([], HELD, recipe=RECIPE, seeds=0)


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

    assert sent_bytes(dense) == 4 * 2 * 4
    assert sent_bytes(sharded) == 4 * 2 * 4 + 4 * 8


def test_an_interval_is_students() -> None:
    found = interval([1.0, 2.0, 3.0])

    assert found.half_width == pytest.approx(2.4841, abs=1e-4)
    assert str(found) == "2.0000 ± 2.4841"
    assert str(interval([1.0])) == "1.0000"


def test_what_is_swept_is_a_setting_and_its_values() -> None:
    assert parse_sweep("halo=0,boundary,full", SHARDED) == [
        Topology(shards=4, halo=0, input="sharded"),
        Topology(shards=4, halo=1, input="sharded"),
        Topology(shards=4, halo="full", input="sharded"),
    ]
    assert [one.shards for one in parse_sweep("shards=1,64", SHARDED)] == [1, 64]
    assert [one.coarse for one in parse_sweep("coarse=0,2", SHARDED)] == [0, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("width=1,2", "'width=1,2' is nothing to sweep: give halo, shards or coarse"),
        ("halo", "'halo' is nothing to sweep"),
        ("halo=", "'halo=' is nothing to sweep"),
        ("halo=1,1", "names 1 twice"),
        ("halo=1,wide", "'wide' is no halo"),
        ("shards=2,few", "'few' in 'shards=2,few' is no number of shards"),
        ("shards=0,1", "0 shards: a network has 1 or more"),
    ],
)
def test_what_cannot_be_swept_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_sweep(text, SHARDED)
