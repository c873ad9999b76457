"""Splitting rows class by class."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.data.split import (
    TEST,
    TRAIN,
    VALIDATION,
    Split,
    split_as_given,
    split_at_random,
    split_rows,
)
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


def test_a_class_of_two_rows_is_not_chosen_by_and_one_of_one_is_learned_only() -> None:
    labels = np.repeat([0, 1, 2, 3], [9, 9, 2, 1])

    split = split_of([9, 9, 2, 1], 0.2, 0.2, 0)

    assert set(labels[split.train].tolist()) == {0, 1, 2, 3}
    assert set(labels[split.validation].tolist()) == {0, 1}
    assert set(labels[split.test].tolist()) == {0, 1, 2}


def test_where_all_classes_but_one_are_too_rare_they_are_named_with_their_rows() -> None:
    with pytest.raises(InvalidDataError, match=r"1 of 2 classes has 3 rows .* 'class 1' \(2\); tr"):
        split_of([9, 2], 0.2, 0.2, 0)


def test_of_many_rare_classes_the_first_are_named() -> None:
    with pytest.raises(InvalidDataError, match=r"0 of 7 classes .*'class 4' \(1\) and 2 more"):
        split_of([1] * 7, 0.2, 0.2, 0)


@given(st.integers(3, 60), shares, shares)
def test_rows_without_classes_are_all_in_one_part(
    rows: int, validation: float, test: float
) -> None:
    split = split_at_random(rows, validation_share=validation, test_share=test, seed=0)

    together = np.concatenate([split.train, split.validation, split.test])
    assert sorted(together.tolist()) == list(range(rows))
    assert min(len(split.train), len(split.validation), len(split.test)) >= 1


def test_two_rows_cannot_be_split() -> None:
    with pytest.raises(InvalidDataError, match="2 rows; training, validation and test need one"):
        split_at_random(2, validation_share=0.2, test_share=0.2, seed=0)


def test_a_split_that_came_with_the_rows_is_kept_whole() -> None:
    parts = np.array([TEST, TRAIN, VALIDATION, TRAIN])

    split = split_as_given(parts, None, validation_share=0.5, seed=0)

    assert split.train.tolist() == [1, 3]
    assert split.validation.tolist() == [2]
    assert split.test.tolist() == [0]


def test_without_rows_to_choose_by_each_class_gives_some_of_its_training_rows() -> None:
    parts = np.repeat([TRAIN, TEST], [41, 10])
    labels = np.concatenate([np.repeat([0, 1, 2], [30, 10, 1]), np.zeros(10, np.int64)])

    split = split_as_given(parts, labels, validation_share=0.2, seed=0)

    assert np.bincount(labels[split.validation], minlength=3).tolist() == [6, 2, 0]
    assert np.bincount(labels[split.train], minlength=3).tolist() == [24, 8, 1]
    assert split.test.tolist() == list(range(41, 51))


@pytest.mark.parametrize(
    "parts",
    [
        [TRAIN] * 5,
        [TEST] * 5,
        [TRAIN] + [TEST] * 4,
        [VALIDATION] * 3 + [TEST] * 2,
    ],
)
def test_a_split_that_lacks_a_part_is_refused(parts: list[int]) -> None:
    with pytest.raises(InvalidDataError, match="to train on and"):
        split_as_given(np.array(parts), None, validation_share=0.2, seed=0)


@pytest.mark.parametrize(
    ("train", "why"),
    [([0, 1], "no class has a training row to spare"), ([0] * 4, "all 3 rows to train on are of")],
)
def test_training_rows_that_nothing_can_be_chosen_by_or_told_apart_by_are_refused(
    train: list[int], why: str
) -> None:
    parts = np.repeat([TRAIN, TEST], [len(train), 2])
    labels = np.array([*train, 0, 1])

    with pytest.raises(InvalidDataError, match=why):
        split_as_given(parts, labels, validation_share=0.2, seed=0)
