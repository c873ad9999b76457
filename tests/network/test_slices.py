"""Heavy layers in slices, between which a network may be cut, and the same made one again."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.model import Network, load_network, parse_network
from evener.network.slices import KEY, slice_layers
from evener.network.split import segment_model, whole_model

Array = NDArray[Any]
DRAW = np.random.default_rng(7)


def layer(
    operator: str,
    x: Sequence[int],
    constants: Mapping[str, Array],
    y: Sequence[int],
    *,
    opset: int = 17,
    **attributes: float | Sequence[int],
) -> bytes:
    """Return a network of one layer, `fc`, between two activations."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="before"),
        helper.make_node(operator, ["r", *constants], ["d"], name="fc"),
        helper.make_node("Relu", ["d"], ["y"], name="after"),
    ]
    nodes[1].attribute.extend(
        helper.make_attribute(name, value) for name, value in attributes.items()
    )
    graph = helper.make_graph(
        nodes,
        "dense",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, y)],
        [numpy_helper.from_array(array, key) for key, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    content: bytes = model.SerializeToString()
    return content


def draw(*shape: int) -> Array:
    return DRAW.standard_normal(shape).astype(np.float32)


def in_slices(
    content: bytes, most: int, *, least_outputs: int = 1, least_work: float = 1.0
) -> tuple[Network, int]:
    network = parse_network(content, name="dense")
    count = slice_layers(
        network.model, share=0.0, least_work=least_work, least_outputs=least_outputs, most=most
    )
    return network, count


def operators(network: Network) -> list[str]:
    return [node.op_type for node in network.model.graph]


def answer(content: bytes, frame: Array) -> Array:
    session = ort.InferenceSession(content, providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {"x": frame})
    return np.asarray(y)


def through(network: Network, blocks: Blocks, starts: Sequence[int], frame: Array) -> Array:
    """Return what the segments that begin at some blocks answer, one after the other."""
    tensors = {"x": frame}
    for first, after in pairwise([*starts, len(blocks.blocks)]):
        content = segment_model(network, blocks, first, after - 1)
        session = ort.InferenceSession(content, providers=["CPUExecutionProvider"])
        feeds = {one.name: tensors[one.name] for one in session.get_inputs()}
        names = [one.name for one in session.get_outputs()]
        tensors |= dict(zip(names, session.run(None, feeds), strict=True))
    return np.asarray(tensors["y"])


LAYERS: dict[str, tuple[str, Sequence[int], dict[str, Array], Sequence[int], dict[str, Any]]] = {
    "Gemm": ("Gemm", (2, 6), {"w": draw(6, 12), "b": draw(12)}, (2, 12), {}),
    "transposed": ("Gemm", (2, 6), {"w": draw(12, 6), "b": draw(12)}, (2, 12), {"transB": 1}),
    "both transposed": (
        "Gemm",
        (6, 2),
        {"w": draw(12, 6), "b": draw(12)},
        (2, 12),
        {"transA": 1, "transB": 1},
    ),
    "scaled": (
        "Gemm",
        (2, 6),
        {"w": draw(6, 12), "b": draw(2, 12)},
        (2, 12),
        {"alpha": 0.5, "beta": 2.0},
    ),
    "a bias for each row": ("Gemm", (2, 6), {"w": draw(6, 12), "b": draw(2, 1)}, (2, 12), {}),
    "one bias": ("Gemm", (2, 6), {"w": draw(6, 12), "b": draw(1)}, (2, 12), {}),
    "a number": ("Gemm", (2, 6), {"w": draw(6, 12), "b": np.array(1.5, np.float32)}, (2, 12), {}),
    "no bias": ("Gemm", (2, 6), {"w": draw(6, 12)}, (2, 12), {}),
    "MatMul": ("MatMul", (2, 6), {"w": draw(6, 12)}, (2, 12), {}),
    "a stack": ("MatMul", (2, 3, 6), {"w": draw(6, 12)}, (2, 3, 12), {}),
    "a vector": ("MatMul", (6,), {"w": draw(6, 12)}, (12,), {}),
    "Conv": (
        "Conv",
        (1, 6, 5, 5),
        {"w": draw(12, 6, 3, 3), "b": draw(12)},
        (1, 12, 3, 3),
        {"pads": [1, 1, 1, 1], "strides": [2, 2]},
    ),
    "Conv of one dimension": ("Conv", (2, 6, 7), {"w": draw(12, 6, 3)}, (2, 12, 5), {}),
    "two groups": (
        "Conv",
        (1, 6, 5, 5),
        {"w": draw(12, 3, 3, 3), "b": draw(12)},
        (1, 12, 3, 3),
        {"group": 2},
    ),
    "two groups, old": (
        "Conv",
        (1, 6, 5, 5),
        {"w": draw(12, 3, 3, 3), "b": draw(12)},
        (1, 12, 3, 3),
        {"group": 2, "opset": 9},
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_network_in_slices_answers_what_it_answers_as_it_was(name: str) -> None:
    operator, x, constants, y, attributes = LAYERS[name]
    content = layer(operator, x, constants, y, **attributes)
    network, count = in_slices(content, most=4)
    frame = draw(*x)
    expected = answer(content, frame)

    assert count == 1
    assert operators(network).count(operator) == 4
    assert operators(network).count("Concat") == 3
    apart = ir.to_proto(network.model)
    onnx.checker.check_model(apart, full_check=True)
    np.testing.assert_allclose(
        answer(apart.SerializeToString(), frame), expected, rtol=1e-5, atol=1e-6
    )
    blocks = cut_into_blocks(network, "node")
    assert len(blocks.blocks) == 4
    for starts in ([0, 1, 2, 3], [0, 1], [0, 2], [0, 3], [0, 1, 3]):
        np.testing.assert_allclose(
            through(network, blocks, starts, frame), expected, rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("name", LAYERS)
def test_a_whole_network_is_what_it_was_to_the_byte(name: str) -> None:
    operator, x, constants, y, attributes = LAYERS[name]
    content = layer(operator, x, constants, y, **attributes)
    plain = parse_network(content, name="dense")
    network, _ = in_slices(content, most=4)
    assert whole_model(network) == whole_model(plain)
    blocks, uncut = cut_into_blocks(network, "node"), cut_into_blocks(plain, "node")
    segment = onnx.load_from_string(segment_model(network, blocks, 0, len(blocks.blocks) - 1))
    segment.graph.name = "dense-0-0"  # it counts the blocks
    assert segment == onnx.load_from_string(segment_model(plain, uncut, 0, 0))


def test_slices_in_one_segment_are_one_layer_beside_what_is_joined() -> None:
    weights, bias = draw(6, 12), draw(12)
    network, _ = in_slices(layer("Gemm", (1, 6), {"w": weights, "b": bias}, (1, 12)), most=4)
    blocks = cut_into_blocks(network, "node")

    def nodes(first: int, last: int) -> list[tuple[str, str]]:
        graph = onnx.load_from_string(segment_model(network, blocks, first, last)).graph
        return [(node.op_type, node.name) for node in graph.node]

    assert nodes(0, 1) == [("Relu", "before"), ("Gemm", "fc/slice0-1")]
    assert nodes(1, 2) == [("Gemm", "fc/slice1-2"), ("Concat", "fc/joined2")]
    assert nodes(2, 3) == [
        ("Gemm", "fc/slice2-3"),
        ("Concat", "fc/joined3"),
        ("Relu", "after"),
    ]
    assert nodes(1, 1) == [("Gemm", "fc/slice1"), ("Concat", "fc/joined1")]
    graph = onnx.load_from_string(segment_model(network, blocks, 1, 2)).graph
    kept = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    np.testing.assert_array_equal(kept["fc/weights1-2"], weights[:, 3:9])
    np.testing.assert_array_equal(kept["fc/bias1-2"], bias[3:9])


def test_cuts_go_between_slices_and_hand_on_the_input_and_what_is_joined() -> None:
    network, _ = in_slices(layer("MatMul", (1, 6), {"w": draw(6, 12)}, (1, 12)), most=4)
    cuts = cut_into_blocks(network, "node").cuts
    assert [[(one.name, one.shape) for one in cut] for cut in cuts] == [
        [("r", (1, 6)), ("fc/slice0", (1, 3))],
        [("r", (1, 6)), ("fc/joined1", (1, 6))],
        [("r", (1, 6)), ("fc/joined2", (1, 9))],
    ]


@pytest.mark.parametrize(
    ("weights", "least_work", "least_outputs", "most", "slices"),
    [
        ((6, 12), 0, 1, 8, 8),
        ((6, 12), 0, 4, 8, 3),
        ((6, 12), 0, 7, 8, 1),
        ((6, 12), 6 * 12 * 9 / 2, 1, 8, 2),  # a product takes 1 and reading its weight 8
        ((6, 12), 6 * 12 * 9 / 2 + 1, 1, 8, 1),
        ((60, 1), 0, 1, 8, 1),
    ],
)
def test_a_layer_has_as_many_slices_as_its_work_and_outputs_give(
    weights: tuple[int, int], least_work: float, least_outputs: int, most: int, slices: int
) -> None:
    content = layer("MatMul", (1, weights[0]), {"w": draw(*weights)}, (1, weights[1]))
    network, count = in_slices(
        content, most, least_outputs=least_outputs, least_work=least_work or 1.0
    )
    assert operators(network).count("MatMul") == slices
    assert count == (slices > 1)


def test_wide_slices_end_at_multiples_of_what_kernels_compute_at_once() -> None:
    network, _ = in_slices(layer("MatMul", (1, 2), {"w": draw(2, 100)}, (1, 100)), most=3)
    (found,) = {node.meta[KEY].layer for node in network.model.graph if KEY in node.meta}
    assert found.ends == (0, 32, 64, 100)


def test_a_layer_of_little_of_the_work_stays_whole() -> None:
    content = layer("MatMul", (1, 6), {"w": draw(6, 12)}, (1, 12))
    network = parse_network(content, name="dense")
    assert slice_layers(network.model, share=0.51, least_work=1, least_outputs=1) == 0
    assert slice_layers(network.model, share=0.5, least_work=1, least_outputs=1) == 1
    assert operators(network).count("MatMul") == 2


def test_what_is_no_layer_of_constant_weights_stays_whole() -> None:
    w = helper.make_tensor_value_info("w", TensorProto.FLOAT, (6, 12))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 6))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 12))
    product = helper.make_node("MatMul", ["x", "w"], ["y"])
    both_given = helper.make_model(helper.make_graph([product], "g", [x, w], [y]), ir_version=8)
    network, count = in_slices(both_given.SerializeToString(), most=4)
    assert (count, operators(network)) == (0, ["MatMul"])

    z = helper.make_tensor_value_info("z", TensorProto.FLOAT, (2, 12))
    tied = helper.make_graph(
        [product, helper.make_node("MatMul", ["x", "w"], ["z"])],
        "g",
        [x],
        [y, z],
        [numpy_helper.from_array(draw(6, 12), "w")],
    )
    model = helper.make_model(tied, ir_version=8)
    network, count = in_slices(model.SerializeToString(), most=4)
    assert (count, operators(network)) == (0, ["MatMul", "MatMul"])


