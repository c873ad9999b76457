"""Evener as estimators of scikit-learn."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import (
    load_digits,
    load_iris,
    make_multilabel_classification,
    make_regression,
)
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold, cross_val_predict, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import evener
from evener.artifacts.networks import Ends, macs, weights
from evener.artifacts.project import DataSection, TrainSection
from evener.data.load import load_dataset
from evener.errors import InputError
from evener.train.exact import exact_answers
from evener.train.fit import train_network
from evener.train.verify import answers
from evener.workflow.estimators import EvenerClassifier, EvenerRegressor
from evener.workflow.fitting import Effort

TINY: dict[str, Any] = {
    "networks": 2,
    "trial_epochs": 2,
    "epochs": 20,
    "batch_size": 16,
    "learning_rate": 0.02,
    "depth": 1,
    "widths": (16, 32),
    "random_state": 0,
}
# Rules are kept by what is tried once and trained as briefly as the bars on the score allow.
ONCE: dict[str, Any] = TINY | {"networks": 1, "trial_epochs": 1, "epochs": 8, "learning_rate": 0.05}


@parametrize_with_checks(  # type: ignore[untyped-decorator] # scikit-learn has no types
    [EvenerClassifier(**ONCE), EvenerRegressor(**ONCE)]
)
def test_scikit_learns_rules_hold(estimator: object, check: Any) -> None:  # noqa: ANN401 - scikit-learn's
    check(estimator)


def test_a_search_finds_a_network_that_tells_digits_apart() -> None:
    x, y = load_digits(return_X_y=True)

    x, others, y, wanted = train_test_split(x, y, random_state=0, stratify=y)
    found = EvenerClassifier(networks=4, epochs=20, random_state=0).fit(x, y)

    assert found.score(others, wanted) > 0.95
    assert found.predict_proba(x[:3]).sum(axis=1) == pytest.approx(1)
    assert len(found.network_.widths) <= 3


def test_a_search_finds_a_network_that_predicts_several_numbers() -> None:
    x, y = make_regression(300, 8, n_targets=2, noise=1.0, random_state=0)

    found = EvenerRegressor(networks=3, random_state=0).fit(x, y)

    assert found.predict(x).shape == (300, 2)
    assert found.score(x, y) > 0.95


def test_labels_are_answered_as_the_pipeline_answers_them(tmp_path: Path) -> None:
    x, y = make_multilabel_classification(120, 6, n_classes=3, random_state=0)
    head = ",".join([*(f"number {one}" for one in range(6)), "a", "b", "c"])
    np.savetxt(tmp_path / "rows.csv", np.hstack([x, y]), "%g", ",", header=head, comments="")
    section = DataSection(source="rows.csv", target=("a", "b", "c"))
    dataset = load_dataset(section, tmp_path)
    rows, labels = dataset.examples("train", "validation")

    found = EvenerClassifier(**TINY).fit(rows, labels.astype(int))
    trained = train_network(
        found.network_,
        dataset,
        TrainSection(epochs=20, batch=16, learning_rate=0.02, seed=found.trained_.section.seed),
    )

    assert dataset.task == "labels"
    np.testing.assert_array_equal(
        found.predict_proba(rows), exact_answers(trained, rows.astype(np.float64))
    )
    others, wanted = dataset.examples("test")
    predicted = found.predict(others)
    assert np.array_equal(predicted, found.predict_proba(others) >= 0.5)
    assert f1_score(wanted, predicted, average="macro") == pytest.approx(trained.test["f1"])
    assert found.front_.metric == "f1"


@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision", "f1_macro"])
def test_two_labels_are_scored_as_labels(scoring: str) -> None:
    x, y = make_multilabel_classification(60, 6, n_classes=2, random_state=0)

    scores = cross_val_score(EvenerClassifier(**TINY), x, y, cv=2, scoring=scoring)

    assert np.isfinite(scores).all()


def test_probabilities_of_labels_are_cross_validated() -> None:
    x, y = make_multilabel_classification(60, 6, n_classes=3, random_state=0)
    halves = KFold(2)
    train, test = next(iter(halves.split(x)))

    found = cross_val_predict(EvenerClassifier(**TINY), x, y, cv=halves, method="predict_proba")

    alone = EvenerClassifier(**TINY).fit(x[train], y[train]).predict_proba(x[test])
    np.testing.assert_array_equal(found[test], alone)


@pytest.mark.parametrize("kind", [bool, int, np.float32])
def test_labels_are_answered_in_the_type_that_they_came_in(kind: type) -> None:
    x, y = make_multilabel_classification(60, 6, n_classes=2, random_state=0)

    found = EvenerClassifier(**TINY).fit(x, y.astype(kind))

    assert found.predict(x).dtype == kind
    assert found.score(x, y) > 0.5


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([[0, 1], [2, 1]], "y of 2 columns holds more than 0 and 1: give one class a row"),
        ([[2, 3], [3, 2]], "y of 2 columns holds more than 0 and 1"),
        ([["a", "b"], ["c", "d"]], "y of 2 columns holds more than 0 and 1"),
        (csr_array([[0, 1], [1, 1]]), r"y is sparse: give labels as an array, y.toarray\(\)"),
    ],
)
def test_columns_that_are_no_labels_are_refused(columns: Any, message: str) -> None:  # noqa: ANN401 - as users do
    with pytest.raises(InputError, match=message):
        EvenerClassifier(**TINY).fit([[0.0], [1.0]], columns)


@pytest.mark.parametrize("cost", ["macs", "weights", ("weights", "macs"), ["macs"]])
def test_the_front_is_of_the_error_and_the_costs(cost: Any) -> None:  # noqa: ANN401 - as users do
    x, y = load_iris(return_X_y=True)
    costs = [cost] if isinstance(cost, str) else list(cost)
    count = {"macs": macs, "weights": weights}
    ends = Ends(features=4, outputs=3)

    found = EvenerClassifier(**{**TINY, "networks": 8, "depth": 2}, cost=cost).fit(x, y)

    front = found.front_
    assert front.objectives == ("error", *costs)
    assert len(front.scored) == 8
    for one in front.scored:
        error, *told = one.objectives
        assert one.score.quality == pytest.approx(1 - error)
        assert told == [count[name](one.architecture, ends) for name in costs]
    rivals = {one.score.id: one.objectives for one in front.scored}
    for id_ in front.front:
        assert not any(
            other != rivals[id_] and all(np.less_equal(other, rivals[id_]))
            for other in rivals.values()
        )
    best = min(rivals[id_] for id_ in front.front)
    assert (rivals[front.chosen], front.architecture) == (best, found.network_)


def test_the_same_seed_finds_the_same_network_and_another_may_not() -> None:
    x, y = load_iris(return_X_y=True)

    def probabilities(seed: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
        return EvenerClassifier(**{**TINY, "random_state": seed}).fit(x, y).predict_proba(x)

    np.testing.assert_array_equal(probabilities(1), probabilities(1))
    assert not np.array_equal(probabilities(1), probabilities(2))


def test_it_takes_part_in_pipelines_and_cross_validation() -> None:
    x, names = load_iris(return_X_y=True, as_frame=False)
    y = np.array(["setosa", "versicolor", "virginica"])[names]

    scores = cross_val_score(make_pipeline(StandardScaler(), EvenerClassifier(**TINY)), x, y, cv=3)

    assert scores.mean() > 0.8


def test_the_onnx_file_answers_as_the_estimator_does(tmp_path: Path) -> None:
    x, y = load_iris(return_X_y=True)
    found = EvenerClassifier(**TINY).fit(x, y)

    content = found.to_onnx()

    np.testing.assert_allclose(
        answers(content, x.astype(np.float32), 3), found.predict_proba(x), atol=1e-5
    )
    path = tmp_path / "iris.onnx"
    path.write_bytes(content)
    assert evener.load_network(path, shapes={"features": (1, 4)}).outputs[0].shape == (1, 3)


def test_a_pickled_estimator_answers_the_same() -> None:
    x, y = load_iris(return_X_y=True)
    found = EvenerClassifier(**TINY).fit(x, y)

    again = pickle.loads(pickle.dumps(found))  # noqa: S301 - made here

    np.testing.assert_array_equal(found.predict_proba(x), again.predict_proba(x))


def test_a_search_is_compared_with_random_search_and_a_fixed_network() -> None:
    x, y = load_iris(return_X_y=True)

    alone = EvenerClassifier(**TINY).fit(x, y)
    beside = EvenerClassifier(**TINY, compare=True).fit(x, y)

    assert set(alone.qualities_) == {"search"}
    assert list(beside.qualities_) == ["search", "random search", "fixed network"]
    assert all(0 < one <= 1 for one in beside.qualities_.values())
    assert beside.qualities_["search"] == alone.qualities_["search"]
    np.testing.assert_array_equal(alone.predict_proba(x), beside.predict_proba(x))


def test_a_budget_of_no_time_still_tries_one_network() -> None:
    x, y = load_iris(return_X_y=True)

    found = EvenerClassifier(**{**TINY, "networks": 1000, "budget_s": 0.0}).fit(x, y)

    assert found.score(x, y) > 0.5


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"learning_rate": 1e38}, r"each of 2 networks diverged: lower learning_rate=1e\+38"),
        ({"learning_rate": 1e30}, r"training diverged in epoch 1 of 20: lower learning_rate=1e"),
    ],
)
def test_a_divergence_names_the_learning_rate(changed: dict[str, Any], message: str) -> None:
    x, y = load_iris(return_X_y=True)

    with pytest.raises(InputError, match=message):
        EvenerClassifier(**{**TINY, **changed}).fit(x, y)


@pytest.mark.parametrize(
    ("rows", "wanted", "message"),
    [
        ([[1e39], [1.0], [2.0]], [1.0, 2.0, 3.0], r"features up to 1e\+39 are infinite in single"),
        ([[1.0], [2.0], [3.0]], [1.0, -1e39, 3.0], r"answers up to 1e\+39 are infinite in single"),
    ],
)
def test_numbers_beyond_single_precision_are_refused(
    rows: list[list[float]], wanted: list[float], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        EvenerRegressor(**TINY).fit(rows, wanted)


def test_a_share_of_nearly_all_rows_leaves_one_to_learn_from() -> None:
    x, y = load_iris(return_X_y=True)

    found = EvenerClassifier(**{**TINY, "validation_share": 0.9999}).fit(x, y)

    assert found.predict(x).shape == (150,)


def test_the_defaults_are_those_of_the_search() -> None:
    effort = Effort()
    own = EvenerClassifier().get_params()

    for name in (
        "networks",
        "budget_s",
        "depth",
        "widths",
        "trial_epochs",
        "epochs",
        "batch_size",
        "learning_rate",
        "cost",
        "compare",
    ):
        assert own[name] == getattr(effort, name)
