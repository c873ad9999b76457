"""Comparing what a file answers with what its trainer answers."""

import numpy as np
import pytest
from onnx import helper
from onnx_ir import from_proto

from evener.errors import EvenerError
from evener.train.clean import clean_bytes
from evener.train.verify import answers, largest_error

X = np.array([[0.0, 0.75], [0.25, -0.5]], np.float32)


def identity() -> bytes:
    floats = [
        helper.make_tensor_value_info(name, 1, [None, 2]) for name in ("features", "probabilities")
    ]
    node = helper.make_node("Identity", ["features"], ["probabilities"])
    graph = helper.make_graph([node], "g", floats[:1], floats[1:])
    opsets = [helper.make_opsetid("", 18)]
    return clean_bytes(from_proto(helper.make_model(graph, opset_imports=opsets, ir_version=9)))


@pytest.mark.parametrize("rows", [1, 2, 1000, 2300])
def test_any_number_of_rows_is_answered_in_order(rows: int) -> None:
    many = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)

    assert answers(identity(), many, outputs=2).tolist() == many.tolist()


def test_the_largest_difference_counts() -> None:
    expected = X + np.array([[0.0, 0.25], [0.125, 0.0]])

    assert largest_error("it", identity(), X, expected, tolerance=0.25) == 0.25


def test_large_numbers_differ_relative_to_the_largest() -> None:
    expected = np.array([[100.0, 0.0], [0.0, 200.0]], np.float32)

    error = largest_error("it", identity(), expected + 1, expected, tolerance=0.25)

    assert error == pytest.approx(1 / 200)


def test_more_than_the_tolerance_names_the_row() -> None:
    expected = X + np.array([[0.0, 0.0], [0.5, 0.0]])

    with pytest.raises(EvenerError, match=r"file of it .* 0\.5 in row 1 of 2, more than 0\.25"):
        largest_error("it", identity(), X, expected, tolerance=0.25)


def test_an_answer_that_is_no_number_is_an_error() -> None:
    with pytest.raises(EvenerError, match="differ by nan in row 0"):
        largest_error("it", identity(), X * np.nan, X, tolerance=0.25)
