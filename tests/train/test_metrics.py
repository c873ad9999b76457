"""Accuracy and macro F1."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from evener.artifacts.requirements import METRICS
from evener.train.metrics import quality, standard_error


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_both_agree_with_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    labels, answers = np.array(pairs, np.int64).T

    found = quality(labels, answers, classes=4)

    assert set(found) <= set(METRICS)
    assert found["accuracy"] == pytest.approx(accuracy_score(labels, answers))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's, about classes that never occur
        macro = f1_score(labels, answers, labels=range(4), average="macro", zero_division=0)
    assert found["f1"] == pytest.approx(macro)


def test_the_standard_error_falls_with_the_root_of_the_rows() -> None:
    assert standard_error(0.8, 400) == pytest.approx(standard_error(0.8, 100) / 2)
