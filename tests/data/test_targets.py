"""Finding which task a target is, and what each row is to be answered."""

import numpy as np
import pytest

from evener.artifacts.dataset import Task
from evener.data.cells import Column
from evener.data.targets import Targets, find_targets
from evener.errors import InvalidDataError


def found(task: Task | None = None, separator: str | None = None, **columns: Column) -> Targets:
    return find_targets(columns, task=task, separator=separator, where="a.csv")


def test_texts_are_classes() -> None:
    targets = found(t=["yes", "no", "yes"])

    assert (targets.task, targets.classes, targets.answers.tolist()) == (
        *("classes", ("no", "yes")),
        [1, 0, 1],
    )


@pytest.mark.parametrize(
    ("numbers", "task"),
    [
        ([0.0, 1.0] * 10, "classes"),
        (list(range(20)) * 2, "classes"),
        (list(range(21)) * 2, "numbers"),
        (list(range(100)) * 10, "classes"),  # a run without gaps, ten of each
        (list(range(0, 200, 2)) * 10, "numbers"),
        ([0.5, 1.0, 1.5] * 5, "numbers"),
    ],
)
def test_whole_numbers_that_come_again_are_classes_and_others_numbers(
    numbers: list[float], task: Task
) -> None:
    assert found(t=np.array(numbers, np.float64)).task == task


def test_a_project_may_say_which_task_it_is() -> None:
    assert found("numbers", t=["1", "2"]).answers.tolist() == [[1], [2]]
    assert found("classes", t=["0.5", "1.5"]).classes == ("0.5", "1.5")


def test_several_columns_of_0_and_1_are_labels_and_others_numbers() -> None:
    assert found(a=["0", "1"], b=["1", "0"]).task == "labels"
    assert found(a=["0", "1"], b=["1", "2"]).task == "numbers"


def test_a_separator_makes_labels_of_one_column() -> None:
    targets = found(t=["a b", "b", "", "c"], separator=" ")

    assert (targets.task, targets.classes) == ("labels", ("a", "b", "c"))
    assert targets.answers.tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert targets.rows.tolist() == [0, 1, 3]
    assert targets.notes == ("1 row without a target left out",)


def test_classes_of_a_separated_column_are_those_of_rows_with_one() -> None:
    targets = found("classes", t=["a b", "b", "", "c"], separator=" ")

    assert (targets.classes, targets.rows.tolist()) == (("b", "c"), [1, 3])
    assert targets.notes == ("2 rows without exactly one 't' left out",)


def test_rows_without_a_target_are_left_out_with_a_note() -> None:
    targets = found(t=["1.5", "", "2.5"])

    assert targets.rows.tolist() == [0, 2]
    assert targets.notes == ("1 row without a target left out",)


@pytest.mark.parametrize(
    ("columns", "task", "message"),
    [
        ({"t": ["", " "]}, None, "no row has a value of the target 't'"),
        ({"t": ["a", "b"]}, "numbers", "'t' holds texts, and the task numbers needs numbers"),
        ({"a": ["1", "0"], "b": ["x", "y"]}, None, "'b' holds texts, and the task of several"),
        ({"t": ["1", "2"]}, "labels", "'t' is 2 in some rows, and a label is 1 where"),
        ({"t": ["1.5", "1.5"]}, None, "'t' is 1.5 in all 2 rows; there is nothing to learn"),
        ({"t": ["1.5", "inf"]}, None, "'t' is infinite in some rows"),
    ],
)
def test_a_target_that_does_not_fit_says_why(
    columns: dict[str, Column], task: Task | None, message: str
) -> None:
    with pytest.raises(InvalidDataError, match=message):
        find_targets(columns, task=task, separator=None, where="a.csv")


def test_a_separator_is_for_one_target() -> None:
    with pytest.raises(InvalidDataError, match="divides the labels of one target"):
        found(a=["1"], b=["2"], separator=" ")
