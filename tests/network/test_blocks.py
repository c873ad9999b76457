"""Cutting a network into blocks: the published counts, and the rule in its parts."""

from collections import Counter
from collections.abc import Callable
from itertools import product

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from evener.artifacts.profile import Granularity
from evener.errors import InputError
from evener.network import fold
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.cost import is_main, macs, weights_bytes
from evener.network.flow import members
from evener.network.graph import live_nodes
from evener.network.light import light_file
from evener.network.model import Network, load_network, parse_network

Loader = Callable[[str], Network]


def blocks_of(text: str, granularity: Granularity = "paper") -> Blocks:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')
    return cut_into_blocks(parse_network(model.SerializeToString(), name="net"), granularity)


def cut_names(blocks: Blocks) -> list[list[str]]:
    return [[tensor.name for tensor in cut] for cut in blocks.cuts]


@pytest.mark.parametrize(
    ("name", "granularity", "cuts"),
    [
        ("alexnet", "paper", 7),
        ("googlenet", "paper", 12),
        ("resnet50", "paper", 17),
        ("squeezenet", "paper", 18),
        ("squeezenet", "strict", 17),
        ("squeezenet", "node", 26),
        ("resnet50", "node", 53),
        ("googlenet", "node", 57),
        ("inception-v2", "paper", 13),
        ("shufflenet", "paper", 17),
        ("densenet121", "paper", 62),
    ],
)
def test_the_published_numbers_of_cuts_are_found(
    light_network: Loader, name: str, granularity: Granularity, cuts: int
) -> None:
    assert len(cut_into_blocks(light_network(name), granularity).cuts) == cuts


@pytest.mark.parametrize(("name", "layers"), [("vgg19", 19), ("zfnet512", 8)])
def test_chains_with_very_many_weights_have_a_cut_before_each_layer_but_the_first(
    monkeypatch: pytest.MonkeyPatch, name: str, layers: int
) -> None:
    # The nodes that make the flat weights of the file stay, as they must not matter.
    monkeypatch.setattr(fold, "LARGEST_FOLD_BYTES", 0)
    network = load_network(light_file(name))
    blocks = cut_into_blocks(network, "paper")

    assert [main_nodes(network, part) for part in blocks.nodes] == [1] * layers


def main_nodes(network: Network, names: tuple[str, ...]) -> int:
    nodes = {node.name: node for node in network.model.graph}
    return sum(is_main(nodes[name]) for name in names)


def mobilenet() -> Network:
    """MobileNet-V1 as a chain: a convolution, 13 pairs of depthwise and 1x1, 1x1 for logits."""
    nodes = []
    weights: list[TensorProto] = []
    channels, last = 3, "x"

    def convolve(out: int, size: int, stride: int, group: int) -> None:
        nonlocal channels, last
        index = len(weights)
        array = np.zeros((out, channels // group, size, size), np.float32)
        weights.append(numpy_helper.from_array(array, f"w{index}"))
        pads = [size // 2] * 4
        nodes.append(
            helper.make_node(
                "Conv",
                [last, f"w{index}"],
                [f"c{index}"],
                strides=[stride] * 2,
                pads=pads,
                group=group,
            )
        )
        channels, last = out, f"c{index}"

    def relu() -> None:
        nonlocal last
        nodes.append(helper.make_node("Relu", [last], [f"{last}r"]))
        last = f"{last}r"

    convolve(32, 3, 2, 1)
    relu()
    widths = (64, 128, 128, 256, 256, *[512] * 6, 1024, 1024)
    strides = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1)
    for out, stride in zip(widths, strides, strict=True):
        convolve(channels, 3, stride, channels)
        relu()
        convolve(out, 1, 1, 1)
        relu()
    nodes.append(helper.make_node("GlobalAveragePool", [last], ["pooled"]))
    last = "pooled"
    convolve(1000, 1, 1, 1)
    nodes.append(helper.make_node("Flatten", [last], ["flat"]))
    nodes.append(helper.make_node("Softmax", ["flat"], ["y"]))
    graph = helper.make_graph(
        nodes,
        "mobilenet",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 224, 224])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1000])],
        weights,
    )
    return parse_network(helper.make_model(graph).SerializeToString(), name="mobilenet")


@pytest.mark.parametrize("granularity", ["paper", "strict"])
def test_mobilenet_has_a_cut_before_each_of_its_28_layers_but_the_first(
    granularity: Granularity,
) -> None:
    network = mobilenet()

    blocks = cut_into_blocks(network, granularity)

    assert len(blocks.cuts) == 27
    assert [main_nodes(network, part) for part in blocks.nodes] == [1] * 28


@pytest.mark.parametrize(
    ("name", "mains"),
    [
        ("alexnet", [1] * 8),
        ("googlenet", [1, 1, 1, *[6] * 9, 1]),
        ("resnet50", [1, 4, 3, 3, 4, 3, 3, 3, 4, 3, 3, 3, 3, 3, 4, 3, 3, 1]),
        ("squeezenet", [*[1, 1, 2], *[1, 2] * 7, 1, 0]),
    ],
)
def test_each_block_holds_one_group_of_layers_that_cannot_be_separated(
    light_network: Loader, name: str, mains: list[int]
) -> None:
    network = light_network(name)

    blocks = cut_into_blocks(network, "paper")

    assert [main_nodes(network, part) for part in blocks.nodes] == mains


