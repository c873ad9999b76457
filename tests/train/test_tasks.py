"""Numbers and labels go all the way: trained, written, run and held against simple models."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from onnx import load_from_string

from evener.artifacts.architecture import Architecture
from evener.artifacts.layer_graph import LayerGraph, Spread
from evener.artifacts.project import DataSection, TrainSection
from evener.artifacts.train_section import ClassWeight
from evener.comm.alone import Alone
from evener.data.dataset import Dataset
from evener.data.load import load_dataset
from evener.errors import InputError
from evener.train.baselines import TrainedBaseline, train_baselines
from evener.train.card import make_card
from evener.train.export import export_onnx
from evener.train.fit import train_network
from evener.train.sharded_fit import fit_sharded
from evener.train.trials import Terms, Trial, score_together
from evener.train.verify import answers, verify_export

CLASS_WEIGHTS: tuple[ClassWeight, ClassWeight] = ("none", "balanced")
MLP = Architecture(hidden=(32, 32))
TRAIN = TrainSection(epochs=60, learning_rate=0.01)


def test_a_network_learns_numbers_and_answers_them_in_their_own_units(hills: Dataset) -> None:
    trained = train_network(MLP, hills, TRAIN)
    content = export_onnx(trained)

    assert trained.test["r2"] > 0.9
    assert trained.test["mae"] < 300  # of heights around 5000
    assert verify_export(content, trained, hills) < 1e-5
    found = answers(content, hills.features[:5], outputs=2)
    assert np.abs(found[:, 0] - hills.targets[:5, 0]).max() < 1000
    assert [one.name for one in load_from_string(content).graph.output] == ["values"]


def test_a_network_learns_several_labels_of_a_row(corners: Dataset) -> None:
    trained = train_network(MLP, corners, TRAIN)
    content = export_onnx(trained)

    assert trained.test["f1"] > 0.9
    assert trained.test["auc"] > 0.95
    assert verify_export(content, trained, corners) < 1e-5
    assert [one.name for one in load_from_string(content).graph.output] == ["probabilities"]
    card = make_card(trained, corners, content, export_error=0.0, baselines=())
    assert (card.task, card.classes) == ("labels", ("right", "above", "both"))


def test_balanced_classes_are_found_more_often(rings: Dataset) -> None:
    rare = np.flatnonzero((rings.labels == 0) | (np.arange(len(rings.labels)) % 10 == 1))
    train = np.intersect1d(rings.split.train, rare)
    skewed = replace(rings, split=replace(rings.split, train=train))
    section = TrainSection(epochs=20)

    plain = train_network(MLP, skewed, section)
    balanced = train_network(MLP, skewed, msgspec.structs.replace(section, class_weight="balanced"))

    assert balanced.test["balanced_accuracy"] > plain.test["balanced_accuracy"]


@pytest.mark.parametrize("name", ["hills", "corners"])
def test_simple_models_learn_them_too_and_leave_as_onnx(
    name: str,
    simple_models: Callable[[Dataset], Mapping[str, TrainedBaseline]],
    request: pytest.FixtureRequest,
) -> None:
    dataset: Dataset = request.getfixturevalue(name)
    metric = {"hills": "r2", "corners": "f1"}[name]

    found = simple_models(dataset)

    assert list(found) == ["linear", "forest", "boosting"]
    assert found["forest"].record.test[metric] > found["linear"].record.test[metric]
    assert found["boosting"].record.test[metric] > 0.7
    assert answers(found["forest"].content, dataset.features[:3], dataset.outputs).shape == (
        3,
        dataset.outputs,
    )


def test_a_label_that_no_training_row_has_is_never_answered(corners: Dataset) -> None:
    targets = corners.targets.copy()
    targets[corners.split.train, 2] = 0

    for one in train_baselines(replace(corners, targets=targets), seed=0):
        given = answers(one.content, corners.features[:3], corners.outputs)
        assert given[:, 2].tolist() == [0, 0, 0], one.record.name


@pytest.mark.parametrize("name", ["hills", "corners"])
def test_a_search_scores_them_by_their_main_metric(
    name: str, request: pytest.FixtureRequest
) -> None:
    dataset: Dataset = request.getfixturevalue(name)

    graph = LayerGraph(widths=MLP.hidden, links=((0, 1), (1, 2), (2, 3)))
    terms = Terms(epochs=30, batch=TRAIN.batch, learning_rate=TRAIN.learning_rate, seed=0)

    (score,) = score_together([Trial(network=graph, spread=Spread())], dataset, terms)

    assert score.quality is not None
    assert score.quality > 0.7
    assert 0 < score.quality_error < 0.1


def test_ranks_and_shards_say_that_they_train_classes_only(hills: Dataset) -> None:
    with pytest.raises(InputError, match="hills: ranks and shards train .* task is numbers; train"):
        fit_sharded(MLP, hills, TrainSection(epochs=1), Alone())


def test_words_are_learned_by_the_simple_models_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        f"{rng.choice(['the', 'this', 'one'])} {word} {rng.choice(['film', 'plot'])},{word}"
        for word in ("good", "bad")
        for _ in range(60)
    ]
    (tmp_path / "texts.csv").write_text("\n".join(["text,label", *rows]))
    dataset = load_dataset(DataSection(source="texts.csv", text="text"), tmp_path)

    found = train_baselines(dataset, seed=0)

    assert [one.record.test["accuracy"] for one in found] == [1, 1, 1]


def test_rare_classes_weigh_in_simple_models_as_well(rings: Dataset) -> None:
    rare = np.flatnonzero((rings.labels == 0) | (np.arange(len(rings.labels)) % 10 == 1))
    skewed = replace(
        rings, split=replace(rings.split, train=np.intersect1d(rings.split.train, rare))
    )

    plain, balanced = (
        train_baselines(skewed, seed=0, class_weight=weight)[0].record.test["f1"]
        for weight in CLASS_WEIGHTS
    )

    assert balanced > plain
