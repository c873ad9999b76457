"""Inputs that are fixed to a number are constants, and what follows from them is computed once."""

from collections.abc import Mapping

import numpy as np
import onnx
import onnxruntime
import pytest

from evener.errors import InvalidNetworkError
from evener.network.frames import Array
from evener.network.model import Network, parse_network
from evener.network.split import whole_model

SCALED = """(float[2] x, int64[2] times, bool on) => (float[2] y)
{ f = Cast<to = 1>(times) g = Mul(f, f) a = Mul(x, g) b = Where(on, a, x) y = Neg(b) }"""


def network(fixed: Mapping[str, float]) -> Network:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {SCALED}')
    return parse_network(model.SerializeToString(), name="net", fixed=fixed)


def answers(loaded: Network, x: Array) -> list[Array]:
    session = onnxruntime.InferenceSession(whole_model(loaded))
    return list(session.run(None, {"x": x}))


def test_a_fixed_input_is_read_no_more_and_every_element_is_the_number() -> None:
    loaded = network({"times": 3, "on": 1})
    answer = answers(loaded, np.array([1, 2], np.float32))

    assert [tensor.name for tensor in loaded.inputs] == ["x"]
    assert answer[0].tolist() == [-9, -18]


def test_what_follows_from_it_is_computed_once() -> None:
    assert [node.op_type for node in network({"times": 3}).model.graph] == ["Mul", "Where", "Neg"]


def test_it_is_part_of_the_hash() -> None:
    hashes = {network(fixed).sha256 for fixed in ({}, {"on": 1}, {"on": 0}, {"times": 1})}

    assert len(hashes) == 4


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ({"time": 3}, "'time' is fixed to 3, and is no input; did you mean 'times'? inputs: x"),
        ({"times": 2.5}, "the input 'times' is int64 and cannot be 2.5; give a number that it can"),
        ({"on": 2}, "the input 'on' is bool and cannot be 2"),
        ({"x": 1e39}, "the input 'x' is float32 and cannot be 1e+39"),
        ({"times": float("inf")}, "the input 'times' is int64 and cannot be inf"),
        ({"x": 1, "times": 1, "on": 1}, "every input is fixed (x, times, on), so that no frame"),
    ],
)  # fmt: skip
def test_what_cannot_be_fixed_is_refused(fixed: Mapping[str, float], message: str) -> None:
    with pytest.raises(InvalidNetworkError) as caught:
        network(fixed)

    assert message in str(caught.value)


def test_text_cannot_be_fixed() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (string[2] t, float[2] x) => (float[2] y)'
        "{ y = Neg(x) }"
    )

    with pytest.raises(InvalidNetworkError, match="'t' has elements of type STRING, which cannot"):
        parse_network(model.SerializeToString(), name="net", fixed={"t": 1})