def test_every_node_is_in_one_block_and_in_order(light_network: Loader) -> None:
    network = light_network("googlenet")
    blocks = cut_into_blocks(network, "paper")

    names = [name for part in blocks.nodes for name in part]
    assert names == [node.name for node in network.model.graph]
    counted = sum(sum(block.operators.values()) for block in blocks.blocks)
    assert counted == len(names)


def test_each_block_reads_what_the_one_before_it_answers(light_network: Loader) -> None:
    network = light_network("shufflenet")
    blocks = cut_into_blocks(network, "paper")

    assert blocks.blocks[0].inputs == network.inputs
    assert blocks.blocks[-1].outputs == network.outputs
    for block, following in zip(blocks.blocks, blocks.blocks[1:], strict=False):
        assert block.outputs == following.inputs
    assert all(len(cut) == 1 for cut in blocks.cuts)


def test_a_cut_is_placed_after_the_pool_where_the_tensor_is_smallest(light_network: Loader) -> None:
    blocks = cut_into_blocks(light_network("alexnet"), "paper")

    assert blocks.cuts[0][0].shape == (1, 96, 26, 26)
    assert list(blocks.blocks[0].operators) == ["Conv", "LRN", "MaxPool", "Relu"]


def test_nodes_before_the_first_layer_join_its_block() -> None:
    blocks = blocks_of(
        "(float[1,2] x) => (float[1,2] y) <float[2,2] w = {1,2,3,4}>"
        "{ a = Neg(x) b = Abs(a) c = MatMul(b, w) y = MatMul(c, w) }"
    )

    assert [len(part) for part in blocks.nodes] == [3, 1]
    assert blocks.blocks[0].name == "c"


def test_a_network_without_a_layer_is_one_block() -> None:
    for text in (
        "(float[1,2] x) => (float[1,2] y) { y = Relu(x) }",
        "(float[1,2] x) => (float[1,2] y) { a = Relu(x) b = Neg(a) y = Softmax(b) }",
    ):
        blocks = blocks_of(text)

        assert len(blocks.blocks) == 1
        assert blocks.cuts == ()
        assert blocks.blocks[0].macs == 0


HEAD = """(float[1,2] x) => (float[2] z) <float[2,2] w = {1,2,3,4}, int64[1] to = {2}> {
    a = MatMul(x, w)
    b = OPERATOR(a)
    y = Softmax(b)
    z = Reshape(y, to)
}"""


def test_the_head_is_a_block_of_its_own_only_where_no_layer_feeds_it() -> None:
    fed_by_relu = HEAD.replace("OPERATOR", "Relu")
    fed_by_layer = HEAD.replace("OPERATOR", "Identity")

    assert cut_names(blocks_of(fed_by_relu, "paper")) == [["b"]]
    assert cut_names(blocks_of(fed_by_relu, "strict")) == []
    assert cut_names(blocks_of(fed_by_layer, "paper")) == []


def test_a_residual_is_never_cut_inside() -> None:
    blocks = blocks_of(
        """(float[1,2] x) => (float[1,2] y) <float[2,2] w = {1,2,3,4}> {
            a = MatMul(x, w)
            b = MatMul(a, w)
            c = MatMul(b, w)
            d = Add(a, c)
            y = MatMul(d, w)
        }"""
    )

    assert cut_names(blocks) == [["a"], ["d"]]


def test_a_product_of_two_values_that_depend_on_the_input_is_no_layer() -> None:
    blocks = blocks_of(
        """(float[2,2] x) => (float[2,2] y) <float[2,2] w = {1,2,3,4}> {
            q = MatMul(x, w)
            k = Transpose(q)
            s = MatMul(q, k)
            y = MatMul(s, w)
        }"""
    )

    assert cut_names(blocks) == [["s"]]


def test_nothing_is_cut_while_an_input_waits_or_after_an_early_answer() -> None:
    waiting = """(float[1,2] x, float[1,2] late) => (float[1,2] y) <float[2,2] w = {1,2,3,4}> {
        a = MatMul(x, w)
        b = MatMul(a, w)
        c = Add(b, late)
        y = MatMul(c, w)
    }"""
    early = """(float[1,2] x) => (float[1,2] b, float[1,2] y) <float[2,2] w = {1,2,3,4}> {
        a = MatMul(x, w)
        b = MatMul(a, w)
        c = MatMul(b, w)
        y = MatMul(c, w)
    }"""

    assert cut_names(blocks_of(waiting)) == [["c"]]
    assert cut_names(blocks_of(early)) == [["a"], ["b"]]


def test_nothing_is_cut_where_the_shape_depends_on_the_data() -> None:
    blocks = blocks_of(
        """(float[4] x) => (float[1] z) <float[1,1] w = {2}, int64[1] all = {0}> {
            i = NonZero(x)
            j = Cast<to = 1>(i)
            k = ReduceSum<keepdims = 1>(j)
            l = MatMul(k, w)
            m = MatMul(l, w)
            z = ReduceSum<keepdims = 0>(m, all)
        }"""
    )

    assert cut_names(blocks) == [["l"]]
    assert blocks.blocks[0].operators["NonZero"] == 1


