"""Splitting rows class by class."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.data.split import Split, split_rows
from evener.errors import InvalidDataError

counts = st.lists(st.integers(3, 40), min_size=2, max_size=5)
shares = st.floats(0.01, 0.49)


def split_of(counts: list[int], validation: float, test: float, seed: int) -> Split:
    labels = np.repeat(np.arange(len(counts)), counts)
    names = [f"class {index}" for index in range(len(counts))]
    return split_rows(labels, names, validation_share=validation, test_share=test, seed=seed)


@given(counts, shares, shares, st.integers(0, 5))
def test_every_row_is_in_exactly_one_part(
    counts: list[int], validation: float, test: float, seed: int
) -> None:
    split = split_of(counts, validation, test, seed)

    together = np.concatenate([split.train, split.validation, split.test])
    assert sorted(together.tolist()) == list(range(sum(counts)))


@given(counts, shares, shares, st.integers(0, 5))
def test_every_class_has_its_share_of_each_part_and_at_least_one_row(
    counts: list[int], validation: float, test: float, seed: int
) -> None:
    split = split_of(counts, validation, test, seed)

    labels = np.repeat(np.arange(len(counts)), counts)
    for index, count in enumerate(counts):
        in_test = int((labels[split.test] == index).sum())
        in_validation = int((labels[split.validation] == index).sum())
        assert abs(in_test - count * test) <= 1
        assert abs(in_validation - count * validation) <= 1.5
        assert min(in_test, in_validation, count - in_test - in_validation) >= 1


def test_the_same_seed_gives_the_same_split_and_another_seed_another() -> None:
    first, again, other = (split_of([30, 30], 0.2, 0.2, seed) for seed in (1, 1, 2))

    assert np.array_equal(first.test, again.test)
    assert not np.array_equal(first.test, other.test)


def test_classes_too_rare_to_split_are_named_with_their_rows() -> None:
    with pytest.raises(InvalidDataError, match=r"1 of 2 classes .* 'class 1' \(2\).*Add rows"):
        split_of([9, 2], 0.2, 0.2, 0)


def test_of_many_rare_classes_the_first_are_named() -> None:
    with pytest.raises(InvalidDataError, match=r"7 of 7 classes .*'class 4' \(1\) and 2 more"):
        split_of([1] * 7, 0.2, 0.2, 0)
