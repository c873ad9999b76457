"""Branches that are always taken stand in the place of their If."""

from collections.abc import Mapping

import numpy as np
import onnx
import onnxruntime
import pytest

from evener.network.frames import Array
from evener.network.model import Network, parse_network
from evener.network.split import whole_model

BY_SHAPE = """(float[N,2] x) => (float[M,2] y) <int64 two = {2}, float[2] k = {10, 20}> {
    shape = Shape<end = 1>(x)
    n = Squeeze(shape)
    c = Equal(n, two)
    y = If(c) <
        then_branch = pair () => (float[P,2] p) { k = Constant<value = float[2] {1, 2}>() p = Add(x, k) },
        else_branch = more () => (float[Q,2] q) { k = Constant<value = float[2] {3, 4}>() q = Mul(x, k) }>
}"""  # noqa: E501 - ONNX's text has no continued lines
NESTED = """(float[2] x, int64 rate) => (float[2] y)
<int64 slow = {8}, float[2] one = {1, 1}, bool yes = {1}> {
    c = Equal(rate, slow)
    a = If(c) <
        then_branch = t () => (float[2] p) { p = Identity(one) },
        else_branch = e () => (float[2] q) {
            q = If(yes) <
                then_branch = tt () => (float[2] r) { r = Neg(x) },
                else_branch = ee () => (float[2] s) { s = Identity(x) }>
        }>
    y = Add(a, x)
}"""


def network(
    text: str, shapes: Mapping[str, tuple[int, ...]], fixed: Mapping[str, float]
) -> Network:
    return parse_network(serialised(text), name="net", shapes=shapes, fixed=fixed)


def serialised(text: str) -> bytes:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')
    content: bytes = model.SerializeToString()
    return content


def answers(loaded: Network, x: Array) -> list[Array]:
    session = onnxruntime.InferenceSession(whole_model(loaded))
    return list(session.run(None, {"x": x}))


def operators(loaded: Network) -> list[str]:
    return [node.op_type for node in loaded.model.graph]


def test_a_choice_by_shape_is_made_once_the_shape_is_known() -> None:
    x = np.array([[1, 2], [3, 4], [5, 6]], np.float32)

    for rows, operator, expected in ((2, "Add", x[:2] + np.array([1, 2])), (3, "Mul", x * [3, 4])):
        loaded = network(BY_SHAPE, {"x": (rows, 2)}, {})
        answer = answers(loaded, x[:rows])

        assert operators(loaded)[0] == operator
        assert loaded.outputs[0].shape == (rows, 2)
        np.testing.assert_array_equal(answer[0], expected)


def test_names_that_a_branch_shares_with_the_network_stay_apart() -> None:
    loaded = network(BY_SHAPE.replace("y = If", "z = If").rstrip("}") + "y = Add(z, k) }",
                     {"x": (2, 2)}, {})  # fmt: skip
    x = np.ones((2, 2), np.float32)

    answer = answers(loaded, x)

    np.testing.assert_array_equal(answer[0], x + np.array([11, 22]))


@pytest.mark.parametrize(("rate", "expected"), [(8, [2, 3]), (16, [0, 0])])
def test_a_choice_by_a_fixed_input_is_made_and_one_within_it(
    rate: int, expected: list[float]
) -> None:
    loaded = network(NESTED, {}, {"rate": rate})
    answer = answers(loaded, np.array([1, 2], np.float32))

    assert "If" not in operators(loaded)
    np.testing.assert_array_equal(answer[0], expected)


def test_a_choice_by_a_frame_stays() -> None:
    assert operators(network(NESTED, {}, {})) == ["Equal", "If", "Add"]


def test_the_answer_of_a_branch_keeps_the_networks_name() -> None:
    loaded = network(
        "(float[2] x) => (float[2] y, float[2] z) <bool no = {0}> { y, z = If(no) <"
        "then_branch = t () => (float[2] a, float[2] b) { a = Neg(x) b = Abs(x) },"
        "else_branch = e () => (float[2] c, float[2] d) { c = Abs(x) d = Identity(x) }> }",
        {},
        {},
    )
    answer = answers(loaded, np.array([-1, 2], np.float32))

    assert [tensor.name for tensor in loaded.outputs] == ["y", "z"]
    assert [one.tolist() for one in answer] == [[1, 2], [-1, 2]]
