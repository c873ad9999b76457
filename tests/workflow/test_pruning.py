"""Units are taken out of a trained network, and what is left answers as if they were masked."""

import html
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evener.artifacts.architecture import Architecture
from evener.artifacts.conv_stack import Block, ConvStack
from evener.artifacts.files import load
from evener.artifacts.front import Front
from evener.artifacts.layer_graph import LayerGraph, Recipe
from evener.artifacts.networks import Ends, units, weights
from evener.artifacts.project import DataSection, TrainSection, parse_project
from evener.data.dataset import Dataset
from evener.data.load import load_dataset
from evener.errors import InputError, InvalidProjectError
from evener.search.pruning.layers import answer
from evener.search.pruning.vectors import cut, least, rank
from evener.workflow.build import build_project

pytest.importorskip("torch", reason="pruning is a part of training, which needs the extra 'train'")

from evener.train.fit import train_network
from evener.train.model import predict
from evener.train.population.conv_weights import draw_conv_weights
from evener.train.population.decoded import conv_individual_of, individual_of
from evener.train.population.weights import Weights, draw_weights
from evener.train.shrink import prunable_layers, smaller
from evener.workflow import pruning
from evener.workflow.pruning import net_of, shrink

ENDS = Ends(features=64, outputs=10)
SKIPS = LayerGraph(
    widths=(12, 8, 6),
    links=((0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4)),
    activation="gelu",
)


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load_dataset(DataSection(source="digits", test_share=0.6, validation_share=0.2), Path())


def drawn(graph: LayerGraph, seed: int) -> Weights:
    return draw_weights(individual_of(graph, 5, 3, seed=seed, bias_variance=1.0))


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_the_small_network_answers_as_the_masked_one(seed: int, share: float) -> None:
    learned = drawn(SKIPS, seed)
    gradients = [drawn(SKIPS, seed + 10 + look) for look in range(3)]
    rows = np.random.default_rng(seed).normal(size=(40, 5))

    small, left = shrink(SKIPS, learned, gradients, share)

    net = net_of(SKIPS, learned)
    looks = [rank(net, pruning._gradients(net, one)) for one in gradients]
    gone = least(net, pruning._added_up(looks), share)
    assert isinstance(small, LayerGraph)
    assert sum(small.widths) == sum(SKIPS.widths) - len(gone)
    assert small.links == SKIPS.links
    np.testing.assert_allclose(
        answer(net_of(small, left), rows), answer(cut(net, gone), rows), rtol=1e-5, atol=1e-5
    )
    if not share:
        assert small == SKIPS


def test_the_units_that_the_loss_would_miss_most_stay() -> None:
    graph = LayerGraph(widths=(4,), links=((0, 1), (1, 2)))
    learned, gradient = drawn(graph, 0), drawn(graph, 1)
    matters = np.abs(
        (learned.links[0, 1] * gradient.links[0, 1]).sum(axis=0)
        + learned.biases[0] * gradient.biases[0]
    )

    _, left = shrink(graph, learned, [gradient], 0.5)

    stay = np.sort(np.argsort(matters)[2:])
    np.testing.assert_allclose(left.links[0, 1], learned.links[0, 1][:, stay], rtol=1e-6)
    np.testing.assert_allclose(left.links[1, 2], learned.links[1, 2][stay], rtol=1e-6)


@pytest.mark.parametrize("head", ["mean", "flatten"])
def test_channels_of_blocks_go_with_all_that_uses_them(head: Any) -> None:  # noqa: ANN401 - a name
    stack = ConvStack(
        blocks=(
            Block(kind="conv3x3", channels=6),
            Block(kind="depthwise3x3", channels=4, stride=2),
        ),
        head=head,
    )

    def sample(seed: int) -> Weights:
        return draw_conv_weights(conv_individual_of(stack, (1, 4, 4), 3, seed=seed))

    small, left = shrink(stack, sample(0), [sample(1), sample(2)], 0.5)

    assert isinstance(small, ConvStack)
    assert units(small) == 5
    made = conv_individual_of(small, (1, 4, 4), 3, seed=0)
    assert [one.shape for one in made.weighted] == [one.shape for one in left.links.values()]


def test_what_is_neither_layers_nor_blocks_is_refused(digits: Dataset) -> None:
    with pytest.raises(InputError, match="units are taken out of graphs of layers and of blocks"):
        train_network(
            Architecture(hidden=(8,)), digits, TrainSection(epochs=1, prune=0.5), shrink=shrink
        )


