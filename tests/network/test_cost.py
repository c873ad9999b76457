"""What nodes cost, held against counts known from the papers and by hand."""

from collections.abc import Callable

import onnx
import pytest

from evener.errors import InvalidNetworkError
from evener.network.cost import is_main, macs, weights_bytes
from evener.network.model import Network, parse_network

Loader = Callable[[str], Network]


def network(text: str) -> Network:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')
    return parse_network(model.SerializeToString(), name="net")


def total_macs(loaded: Network) -> int:
    return sum(macs(node) for node in loaded.model.graph)


@pytest.mark.parametrize(
    ("name", "total", "weights", "shape_bytes"),
    [
        # He et al. 2016 give 3.8e9 for ResNet-50; with the stride in the 3x3 it is 4.1e9. Of the
        # 25 557 032 weights 53 120 are offsets of normalisation, which has as many statistics.
        ("resnet50", 4_089_184_256, 25_557_032 + 53_120, 16),
        ("alexnet", 654_560_384, 60_965_224, 16),
        ("squeezenet", 349_151_936, 1_235_496, 0),
    ],
)
def test_known_networks_cost_what_is_known_of_them(
    light_network: Loader, name: str, total: int, weights: int, shape_bytes: int
) -> None:
    loaded = light_network(name)

    assert total_macs(loaded) == total
    assert weights_bytes(loaded.model.graph) == 4 * weights + shape_bytes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "(float[1,4,8,8] x, float[6,4,3,3] w) => (float[1,6,6,6] y) { y = Conv(x, w) }",
            6 * 6 * 6 * 4 * 9,
        ),
        (
            "(float[2,4,8,8] x, float[4,1,3,3] w) => (float[2,4,6,6] y){ y = Conv<group=4>(x, w) }",
            2 * 4 * 6 * 6 * 9,
        ),
        (
            "(float[1,4,5,5] x, float[4,2,3,3] w) => (float[1,2,7,7] y){ y = ConvTranspose(x, w) }",
            4 * 5 * 5 * 2 * 9,
        ),
        ("(float[3,5] x, float[5,2] w) => (float[3,2] y) { y = Gemm(x, w) }", 3 * 5 * 2),
        (
            "(float[5,3] x, float[2,5] w) => (float[3,2] y) { y = Gemm<transA=1, transB=1>(x, w) }",
            3 * 5 * 2,
        ),
        ("(float[7,3,5] x, float[5,2] w) => (float[7,3,2] y) { y = MatMul(x, w) }", 7 * 3 * 5 * 2),
        ("(float[7,5] x, float[5] w) => (float[7] y) { y = MatMul(x, w) }", 7 * 5),
        ("(float[7,3,5] x, float[7,5,4] w) => (float[7,3,4] y) { y = MatMul(x, w) }", 7 * 60),
        ("(uint8[3,5] x, uint8[5,2] w) => (int32[3,2] y) { y = MatMulInteger(x, w) }", 3 * 5 * 2),
        ("(float[3,5] x) => (float[3,5] y) { y = Relu(x) }", 0),
    ],
)
def test_products_are_counted_as_by_hand(text: str, expected: int) -> None:
    assert total_macs(network(text)) == expected


def test_a_layer_is_a_convolution_or_a_product_with_weights() -> None:
    loaded = network(
        """(float[2,2] x) => (float[2,2] y)
        <float[2,2] w = {1,2,3,4}, int8[2,2] v = {1,2,3,4}, float s = {0.5}, int8 z = {0}> {
            c = DequantizeLinear(v, s, z)
            a = MatMul(x, w)
            b = MatMul(w, a)
            d = MatMul(a, b)
            e = Gemm(d, c)
            y = Relu(e)
        }"""
    )

    assert {node.name: is_main(node) for node in loaded.model.graph} == {
        "c": False,
        "a": True,
        "b": True,
        "d": False,
        "e": True,
        "y": False,
    }


def test_a_constant_that_two_nodes_read_is_counted_once_for_both_and_once_for_each() -> None:
    loaded = network(
        "(float[2,2] x) => (float[2,2] y) <float[2,2] w = {1,2,3,4}>"
        "{ a = MatMul(x, w) y = MatMul(a, w) }"
    )
    first, second = loaded.model.graph

    assert weights_bytes([first]) == weights_bytes([second]) == 16
    assert weights_bytes([first, second]) == 16


def test_a_cost_that_depends_on_the_data_is_refused_with_the_node() -> None:
    loaded = network(
        """(float[4] x) => (float y) <float[1,1] w = {2}> {
            i = NonZero(x)
            j = Cast<to = 1>(i)
            t = Transpose(j)
            [multiply] k = MatMul(t, w)
            y = ReduceSum<keepdims = 0>(k)
        }"""
    )

    with pytest.raises(InvalidNetworkError, match="cost of node 'multiply' .*'t' has no") as caught:
        total_macs(loaded)
    assert caught.value.node == "multiply"