def test_quantised_networks_are_cut_where_the_tensor_has_8_bits() -> None:
    blocks = blocks_of(
        """(float[1,2] x) => (float[1,2] y)
        <int8[2,2] w = {1,2,3,4}, float s = {0.5}, int8 z = {0}> {
            c = DequantizeLinear(w, s, z)
            a = MatMul(x, c)
            q = QuantizeLinear(a, s, z)
            d = DequantizeLinear(q, s, z)
            y = MatMul(d, c)
        }"""
    )

    assert cut_names(blocks) == [["q"]]
    assert blocks.cuts[0][0].dtype == "int8"
    assert [block.weights_bytes for block in blocks.blocks] == [9, 9]


def test_a_loop_is_one_node_that_nothing_is_cut_inside() -> None:
    blocks = blocks_of(
        """(float[1,2] x) => (float[1,2] y)
        <float[2,2] w = {1,2,3,4}, int64 n = {3}, bool t = {1}, float[1,2] b> {
            a = MatMul(x, w)
            b = Loop(n, t, a) <body = g (int64 i, bool c, float[1,2] p) => (bool d, float[1,2] q) {
                d = Identity(c)
                r = MatMul(p, w)
                q = Add(r, a)
            }>
            y = MatMul(b, w)
        }"""
    )

    assert cut_names(blocks) == [["b"]]


def test_the_cost_of_a_block_is_that_of_its_nodes(light_network: Loader) -> None:
    blocks = cut_into_blocks(light_network("alexnet"), "paper").blocks

    assert blocks[0].macs == 96 * 54 * 54 * 3 * 11 * 11
    assert blocks[-1].macs == 4096 * 1000
    assert blocks[-1].weights_bytes == 4 * (4096 * 1000 + 1000)


def test_by_the_rule_node_the_paper_s_cuts_are_cuts_too(light_network: Loader) -> None:
    for name in ("googlenet", "squeezenet", "densenet121"):
        network = light_network(name)

        assert set(cut_into_blocks(network, "paper").cuts) <= set(
            cut_into_blocks(network, "node").cuts
        )


def test_by_the_rule_node_figures_add_up_over_each_segment(light_network: Loader) -> None:
    network = light_network("googlenet")
    blocks = cut_into_blocks(network, "node")
    live = live_nodes(network.model.graph)
    count = len(blocks.blocks)

    for first, last in product(range(0, count, 3), range(0, count, 4)):
        if last < first or not blocks.form_segment(first, last):
            continue
        ran = blocks.done[last + 1] & ~blocks.done[first]
        inside = [node for number, node in enumerate(live) if ran >> number & 1]
        parts = blocks.blocks[first : last + 1]
        operators: Counter[str] = Counter()
        for part in parts:
            operators.update(part.operators)
        assert sum(part.macs for part in parts) == sum(map(macs, inside))
        assert sum(part.weights_bytes for part in parts) == weights_bytes(inside)
        assert +operators == Counter(node.op_type for node in inside)


def test_by_the_rule_node_blocks_form_a_segment_if_the_places_are_nested(
    light_network: Loader,
) -> None:
    blocks = cut_into_blocks(light_network("googlenet"), "node")
    count = len(blocks.blocks)
    pairs = [(first, last) for first in range(count) for last in range(first, count)]

    for first, last in pairs:
        before, after = (set(members(blocks.done[at])) for at in (first, last + 1))
        assert blocks.form_segment(first, last) == (before <= after)
    assert not all(blocks.form_segment(*pair) for pair in pairs)
    assert all(
        blocks.form_segment(0, at) and blocks.form_segment(at, count - 1) for at in range(count)
    )


def test_by_the_other_rules_all_blocks_form_segments(light_network: Loader) -> None:
    blocks = cut_into_blocks(light_network("squeezenet"), "paper")

    assert all(blocks.form_segment(first, last) for first in range(19) for last in range(first, 19))


def test_more_tensors_than_one_cross_only_by_the_rule_node(light_network: Loader) -> None:
    with pytest.raises(InputError, match="by the rule 'paper' one tensor crosses each cut, and 3 "):
        cut_into_blocks(light_network("squeezenet"), "paper", max_live=3)


def test_no_tensor_at_all_cannot_cross_a_cut(light_network: Loader) -> None:
    with pytest.raises(InputError, match="0 tensors cannot cross a cut: --max-live is at least 1"):
        cut_into_blocks(light_network("squeezenet"), "node", max_live=0)


def test_by_the_rule_node_with_one_tensor_the_cuts_are_the_paper_s(light_network: Loader) -> None:
    network = light_network("squeezenet")

    one = cut_into_blocks(network, "node", max_live=1)

    assert (one.max_live, one.cuts) == (1, cut_into_blocks(network, "paper").cuts)
    assert one.blocks == cut_into_blocks(network, "paper").blocks
