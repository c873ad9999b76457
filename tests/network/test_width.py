"""Whether a network has branches."""

import onnx
import pytest

from evener.network.model import parse_network
from evener.network.width import has_branches


@pytest.mark.parametrize(
    ("body", "branches"),
    [
        ("a = MatMul(x, w) y = MatMul(a, w)", False),
        ("a = MatMul(x, w) b = MatMul(x, w) y = Add(a, b)", True),
        ("a = MatMul(x, w) b = Neg(a) c = Abs(a) d = Add(b, c) y = MatMul(d, w)", False),
        ("a = MatMul(x, w) b = MatMul(a, w) c = Add(a, b) y = MatMul(c, w)", False),
        ("a = MatMul(x, w) b = MatMul(a, w) c = MatMul(x, w) y = Add(b, c)", True),
        ("y = Neg(x)", False),
    ],
)
def test_branches_are_main_nodes_that_do_not_wait_for_each_other(body: str, branches: bool) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1,2] x) => (float[1,2] y)'
        f"<float[2,2] w = {{1,2,3,4}}> {{ {body} }}"
    )

    assert has_branches(parse_network(model.SerializeToString(), name="net")) == branches
