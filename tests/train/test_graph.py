"""A graph of layers as a torch module, trained and exported."""

import msgspec
import numpy as np
import onnx
import pytest
import torch

from evener.artifacts.architecture import Architecture
from evener.artifacts.layer_graph import Activation, LayerGraph, Recipe, Spread
from evener.artifacts.networks import Network
from evener.artifacts.project import TrainSection
from evener.data.dataset import Dataset
from evener.errors import DivergedError, InputError
from evener.train.export import export_onnx
from evener.train.fit import train_network
from evener.train.graph import GraphLayers
from evener.train.head import Head
from evener.train.leave_out import LeaveOut
from evener.train.model import Classifier, predict
from evener.train.population.answers import answer_population
from evener.train.population.decoded import individual_of
from evener.train.population.weights import draw_weights
from evener.train.verify import verify_export

SKIPPING = LayerGraph(widths=(8, 4), links=((0, 1), (0, 2), (1, 2), (1, 3), (2, 3)))
X_BF = np.random.default_rng(0).normal(5, 3, (50, 4)).astype(np.float32)


@pytest.mark.parametrize("activation", ["relu", "tanh", "gelu", "sigmoid"])
def test_it_computes_what_the_population_computes(activation: Activation) -> None:
    graph = LayerGraph(widths=SKIPPING.widths, links=SKIPPING.links, activation=activation)
    individual = individual_of(graph, 4, 3, seed=5, weight_variance=1.5, bias_variance=0.1)
    x_BF = torch.from_numpy(X_BF)
    spread = Spread(weight_variance=1.5, bias_variance=0.1)

    found = GraphLayers(graph, 4, 3, seed=5, spread=spread)(x_BF)

    [expected] = answer_population([individual], [draw_weights(individual)], x_BF, "squared")
    torch.testing.assert_close(found, expected)


def classes(count: int) -> Head:
    return Head("classes", np.eye(count, dtype=np.float32))


def test_the_graph_counts_the_weights_that_there_are() -> None:
    model = Classifier(SKIPPING, X_BF, classes(3), seed=0)

    assert sum(one.numel() for one in model.parameters()) == SKIPPING.weights(4, 3)


def test_weights_come_from_the_seed_alone() -> None:
    state = torch.random.get_rng_state()

    one, same, other = (Classifier(SKIPPING, X_BF, classes(2), seed=seed) for seed in (1, 1, 2))

    assert np.array_equal(predict(one, X_BF), predict(same, X_BF))
    assert not np.array_equal(predict(one, X_BF), predict(other, X_BF))
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize(
    "recipe",
    [
        None,
        Recipe(optimiser="adam", learning_rate=0.02),
        Recipe(optimiser="sgd", learning_rate=0.05, momentum=0.9, weight_decay=1e-5),
    ],
)
def test_it_learns_and_its_file_answers_alike(rings: Dataset, recipe: Recipe | None) -> None:
    graph = LayerGraph(widths=(16, 8), links=SKIPPING.links, recipe=recipe)

    trained = train_network(graph, rings, TrainSection(epochs=60, learning_rate=0.02))

    content = export_onnx(trained)
    assert trained.test["accuracy"] >= 0.95
    assert verify_export(content, trained, rings) <= 1e-5
    operators = [node.op_type for node in onnx.load_from_string(content).graph.node]
    assert operators.count("Gemm") == 3
    assert operators.count("Concat") == 2


@pytest.mark.parametrize("network", [SKIPPING, Architecture(hidden=(8, 4))])
def test_units_are_left_out_of_training_alone(rings: Dataset, network: Network) -> None:
    section = TrainSection(epochs=3, dropout=0.5)

    one, same, whole = (
        train_network(network, rings, each)
        for each in (section, section, msgspec.structs.replace(section, dropout=0.0))
    )

    assert one.losses == same.losses != whole.losses
    content = export_onnx(one)
    assert content == export_onnx(same)
    assert verify_export(content, one, rings) <= 1e-5


def test_left_out_units_are_drawn_anew_and_keep_the_mean() -> None:
    layer, values = LeaveOut(0.25, seed=0), torch.ones(100, 100)

    first, second = layer(values), layer(values)

    assert first.unique().tolist() == pytest.approx([0, 4 / 3])
    assert float(first.mean()) == pytest.approx(1, abs=0.02)
    assert not torch.equal(first, second)
    assert layer.eval()(values) is values


def test_a_rate_that_evolved_and_is_too_high_is_named(rings: Dataset) -> None:
    graph = LayerGraph(widths=(16,), links=((0, 1), (1, 2)), recipe=Recipe(learning_rate=1e30))

    with pytest.raises(DivergedError, match=r"learning rate, which is 1e\+30"):
        train_network(graph, rings, TrainSection(epochs=2))


def test_a_layer_that_nothing_feeds_is_refused() -> None:
    loose = LayerGraph(widths=(8, 4), links=((0, 1), (1, 3), (2, 3)))

    with pytest.raises(InputError, match="a layer that nothing feeds; leave out"):
        Classifier(loose, X_BF, classes(2), seed=0)
