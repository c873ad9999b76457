"""Scoring blocks of convolutions by a short training."""

import msgspec

from evener.artifacts.conv_stack import Block, ConvStack
from evener.artifacts.layer_graph import LayerGraph, Recipe, Spread
from evener.data.dataset import Dataset
from evener.train.trials import Terms, Trial, score_together

SMALL = ConvStack(blocks=(Block(kind="conv3x3", channels=8, stride=2),))
DEEP = ConvStack(
    blocks=(
        Block(kind="conv3x3", channels=8),
        Block(kind="depthwise3x3", channels=8, residual=True),
        Block(kind="conv3x3", channels=16, stride=2),
    ),
    head="flatten",
    hidden=16,
)
TERMS = Terms(epochs=8, batch=16, learning_rate=0.01, seed=3)


def trial(network: ConvStack | LayerGraph) -> Trial:
    return Trial(network=network, spread=Spread())


def test_scores_come_in_order_with_cost_and_error(bars: Dataset) -> None:
    scores = score_together([trial(DEEP), trial(SMALL)], bars, TERMS)

    assert [one.id for one in scores] == [DEEP.id, SMALL.id]
    assert [one.macs for one in scores] == [DEEP.macs(1, 8, 8, 2), SMALL.macs(1, 8, 8, 2)]
    assert [one.weights for one in scores] == [DEEP.weights(1, 8, 8, 2), SMALL.weights(1, 8, 8, 2)]
    assert scores[0].quality is not None
    assert scores[0].quality >= 0.9


def test_a_score_is_that_of_the_network_alone(bars: Dataset) -> None:
    fast = msgspec.structs.replace(SMALL, recipe=Recipe(learning_rate=0.1, momentum=0.9))
    wild = msgspec.structs.replace(SMALL, recipe=Recipe(learning_rate=1e30))
    networks = [DEEP, SMALL, fast, wild]

    together = score_together([trial(one) for one in networks], bars, TERMS)

    alone = [score_together([trial(one)], bars, TERMS)[0] for one in networks]
    assert together == alone
    assert [one.status for one in together] == ["ok", "ok", "ok", "diverged"]


def test_views_of_pictures_change_what_is_learned(bars: Dataset) -> None:
    networks = [trial(SMALL), trial(DEEP)]
    short = msgspec.structs.replace(TERMS, epochs=2)
    moved = msgspec.structs.replace(short, shift=1, mirror=True)

    plain, seen = (score_together(networks, bars, one) for one in (short, moved))

    assert [one.status for one in seen] == ["ok", "ok"]
    assert [one.quality for one in seen] != [one.quality for one in plain]


def test_blocks_over_rows_that_are_no_pictures_fail(rings: Dataset) -> None:
    [score] = score_together([trial(SMALL)], rings, TERMS)

    assert score.status == "failed"
    assert "reads pictures, and a row is 3 numbers" in score.message


def test_views_of_rows_that_are_no_pictures_fail(rings: Dataset) -> None:
    moved = msgspec.structs.replace(TERMS, shift=1)

    [score] = score_together([trial(LayerGraph())], rings, moved)

    assert score.status == "failed"
    assert "are for pictures, and rows of rings are none" in score.message
