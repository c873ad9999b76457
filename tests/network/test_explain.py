"""Why a network may be cut here and not there."""

from collections.abc import Callable

import onnx
import pytest

from evener.network.blocks import cut_into_blocks
from evener.network.cost import is_main
from evener.network.explain import Crossing, Explanation, explain
from evener.network.model import Network, parse_network

Loader = Callable[[str], Network]


def explained(body: str) -> Explanation:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> '
        f"g (float[4,2] x) => (float[4,2] y) <float[2,2] w = {{1,2,3,4}}> {{ {body} }}"
    )
    network = parse_network(model.SerializeToString(), name="net")
    return explain(network, cut_into_blocks(network, "paper"))


def test_each_cut_names_what_crosses_it_with_its_bytes() -> None:
    found = explained(
        "a = MatMul(x, w) b = Relu(a) c = MatMul(b, w) d = Add(c, a) y = MatMul(d, w)"
    )

    assert [(cut.after_block, cut.tensors) for cut in found.cuts] == [
        (0, (Crossing(name="a", bytes=32),)),
        (1, (Crossing(name="d", bytes=32),)),
    ]
    assert [block.operators for block in found.blocks] == [
        {"MatMul": 1},
        {"Add": 1, "MatMul": 1, "Relu": 1},
        {"MatMul": 1},
    ]
    assert found.no_cuts == ()


def test_layers_beside_a_skip_cannot_be_parted_and_what_would_cross_is_named() -> None:
    found = explained(
        "a = MatMul(x, w) p = MatMul(a, w) q = MatMul(p, w) d = Add(q, a) y = MatMul(d, w)"
    )

    (no_cut,) = found.no_cuts
    assert no_cut.block == 1
    assert no_cut.tensors == (Crossing(name="a", bytes=32), Crossing(name="p", bytes=32))
    assert no_cut.reason == "2 tensors would cross"


def test_the_best_place_between_two_layers_is_shown() -> None:
    found = explained(
        """a = MatMul(x, w)
           s = ReduceMax <axes = [1]> (x)
           b = ReduceMax <axes = [1]> (a)
           c = Concat <axis = 1> (b, b)
           d = MatMul(c, w)
           y = Add(d, s)"""
    )

    (no_cut,) = found.no_cuts
    assert no_cut.tensors == (Crossing(name="s", bytes=16), Crossing(name="b", bytes=16))


def test_a_dequantized_tensor_is_no_cut() -> None:
    found = explained(
        """a = MatMul(x, w)
           q = Cast <to = 2> (a)
           s = ReduceMax <keepdims = 0> (x)
           d = DequantizeLinear(q, s)
           y = MatMul(d, w)"""
    )

    (no_cut,) = found.no_cuts
    assert no_cut.tensors == (Crossing(name="d", bytes=32),)
    assert no_cut.reason.startswith("it was dequantized just before")


def test_a_sum_stays_with_the_normalisation_of_it() -> None:
    found = explained(
        """a = MatMul(x, w)
           s = Add(a, x)
           m = ReduceMean <axes = [1]> (s)
           c = Sub(s, m)
           n = MatMul(c, w)
           y = Add(n, s)"""
    )

    (no_cut,) = found.no_cuts
    assert [one.name for one in no_cut.tensors] == ["s"]
    assert no_cut.reason == "it is a sum that is computed as one with the normalisation behind it"


def test_elements_that_numpy_lacks_do_not_cross() -> None:
    found = explained(
        """a = MatMul(x, w)
           b = Cast <to = 16> (a)
           c = Cast <to = 16> (x)
           d = Add(b, c)
           v = Cast <to = 16> (w)
           e = MatMul(d, v)
           y = Cast <to = 1> (e)"""
    )

    (no_cut,) = found.no_cuts
    assert no_cut.tensors == (Crossing(name="d", bytes=None),)
    assert "of a type that numpy lacks" in no_cut.reason


@pytest.mark.parametrize("name", ["alexnet", "googlenet", "resnet50", "squeezenet", "shufflenet"])
def test_two_neighbouring_layers_are_parted_or_it_is_said_why_not(
    light_network: Loader, name: str
) -> None:
    network = light_network(name)

    found = explain(network, cut_into_blocks(network, "strict"))

    layers = sum(is_main(node) for node in network.model.graph)
    assert len(found.cuts) + len(found.no_cuts) == layers - 1
    assert all(len(no_cut.tensors) > 1 for no_cut in found.no_cuts)
    assert all(f"{len(no_cut.tensors)} tensors" in no_cut.reason for no_cut in found.no_cuts)
