"""Computing what does not depend on an input, and leaving the rest alone."""

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from evener.network import fold
from evener.network.fold import evaluate, fold_constants


def model_of(text: str) -> ir.Model:
    """Return a model as it is read: nothing normalised, shapes as declared."""
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')
    return ir.serde.deserialize_model(proto)


def operators(model: ir.Model) -> list[str]:
    return [node.op_type for node in model.graph]


def test_a_chain_of_constants_becomes_one_constant_of_its_value() -> None:
    model = model_of(
        "(float[2] x) => (float[2] y) <float[2] w = {1, 4}, float[2] v = {2, 2}>"
        "{ a = Add(w, v) b = Sqrt(a) c = Mul(b, v) y = Add(x, c) }"
    )

    assert fold_constants(model)

    assert operators(model) == ["Add"]
    constant = model.graph.initializers["c"].const_value
    assert constant is not None
    assert np.allclose(constant.numpy(), 2 * np.sqrt([3, 6]))


def test_an_input_that_is_left_out_is_left_out() -> None:
    model = model_of(
        "(float[1] x) => (float[1] y)"
        "<float[4] w = {1,2,3,4}, int64[1] a = {0}, int64[1] b = {4}, int64[1] s = {3}>"
        "{ c = Slice(w, a, b, , s) y = Add(x, c) }"
    )

    assert fold_constants(model)

    constant = model.graph.initializers["c"].const_value
    assert constant is not None
    assert constant.numpy().tolist() == [1, 4]


def test_a_second_pass_finds_nothing() -> None:
    model = model_of("(float[2] x) => (float[2] y) { y = Relu(x) }")

    assert not fold_constants(model)


def test_the_shape_of_an_unknown_value_is_known() -> None:
    model = model_of("(float[2,3] x) => (int64[2] y) { s = Shape(x) n = Size(x) y = Mul(s, n) }")

    assert fold_constants(model)

    assert operators(model) == ["Mul"]  # it is the answer, which stays a node
    (node,) = model.graph
    values = [
        value.const_value.numpy().tolist()
        for value in node.inputs
        if value is not None and value.const_value
    ]
    assert values == [[2, 3], 6]


@pytest.mark.parametrize(
    "text",
    [
        "(float[2] x) => (float[2] y) <float[2] w = {1, 2}> { c = Erf(w) y = Add(x, c) }",
        "(float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Neg(w) }",
        "(float[N] x) => (int64[1] y) { s = Shape(x) y = Neg(s) }",
    ],
)
def test_other_operators_answers_and_open_shapes_stay(text: str) -> None:
    model = model_of(text)

    assert not fold_constants(model)


def test_what_would_be_too_large_stays_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "(float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] c>{ c = Neg(w) y = Add(x, c) }"
    )
    monkeypatch.setattr(fold, "LARGEST_FOLD_BYTES", 15)

    assert not fold_constants(model_of(text))

    monkeypatch.setattr(fold, "LARGEST_FOLD_BYTES", 16)
    assert fold_constants(model_of(text))


def test_what_the_reference_cannot_compute_stays_a_node() -> None:
    model = model_of(
        "(float[2] x) => (float[2] y) <float[3] w = {1, 2, 3}, int64[1] to = {2}>"
        "{ c = Reshape(w, to) y = Add(x, c) }"
    )

    assert not fold_constants(model)
    assert operators(model) == ["Reshape", "Add"]


def test_a_node_is_computed_by_the_rules_of_its_own_opset() -> None:
    model = model_of("(float[2] x) => (float[2,1] y) { y = Unsqueeze<axes = [1]>(x) }")
    (node,) = model.graph
    zeros = {"x": np.zeros(2, np.float32)}

    old = evaluate(node, zeros, {"": 9})

    assert old is not None
    assert np.asarray(old[0]).shape == (2, 1)
    assert evaluate(node, zeros, {"": 13}) is None  # where axes are an input
