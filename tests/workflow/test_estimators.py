"""Evener as estimators of scikit-learn."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, make_regression
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import evener
from evener.errors import InputError
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
        "compare",
    ):
        assert own[name] == getattr(effort, name)