@pytest.mark.parametrize("recipe", [None, Recipe(learning_rate=0.05, momentum=0.5)])
def test_a_training_goes_on_with_what_is_left(digits: Dataset, recipe: Recipe | None) -> None:
    graph = LayerGraph(widths=(16, 8), links=((0, 1), (0, 2), (1, 2), (2, 3)), recipe=recipe)
    section = TrainSection(epochs=6, prune=0.5, refit=False)

    trained = train_network(graph, digits, section, shrink=shrink)

    assert isinstance(trained.architecture, LayerGraph)
    assert (units(trained.architecture), trained.architecture.recipe) == (12, recipe)
    assert trained.weights == weights(trained.architecture, ENDS)
    assert len(trained.losses) == section.passes == 8
    pruned = trained.pruned
    assert pruned is not None
    assert (pruned.units_before, pruned.units) == (24, 12)
    assert (pruned.weights_before, pruned.weights) == (weights(graph, ENDS), trained.weights)
    plain = train_network(graph, digits, TrainSection(epochs=6, refit=False))
    assert pruned.validation == plain.validation


def test_the_model_takes_over_what_is_left_and_nothing_else_changes(digits: Dataset) -> None:
    graph = LayerGraph(widths=(16,), links=((0, 1), (0, 2), (1, 2)))
    trained = train_network(graph, digits, TrainSection(epochs=2, refit=False))
    features, targets = digits.examples("train")
    before = predict(trained.model, features)

    small, left = smaller(trained.model, graph, features, targets, shrink, 0.5)

    assert np.array_equal(predict(trained.model, features), before)
    layers = prunable_layers(trained.model, graph).read()
    kept = [
        next(at for at in range(16) if np.array_equal(layers.links[0, 1][:, at], column))
        for column in left.links[0, 1].T
    ]
    assert small == LayerGraph(widths=(8,), links=graph.links)
    np.testing.assert_array_equal(left.biases[0], layers.biases[0][kept])
    np.testing.assert_array_equal(left.links[1, 2], layers.links[1, 2][kept])


def test_nothing_changes_where_no_share_is_to_go(digits: Dataset) -> None:
    graph = LayerGraph(widths=(8,), links=((0, 1), (1, 2)))
    features, _ = digits.examples("test")

    plain = train_network(graph, digits, TrainSection(epochs=2))
    asked = train_network(graph, digits, TrainSection(epochs=2), shrink=shrink)

    assert np.array_equal(predict(plain.model, features), predict(asked.model, features))
    assert asked.pruned is None


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"prune": 1.0}, "train.prune = 1.0 must be at least 0 and below 1"),
        ({"prune": -0.1}, "train.prune = -0.1 must be at least 0"),
        ({"prune": 0.5, "shards": 2}, "train.prune = 0.5 is for one rank"),
    ],
)
def test_a_share_that_cannot_go_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidProjectError, match=told):
        parse_project({"data": {"source": "digits"}, "train": given})


TOML = """
[data]
source = "digits"
test_share = 0.6

[search]
population = 2
generations = 1
epochs = 1
widths = [8, 16]
depth = 2
finalists = 1

[train]
epochs = 3
prune = 0.5
refit = {refit}
"""


@pytest.mark.parametrize("refit", ["true", "false"])
def test_a_build_delivers_the_small_network_and_says_what_it_cost(
    tmp_path: Path, refit: str
) -> None:
    (tmp_path / "evener.toml").write_text(TOML.replace("{refit}", refit))

    built = build_project(tmp_path)

    front = load(tmp_path / ".evener" / "front.json", Front).value
    full = front.retrained_of(front.chosen)
    pruned = built.card.pruned
    assert full is not None
    assert pruned is not None
    assert len(full.unpruned) == len(full.validation) == 3
    assert pruned.units_before == units(front.architecture)
    assert pruned.units == units(built.card.architecture) < pruned.units_before
    assert built.card.weights == pruned.weights < pruned.weights_before
    assert built.card.export_error <= 1e-5
    assert set(pruned.validation) >= {"accuracy"}
    if refit == "true":
        assert pruned.validation["accuracy"] == pytest.approx(sum(full.unpruned) / 3)
    told = built.card.pruning
    assert told is not None
    page = built.report.read_text()
    assert html.escape(f"{told[1:]}.", quote=False) in page
    assert "Units were taken out of each" in page

    whole = built.network.read_bytes()
    built.network.unlink()
    assert build_project(tmp_path).network.read_bytes() == whole
