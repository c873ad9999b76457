"""Turning the target's values into class numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.data.labels import encode_labels
from evener.errors import InvalidDataError


@given(st.lists(st.sampled_from(["red", "green", "blue", "7"]), min_size=2))
def test_each_label_points_at_the_class_it_was(values: list[str]) -> None:
    values = [*values, "red", "green"]

    labels, classes = encode_labels(values, target="t", where="f")

    assert [classes[label] for label in labels] == values
    assert list(classes) == sorted(set(values))


def test_numbers_are_ordered_by_size_and_one_is_one_however_written() -> None:
    labels, classes = encode_labels(["10", "9.0", "9", "10"], target="t", where="f")

    assert classes == ("9", "10")
    assert labels.tolist() == [1, 0, 0, 1]


def test_broken_numbers_may_be_names_too() -> None:
    assert encode_labels(["1.5", "0.5"], target="t", where="f")[1] == ("0.5", "1.5")


def test_one_class_is_nothing_to_learn() -> None:
    with pytest.raises(InvalidDataError, match="'t' is 'a' in all 3 rows; nothing can be learned"):
        encode_labels(["a", "a", "a"], target="t", where="f")
