"""What a population cannot be trained by: rows and courses that are refused."""

import numpy as np
import pytest
import torch

from evener.errors import InputError, InvalidDataError
from evener.train.population.course import Course, Rows
from evener.train.population.individual import Individual
from evener.train.population.losses import LossName
from evener.train.population.training import train_population


@pytest.mark.parametrize(
    ("inputs", "wanted", "loss", "message"),
    [
        ([[1.0]], [[1.0], [0.0]], "squared", r"inputs of shape \(1, 1\) and answers of shape"),
        ([[1.0], [np.nan]], [[1.0], [0.0]], "squared", "inputs hold what is no finite number"),
        ([[1.0]], [[2.0]], "binary", "answers from 2 to 2: binary compares probabilities"),
        ([[1.0]], [[0.5]], "cross-entropy", "do not add up to 1 in each row"),
    ],
)
def test_rows_that_nothing_can_be_learned_from_are_refused(
    inputs: list[list[float]], wanted: list[list[float]], loss: LossName, message: str
) -> None:
    rows = Rows(torch.tensor(inputs), torch.tensor(wanted))

    with pytest.raises(InvalidDataError, match=message):
        train_population([Individual(widths=(1, 1))], rows, Course(loss=loss))


def test_a_course_is_checked() -> None:
    with pytest.raises(InputError, match="0 epochs of batches of 32"):
        Course(epochs=0)
    with pytest.raises(InputError, match="'hinge' is no loss of a population; choose cross"):
        Course(loss="hinge")  # type: ignore[arg-type] # what is refused
