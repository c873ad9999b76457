"""Large dense layers in parts, between which a network may be cut."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from evener.network.blocks import cut_into_blocks
from evener.network.dense import part_dense_layers
from evener.network.model import Network, load_network, parse_network
from evener.network.split import segment_model, whole_model

Array = NDArray[Any]
DRAW = np.random.default_rng(7)


def layer(
    operator: str,
    x: Sequence[int],
    constants: Mapping[str, Array],
    y: Sequence[int],
    *,
    name: str = "fc",
    opset: int = 17,
    **attributes: Any,
) -> bytes:
    """Return a network of one dense layer between two activations."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="before"),
        helper.make_node(operator, ["r", *constants], ["d"], name=name, **attributes),
        helper.make_node("Relu", ["d"], ["y"], name="after"),
    ]
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


def parted(content: bytes, *, part_weights: int, most_parts: int = 8) -> tuple[Network, int]:
    network = parse_network(content, name="dense")
    return network, part_dense_layers(
        network.model.graph, part_weights=part_weights, most_parts=most_parts
    )


def operators(network: Network) -> list[str]:
    return [node.op_type for node in network.model.graph]


def answer(content: bytes, frame: Array) -> Array:
    session = ort.InferenceSession(content, providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {"x": frame})
    return np.asarray(y)


@pytest.mark.parametrize(
    ("operator", "x", "constants", "y", "attributes"),
    [
        ("Gemm", (2, 6), {"w": draw(6, 10), "b": draw(10)}, (2, 10), {}),
        ("Gemm", (2, 6), {"w": draw(10, 6), "b": draw(10)}, (2, 10), {"transB": 1}),
        ("Gemm", (6, 2), {"w": draw(10, 6), "b": draw(10)}, (2, 10), {"transA": 1, "transB": 1}),
        (
            "Gemm",
            (2, 6),
            {"w": draw(6, 10), "b": draw(2, 10)},
            (2, 10),
            {"alpha": 0.5, "beta": 2.0},
        ),
        ("Gemm", (2, 6), {"w": draw(6, 10), "b": draw(2, 1)}, (2, 10), {}),
        ("Gemm", (2, 6), {"w": draw(6, 10), "b": draw(1)}, (2, 10), {}),
        ("Gemm", (2, 6), {"w": draw(6, 10), "b": np.array(1.5, np.float32)}, (2, 10), {}),
        ("Gemm", (2, 6), {"w": draw(6, 10)}, (2, 10), {}),
        ("MatMul", (2, 6), {"w": draw(6, 10)}, (2, 10), {}),
        ("MatMul", (2, 3, 6), {"w": draw(6, 10)}, (2, 3, 10), {}),
        ("MatMul", (6,), {"w": draw(6, 10)}, (10,), {}),
    ],
)
def test_a_layer_in_parts_answers_what_it_answers_as_a_whole(
    operator: str,
    x: tuple[int, ...],
    constants: dict[str, Array],
    y: tuple[int, ...],
    attributes: dict[str, Any],
) -> None:
    content = layer(operator, x, constants, y, **attributes)
    network, count = parted(content, part_weights=17)

    assert count == 1
    assert operators(network) == [
        "Relu",
        *[operator] * 2,
        "Concat",
        operator,
        "Concat",
        "Relu",
    ]  # 60 weights in three parts of at least 17
    onnx.checker.check_model(onnx.load_from_string(whole_model(network)), full_check=True)
    frame = draw(*x)
    np.testing.assert_allclose(
        answer(whole_model(network), frame), answer(content, frame), rtol=1e-6, atol=1e-6
    )


def test_parts_are_about_equal_and_hold_all_weights_once() -> None:
    weights, bias = draw(6, 11), draw(11)
    network, _ = parted(layer("Gemm", (1, 6), {"w": weights, "b": bias}, (1, 11)), part_weights=16)

    constants = {name: one.const_value for name, one in network.model.graph.initializers.items()}
    kept = {name: value.numpy() for name, value in constants.items() if value is not None}
    assert sorted(kept) == [
        *(f"fc/bias{part}" for part in range(4)),
        *(f"fc/weights{part}" for part in range(4)),
    ]
    assert [kept[f"fc/weights{part}"].shape[1] for part in range(4)] == [2, 3, 3, 3]
    np.testing.assert_array_equal(
        np.concatenate([kept[f"fc/weights{part}"] for part in range(4)], axis=1), weights
    )
    np.testing.assert_array_equal(
        np.concatenate([kept[f"fc/bias{part}"] for part in range(4)]), bias
    )


