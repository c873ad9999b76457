"""Training one architecture."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from evener.artifacts.architecture import Architecture
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.project import DataSection, TrainSection
from evener.data.dataset import Dataset
from evener.data.load import load_dataset
from evener.errors import DivergedError, InvalidDataError
from evener.train import fit
from evener.train.fit import Trained, train_network
from evener.train.model import Classifier, predict

SHORT = TrainSection(epochs=20)
SMALL = Architecture(hidden=(16,))


def test_a_hidden_layer_learns_what_a_straight_line_cannot(rings: Dataset) -> None:
    network = train_network(SMALL, rings, TrainSection(epochs=60, learning_rate=0.02))
    line = train_network(Architecture(family="linear"), rings, SHORT)

    assert network.test["accuracy"] >= 0.95
    assert line.test["accuracy"] < 0.75


@pytest.mark.parametrize("seed", [0, 1])
def test_the_defaults_reach_97_percent_on_the_digits(seed: int) -> None:
    digits = load_dataset(DataSection(source="digits", seed=seed), Path())

    trained = train_network(Architecture(hidden=(96,), activation="gelu"), digits, TrainSection())

    assert trained.test["accuracy"] >= 0.97
    assert trained.test["f1"] >= 0.97


def test_the_same_inputs_end_in_the_same_weights_whatever_ran_before(rings: Dataset) -> None:
    first = train_network(SMALL, rings, SHORT)
    torch.rand(5)
    again = train_network(SMALL, rings, SHORT)
    other = train_network(SMALL, rings, TrainSection(epochs=20, seed=1))

    assert np.array_equal(
        predict(first.model, rings.features), predict(again.model, rings.features)
    )
    assert first.test == again.test
    assert not np.array_equal(
        predict(first.model, rings.features), predict(other.model, rings.features)
    )


def test_a_refit_is_the_training_of_a_split_without_rows_to_choose_by(
    rings: Dataset, known: Callable[[Dataset], Dataset]
) -> None:
    refitted = train_network(SMALL, rings, SHORT)
    whole = train_network(SMALL, known(rings), SHORT.chooses)
    plain = train_network(SMALL, rings, SHORT.chooses)

    def answers(one: Trained) -> NDArray[np.float32]:
        return predict(one.model, rings.features)

    assert np.array_equal(answers(refitted), answers(whole))
    assert not np.array_equal(answers(refitted), answers(plain))
    assert (refitted.test, refitted.losses) == (whole.test, whole.losses)
    assert refitted.validation == {}
    assert plain.validation.keys() == plain.test.keys()


@pytest.mark.parametrize("name", ["hills", "corners"])
def test_numbers_and_labels_are_refitted_too(
    name: str, request: pytest.FixtureRequest, known: Callable[[Dataset], Dataset]
) -> None:
    dataset = request.getfixturevalue(name)
    section = TrainSection(epochs=2, class_weight="balanced")

    refitted = train_network(SMALL, dataset, section)

    assert refitted.test == train_network(SMALL, known(dataset), section.chooses).test


def test_it_tells_of_every_epoch_and_the_loss_falls(rings: Dataset) -> None:
    told: list[tuple[int, float]] = []

    train_network(SMALL, rings, SHORT, on_epoch=lambda epoch, loss: told.append((epoch, loss)))

    assert [epoch for epoch, _ in told] == list(range(1, 21))
    assert told[-1][1] < told[0][1]


def test_torch_has_its_threads_back_afterwards_even_after_a_failure(rings: Dataset) -> None:
    inside: list[int] = []

    def fail(epoch: int, loss: float) -> None:
        inside.append(torch.get_num_threads())
        raise KeyError(epoch, loss)

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(KeyError):
            train_network(SMALL, rings, SHORT, on_epoch=fail)

        assert inside == [1]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("epochs", [1, 2])
def test_one_step_per_epoch_is_enough(rings: Dataset, epochs: int) -> None:
    section = TrainSection(epochs=epochs, batch=10_000)

    assert 0 <= train_network(SMALL, rings, section).test["accuracy"] <= 1


def test_a_divergence_names_the_epoch_and_the_learning_rate(rings: Dataset) -> None:
    with pytest.raises(
        DivergedError, match=r"diverged in epoch \d+ of 20: the loss is .*Lower train.learning_rate"
    ) as caught:
        train_network(SMALL, rings, TrainSection(epochs=20, learning_rate=1e30))
    assert caught.value.epoch >= 1


@pytest.mark.parametrize(
    ("part", "refit"), [("validation", False), ("test", False), ("test", True)]
)
def test_answers_that_are_no_numbers_are_refused_with_their_feature(
    rings: Dataset, part: str, refit: bool
) -> None:
    features = rings.features.copy()
    features[getattr(rings.split, part)[0], 1] = 3e38  # far beyond what was learned from
    far = replace(rings, features=features)

    with pytest.raises(
        InvalidDataError, match=rf"the answers to 1 of 60 {part} rows of rings .* 'y' is 3e\+38"
    ):
        train_network(
            LayerGraph(widths=(8,), links=((0, 1), (1, 2))),
            far,
            TrainSection(epochs=2, refit=refit),
        )


def test_numbers_are_refused_so_too(hills: Dataset) -> None:
    features = hills.features.copy()
    features[hills.split.validation[0], 1] = 3e38

    with pytest.raises(InvalidDataError, match=r"1 of 80 validation rows of hills .* 'y' is 3e"):
        train_network(
            LayerGraph(widths=(8,), links=((0, 1), (1, 2))),
            replace(hills, features=features),
            TrainSection(epochs=2, refit=False),
        )


def test_a_refit_must_answer_validation_rows_with_numbers_too(
    rings: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    known_rows, _ = rings.examples("validation")

    def overflow(model: Classifier, features: NDArray[np.float32]) -> NDArray[np.float32]:
        found = predict(model, features)
        return np.full_like(found, np.inf) if np.array_equal(features, known_rows) else found

    monkeypatch.setattr(fit, "predict", overflow)

    with pytest.raises(InvalidDataError, match="answers to 60 of 60 validation rows of rings"):
        train_network(SMALL, rings, TrainSection(epochs=1))