def test_a_convolution_of_many_groups_stays_whole() -> None:
    content = layer("Conv", (1, 6, 5, 5), {"w": draw(6, 1, 3, 3)}, (1, 6, 3, 3), group=6)
    network, count = in_slices(content, most=4)
    assert (count, operators(network)) == (0, ["Relu", "Conv", "Relu"])


def test_a_name_that_is_taken_is_not_given_again() -> None:
    content = layer("MatMul", (1, 6), {"fc/weights0": draw(6, 12)}, (1, 12))
    network, _ = in_slices(content, most=2)
    assert sorted(network.model.graph.initializers) == ["fc2/weights0", "fc2/weights1"]
    assert [node.name for node in network.model.graph] == [
        "before",
        "fc2/slice0",
        "fc2/slice1",
        "fc2/joined1",
        "after",
    ]


def test_the_rule_paper_sees_the_same_blocks_with_and_without_slices() -> None:
    plain, sliced = load_network("alexnet"), load_network("alexnet", in_slices=True)
    assert plain.sha256 != sliced.sha256
    one, other = cut_into_blocks(plain, "paper"), cut_into_blocks(sliced, "paper")
    assert one.cuts == other.cuts
    assert [part.macs for part in one.blocks] == [part.macs for part in other.blocks]
    assert [part.weights_bytes for part in one.blocks] == [
        part.weights_bytes for part in other.blocks
    ]
    assert segment_model(plain, one, 1, 6) == segment_model(sliced, other, 1, 6)
    assert len(cut_into_blocks(sliced, "node").cuts) > len(cut_into_blocks(plain, "node").cuts)