@pytest.mark.parametrize(
    ("weights", "part_weights", "most", "parts"),
    [
        ((6, 10), 31, 8, 1),
        ((6, 10), 30, 8, 2),
        ((6, 10), 1, 4, 4),
        ((60, 1), 1, 8, 1),
        ((4, 3), 1, 8, 3),
    ],
)
def test_a_layer_has_as_many_parts_as_its_weights_and_outputs_give(
    weights: tuple[int, int], part_weights: int, most: int, parts: int
) -> None:
    x, y = (1, weights[0]), (1, weights[1])
    network, count = parted(
        layer("MatMul", x, {"w": draw(*weights)}, y), part_weights=part_weights, most_parts=most
    )
    assert operators(network).count("MatMul") == parts
    assert count == (parts > 1)


def test_what_is_no_layer_of_constant_weights_stays_whole() -> None:
    w = helper.make_tensor_value_info("w", TensorProto.FLOAT, (6, 10))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 6))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 10))
    product = helper.make_node("MatMul", ["x", "w"], ["y"])
    both_given = helper.make_model(helper.make_graph([product], "g", [x, w], [y]), ir_version=8)
    network, count = parted(both_given.SerializeToString(), part_weights=1)
    assert (count, operators(network)) == (0, ["MatMul"])

    z = helper.make_tensor_value_info("z", TensorProto.FLOAT, (2, 10))
    tied = helper.make_graph(
        [product, helper.make_node("MatMul", ["x", "w"], ["z"])],
        "g",
        [x],
        [y, z],
        [numpy_helper.from_array(draw(6, 10), "w")],
    )
    network, count = parted(
        helper.make_model(tied, ir_version=8).SerializeToString(), part_weights=1
    )
    assert (count, operators(network)) == (0, ["MatMul", "MatMul"])


def test_a_name_that_is_taken_is_not_given_again() -> None:
    content = layer("MatMul", (1, 6), {"fc/weights0": draw(6, 10)}, (1, 10))
    network, _ = parted(content, part_weights=30)
    assert sorted(network.model.graph.initializers) == ["fc2/weights0", "fc2/weights1"]
    assert [node.name for node in network.model.graph] == [
        "before",
        "fc2/part0",
        "fc2/part1",
        "fc2/joined1",
        "after",
    ]


def test_cuts_go_between_the_parts_and_the_segments_answer_what_the_network_answers() -> None:
    network, _ = parted(
        layer("Gemm", (1, 6), {"w": draw(6, 10), "b": draw(10)}, (1, 10)), part_weights=15
    )
    blocks = cut_into_blocks(network, "node")

    assert [[tensor.name for tensor in cut] for cut in blocks.cuts] == [
        ["r", "fc/part0"],
        ["r", "fc/joined1"],
        ["r", "fc/joined2"],
    ]
    tensors = {"x": draw(1, 6)}
    for index in range(len(blocks.blocks)):
        session = ort.InferenceSession(
            segment_model(network, blocks, index, index), providers=["CPUExecutionProvider"]
        )
        feeds = {one.name: tensors[one.name] for one in session.get_inputs()}
        names = [one.name for one in session.get_outputs()]
        tensors |= dict(zip(names, session.run(None, feeds), strict=True))
    np.testing.assert_array_equal(tensors["y"], answer(whole_model(network), tensors["x"]))


def test_the_rule_paper_sees_the_same_blocks_with_and_without_parts() -> None:
    plain, in_parts = load_network("alexnet"), load_network("alexnet", in_parts=True)
    assert plain.sha256 != in_parts.sha256
    one, other = cut_into_blocks(plain, "paper"), cut_into_blocks(in_parts, "paper")
    assert one.cuts == other.cuts
    assert [part.macs for part in one.blocks] == [part.macs for part in other.blocks]
    assert [part.weights_bytes for part in one.blocks] == [
        part.weights_bytes for part in other.blocks
    ]


def test_a_network_without_large_layers_is_the_same_in_parts() -> None:
    plain, in_parts = load_network("squeezenet"), load_network("squeezenet", in_parts=True)
    assert plain.sha256 == in_parts.sha256
    assert whole_model(plain) == whole_model(in_parts)
