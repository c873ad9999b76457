"""The simple models that a network is held against."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from evener.artifacts.project import DataSection
from evener.data.dataset import Dataset, make_dataset
from evener.data.load import load_dataset
from evener.data.split import split_at_random
from evener.errors import EvenerError, InvalidDataError
from evener.train import baselines
from evener.train.baselines import (
    TREES,
    TrainedBaseline,
    fit_baselines,
    refit_baseline,
    train_baselines,
)
from evener.train.verify import answers

Trained = Mapping[str, TrainedBaseline]


@pytest.fixture(scope="session")
def trained(rings: Dataset, simple_models: Callable[[Dataset], Trained]) -> Trained:
    return simple_models(rings)


def test_a_line_cannot_divide_the_rings_and_a_forest_can(
    trained: Trained,
) -> None:
    assert trained["linear"].record.test["accuracy"] < 0.75
    assert trained["forest"].record.test["accuracy"] > 0.9
    assert trained["forest"].record.validation > 0.9


def test_the_file_answers_as_scikit_learn_does(rings: Dataset, trained: Trained) -> None:
    forest = RandomForestClassifier(TREES, random_state=0).fit(*rings.rows("train"))

    found = answers(trained["forest"].content, rings.features, outputs=2)

    np.testing.assert_allclose(found, forest.predict_proba(rings.features), atol=1e-5)


def test_a_refit_is_the_fit_of_a_split_without_rows_to_choose_by(
    rings: Dataset,
    known: Callable[[Dataset], Dataset],
    trained: Trained,
) -> None:
    whole = {one.record.name: one for one in train_baselines(known(rings), seed=0)}

    for name, before in trained.items():
        found = refit_baseline(before.record, rings, seed=0)

        assert found.content == whole[name].content
        assert found.content != before.content
        assert found.record.test == whole[name].record.test
        assert found.record.validation == before.record.validation


def test_a_refit_must_answer_validation_rows_with_numbers_too(
    rings: Dataset, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    known_rows, _ = rings.examples("validation")
    answer = baselines._answers

    def overflow(
        model: object, dataset: Dataset, features: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        found = answer(model, dataset, features)
        return np.full_like(found, np.inf) if np.array_equal(features, known_rows) else found

    monkeypatch.setattr(baselines, "_answers", overflow)

    with pytest.raises(InvalidDataError, match="answers to 60 of 60 validation rows of rings"):
        refit_baseline(trained["linear"].record, rings, seed=0)


def test_the_size_is_that_of_the_file(trained: Trained) -> None:
    for one in trained.values():
        assert one.record.size_bytes == len(one.content)


def test_the_same_seed_gives_the_same_files(rings: Dataset, trained: Trained) -> None:
    again = train_baselines(rings, seed=0)

    assert [one.content for one in again] == [one.content for one in trained.values()]


def test_a_card_needs_only_the_records(rings: Dataset, trained: Trained) -> None:
    assert fit_baselines(rings, seed=0) == tuple(one.record for one in trained.values())


def test_a_file_that_answers_otherwise_is_found_out(
    rings: Dataset, monkeypatch: pytest.MonkeyPatch, trained: Trained
) -> None:
    monkeypatch.setattr(baselines, "clean_bytes", lambda _: trained["forest"].content)

    with pytest.raises(EvenerError, match="file of baseline 'linear' answers otherwise"):
        train_baselines(rings, seed=0)


def test_neighbouring_values_part_in_the_file_as_in_scikit_learn() -> None:
    # The middle of the two, where boosting parts them, rounds up to the second.
    first = np.float32(1) + np.finfo(np.float32).eps
    values = np.array([first, np.nextafter(first, np.float32(2))])
    x_BF = np.tile(values, 100)[:, np.newaxis]
    y_BO = np.tile(np.array([0.0, 10.0], np.float32), 100)[:, np.newaxis]
    split = split_at_random(200, validation_share=0.2, test_share=0.2, seed=0)
    dataset = make_dataset(
        "neighbours",
        x_BF,
        y_BO,
        classes=("y",),
        feature_names=("x",),
        split=split,
        task="numbers",
    )

    boosted = train_baselines(dataset, seed=0)[2]  # which checks its file

    found = answers(boosted.content, values[:, np.newaxis], 1)
    assert found.ravel() == pytest.approx([0, 10], abs=0.5)


def test_boosting_is_left_out_where_it_would_take_too_long(
    rings: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baselines, "_ROUNDS_WORK", 1e5)

    assert [one.name for one in fit_baselines(rings, seed=0)] == ["linear", "forest"]


def test_trees_read_no_bins(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{x:.4f},{'up' if x * x > 1 else 'down'}" for x in rng.normal(size=200)]
    (tmp_path / "squares.csv").write_text("\n".join(["x,y", *rows]))
    plain, binned = (
        load_dataset(DataSection(source="squares.csv", target="y", bins=bins), tmp_path)
        for bins in (0, 8)
    )

    (linear, *trees), (bent, *same) = (train_baselines(one, seed=0) for one in (plain, binned))

    assert binned.features.shape[1] == 9
    assert [one.record.test for one in trees] == [one.record.test for one in same]
    assert bent.record.test["auc"] > linear.record.test["auc"]
