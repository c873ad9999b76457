"""Answers held against ONNX Runtime's."""

from collections.abc import Sequence

import numpy as np
import pytest

from evener.artifacts.tensor import Tensor
from evener.errors import RuntimeFailedError
from evener.runtime import pinning, trial
from evener.runtime.session import Array
from evener.testing import tiny


class Answering:
    """A session that answers the same to whatever it is given."""

    inputs: tuple[Tensor, ...] = ()

    def __init__(self, *answers: Array) -> None:
        self.answers = answers
        self.outputs = tuple(
            Tensor(name=f"y{index}", shape=one.shape, dtype=one.dtype.name)
            for index, one in enumerate(answers)
        )

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        del inputs
        for output, answer in zip(outputs, self.answers, strict=True):
            np.copyto(output, answer)

    def close(self) -> None:
        """Nothing to give back."""


def check(found: Array, right: Array) -> None:
    trial.check(Answering(found), (), [right], runtime="some")


def test_the_reference_is_the_answer_of_the_formula_and_leaves_the_thread_where_it_was() -> None:
    (x,) = tiny.frames(1, shape=(2, 3))[0]
    before = pinning.thread_cores()

    relu, handed_on = trial.reference(tiny.passing(), (x,))

    np.testing.assert_array_equal(relu, np.maximum(x, 0))
    np.testing.assert_array_equal(handed_on, x)
    assert pinning.thread_cores() == before


def test_small_errors_are_allowed_relative_to_the_largest_value() -> None:
    right = np.array([1000.0, 0.0], np.float32)

    check(right + np.float32(0.09), right)
    with pytest.raises(
        RuntimeFailedError, match=r"some cannot .* 'y0' is 0.0002 of .* and 0.0001 is allowed; run"
    ):
        check(right + np.float32(0.2), right)


def test_of_several_outputs_the_wrong_one_is_named() -> None:
    one = np.ones(2, np.float32)

    with pytest.raises(RuntimeFailedError, match="'y1' is 1 of the largest"):
        trial.check(Answering(one, 2 * one), (), [one, one], runtime="some")


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_])
def test_whole_numbers_and_truth_values_have_to_be_equal(dtype: type) -> None:
    right: Array = np.array([1, 0, 1]).astype(dtype)

    check(right, right)
    with pytest.raises(RuntimeFailedError, match=r"'y0' is 1 of .* and 0 is allowed"):
        check(np.array([1, 1, 1]).astype(dtype), right)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_has_to_be_the_same(value: float) -> None:
    right = np.array([value, 2.0], np.float32)

    check(right, right)
    with pytest.raises(RuntimeFailedError, match="'y0' is inf of the largest"):
        check(np.array([1.0, 2.0], np.float32), right)
    with pytest.raises(RuntimeFailedError, match="'y0' is inf of the largest"):
        check(right, np.array([1.0, 2.0], np.float32))


def test_an_output_of_zeros_allows_no_error() -> None:
    zeros = np.zeros(3, np.float32)

    check(zeros, zeros)
    with pytest.raises(RuntimeFailedError, match="'y0' is 0.001 of"):
        check(zeros + np.float32(1e-3), zeros)
