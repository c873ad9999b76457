"""The metrics of each task, and their standard errors."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn import metrics as sk

from evener.artifacts.dataset import MAIN_METRIC, TASK_METRICS, Task
from evener.artifacts.requirements import METRICS
from evener.train.metrics import quality, standard_error

ROWS, OUTPUTS = 12, 4
numbers = arrays(np.float64, (ROWS, OUTPUTS), elements=st.floats(-9, 9, width=16))
there = arrays(np.float64, (ROWS, OUTPUTS), elements=st.sampled_from([0.0, 1.0]))
chances = arrays(np.float64, (ROWS, OUTPUTS), elements=st.floats(0.01, 0.99))
classes = arrays(np.int64, ROWS, elements=st.integers(0, OUTPUTS - 1))


@given(classes, chances)
def test_those_of_classes_are_scikit_learns(
    labels: NDArray[np.int64], answers: NDArray[np.float64]
) -> None:
    answers /= answers.sum(axis=1, keepdims=True)
    predicted = answers.argmax(axis=1)

    found = quality("classes", np.eye(OUTPUTS)[labels], answers)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's, about classes that never occur
        macro = sk.f1_score(
            labels, predicted, labels=range(OUTPUTS), average="macro", zero_division=0
        )
        balanced = sk.balanced_accuracy_score(labels, predicted)
    assert found["accuracy"] == pytest.approx(sk.accuracy_score(labels, predicted))
    assert found["balanced_accuracy"] == pytest.approx(balanced)
    assert found["f1"] == pytest.approx(macro)
    assert found["log_loss"] == pytest.approx(sk.log_loss(labels, answers, labels=range(OUTPUTS)))
    if len(set(labels.tolist())) == OUTPUTS:
        auc = sk.roc_auc_score(labels, answers, multi_class="ovr", average="macro")
        assert found["auc"] == pytest.approx(auc)


@given(there, chances)
def test_those_of_labels_are_scikit_learns(
    wanted: NDArray[np.float64], answers: NDArray[np.float64]
) -> None:
    predicted = (answers >= 0.5).astype(int)

    found = quality("labels", wanted, answers)

    assert found["accuracy"] == pytest.approx(sk.accuracy_score(wanted, predicted))
    assert found["f1"] == pytest.approx(
        sk.f1_score(wanted, predicted, average="macro", zero_division=0)
    )
    losses = [sk.log_loss(wanted[:, i], answers[:, i], labels=[0, 1]) for i in range(OUTPUTS)]
    assert found["log_loss"] == pytest.approx(np.mean(losses))


@given(numbers, numbers)
def test_those_of_numbers_are_scikit_learns(
    wanted: NDArray[np.float64], answers: NDArray[np.float64]
) -> None:
    found = quality("numbers", wanted, answers)

    assert found["mae"] == pytest.approx(sk.mean_absolute_error(wanted, answers))
    assert found["rmse"] == pytest.approx(sk.root_mean_squared_error(wanted, answers))
    if wanted.std(axis=0).min() > 0.1:
        assert found["r2"] == pytest.approx(sk.r2_score(wanted, answers))


def test_what_is_the_same_in_all_rows_has_no_variance_to_explain() -> None:
    assert quality("numbers", np.ones((3, 1)), np.zeros((3, 1)))["r2"] == 0


@pytest.mark.parametrize("task", ["classes", "labels", "numbers"])
def test_each_can_be_required_and_one_is_the_main_one(task: Task) -> None:
    wanted = np.eye(2)[[0, 1, 1]]

    found = quality(task, wanted, wanted)

    assert set(found) == set(TASK_METRICS[task]) <= set(METRICS)
    assert MAIN_METRIC[task] in found
    assert found[MAIN_METRIC[task]] == 1


def test_where_every_row_is_of_one_class_there_is_no_curve() -> None:
    assert "auc" not in quality("classes", np.eye(2)[[1, 1]], np.eye(2)[[1, 0]])


@pytest.mark.parametrize("task", ["classes", "labels", "numbers"])
def test_the_standard_error_is_the_spread_over_samples_of_rows(task: Task) -> None:
    rng = np.random.default_rng(0)
    wanted = np.eye(2)[rng.integers(0, 2, 20_000)]
    answers = np.clip(wanted + rng.normal(0, 0.7, wanted.shape), 0, 1)
    samples = rng.permutation(20_000).reshape(100, 200)

    spread = np.std([quality(task, wanted[s], answers[s])[MAIN_METRIC[task]] for s in samples])

    mean = np.mean([standard_error(task, wanted[s], answers[s]) for s in samples])
    assert mean == pytest.approx(spread, rel=0.25)