def test_a_network_without_heavy_layers_is_the_same_in_slices() -> None:
    content = layer("MatMul", (1, 64), {"w": draw(64, 128)}, (1, 128))
    network = parse_network(content, name="dense")
    assert slice_layers(network.model) == 0
    assert operators(network) == ["Relu", "MatMul", "Relu"]


def test_a_real_network_cut_through_its_slices_answers_to_the_bit() -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED

    def run(content: bytes, tensors: dict[str, Array]) -> dict[str, Array]:
        session = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        names = [one.name for one in session.get_outputs()]
        feeds = {one.name: tensors[one.name] for one in session.get_inputs()}
        return dict(zip(names, session.run(names, feeds), strict=True))

    network = load_network("squeezenet", in_slices=True)
    blocks = cut_into_blocks(network, "node")
    frame = {network.inputs[0].name: draw(*network.inputs[0].shape)}
    expected = run(whole_model(network), frame)[network.outputs[0].name]
    through_slices = [
        at for at, cut in enumerate(blocks.cuts) if any("/joined" in one.name for one in cut)
    ]

    assert len(through_slices) >= 4
    for at in through_slices:
        crossing = run(segment_model(network, blocks, 0, at), frame)
        rest = segment_model(network, blocks, at + 1, len(blocks.blocks) - 1)
        answers = run(rest, frame | crossing)
        np.testing.assert_array_equal(answers[network.outputs[0].name], expected)
