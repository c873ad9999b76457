"""A network in fewer bits is cut where the f32 one is, and its segments compute what it does."""

import numpy as np
import onnx
import pytest
from onnx import helper

from evener.artifacts.tensor import Tensor
from evener.errors import InputError, InvalidNetworkError
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.frames import Frame, random_frames
from evener.network.model import Network, parse_network
from evener.network.precision import (
    closing_nodes,
    converted,
    crossing_tensors,
    for_conversion,
)
from evener.network.split import segment_model, whole_model
from evener.runtime import get_runtime
from evener.runtime.lower import halve, quantise
from evener.runtime.pinning import PROCESS_CORES, pinned
from evener.runtime.session import Array, empty
from evener.testing import tiny

CORE = min(PROCESS_CORES)


def opened(content: bytes) -> tuple[Network, Blocks]:
    network = parse_network(content, name="tiny")
    return network, cut_into_blocks(network, "paper")


def lowered(network: Network, blocks: Blocks, precision: str, frames: list[Frame]) -> Network:
    model = for_conversion(network, blocks)
    content = (
        quantise(model, frames, inputs=network.inputs, plain=closing_nodes(network))
        if precision == "int8"
        else halve(model)
    )
    return converted(network, blocks, content, precision)


def answers(models: list[bytes], inputs: tuple[Tensor, ...], frame: Frame) -> dict[str, Array]:
    """Run models one after the other, each on what those before it made."""
    values = {tensor.name: array for tensor, array in zip(inputs, frame, strict=True)}
    with pinned((CORE,)):
        for model in models:
            session = get_runtime("onnxruntime").open(model, cores=(CORE,), optimisation="extended")
            made = [empty(tensor) for tensor in session.outputs]
            session.run([values[tensor.name] for tensor in session.inputs], made)
            values |= zip((tensor.name for tensor in session.outputs), made, strict=True)
            session.close()
    return values


@pytest.mark.parametrize("precision", ["int8", "fp16"])
@pytest.mark.parametrize("content", [tiny.dense(layers=4), tiny.unet(depth=1)])
def test_segments_answer_as_the_whole_converted_network_to_the_bit(
    content: bytes, precision: str
) -> None:
    network, blocks = opened(content)
    made = lowered(network, blocks, precision, random_frames(network.inputs, 16, seed=0))
    segments = [segment_model(made, blocks, one, one) for one in range(len(blocks.blocks))]
    assert len(segments) > 1

    differs = False
    for frame in random_frames(network.inputs, 4, seed=1):
        whole = answers([whole_model(made)], network.inputs, frame)["y"]
        split = answers(segments, network.inputs, frame)["y"]
        exact = answers([whole_model(network)], network.inputs, frame)["y"]

        assert np.array_equal(whole, split)
        assert np.allclose(whole, exact, atol=0.1 * np.abs(exact).max())
        differs = differs or not np.array_equal(whole, exact)
    assert differs


def test_what_crosses_a_cut_stays_f32() -> None:
    network, blocks = opened(tiny.dense(layers=4))

    for precision in ("int8", "fp16"):
        made = lowered(network, blocks, precision, random_frames(network.inputs, 8, seed=0))
        for number in range(1, len(blocks.blocks)):
            part = parse_network(segment_model(made, blocks, number, number), name="part")

            assert [tensor.dtype for tensor in part.inputs] == ["float32"]


def test_segments_of_different_precisions_fit_together() -> None:
    network, blocks = opened(tiny.dense(layers=4))
    frames = random_frames(network.inputs, 16, seed=0)
    made = {name: lowered(network, blocks, name, frames) for name in ("int8", "fp16")}
    mixture = [made["int8"], network, made["fp16"], made["int8"]]
    segments = [segment_model(one, blocks, at, at) for at, one in enumerate(mixture)]

    mixed = answers(segments, network.inputs, frames[0])["y"]

    exact = answers([whole_model(network)], network.inputs, frames[0])["y"]
    assert np.allclose(mixed, exact, atol=0.1)


def test_weights_are_kept_in_eight_bits() -> None:
    network, blocks = opened(tiny.unet(depth=1))
    made = lowered(network, blocks, "int8", random_frames(network.inputs, 8, seed=0))

    kinds = {one.data_type for one in onnx.load_from_string(whole_model(made)).graph.initializer}

    assert onnx.TensorProto.INT8 in kinds


def test_each_tensor_that_crosses_cuts_counts_once_and_inputs_do_not() -> None:
    network, blocks = opened(tiny.dense(layers=4))

    assert [tensor.name for tensor in crossing_tensors(network, blocks)] == ["h1", "h2", "h3"]


def test_what_stands_behind_the_last_weights_stays_in_f32() -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], "product"),
        helper.make_node("Relu", ["a"], ["b"], "bend"),
        helper.make_node("MatMul", ["b", "w"], ["c"], "again"),
        helper.make_node("Add", ["c", "x"], ["d"], "sum"),
        helper.make_node("Softmax", ["d"], ["y"], "shares"),
    ]
    content = tiny.network(
        nodes,
        inputs=[tiny.floats("x", 1, 4)],
        outputs=[tiny.floats("y", 1, 4)],
        weights={"w": np.eye(4, dtype=np.float32)},
    )

    assert closing_nodes(parse_network(content, name="tiny")) == ("sum", "shares")


def test_a_network_of_an_old_opset_is_raised() -> None:
    model = onnx.load_from_string(tiny.dense(layers=2))
    model.opset_import[0].version = 11
    network, blocks = opened(model.SerializeToString())

    raised = onnx.load_from_string(for_conversion(network, blocks))

    assert raised.opset_import[0].version == 17
    made = lowered(network, blocks, "int8", random_frames(network.inputs, 8, seed=0))
    assert made.outputs == network.outputs


def test_a_network_with_a_state_is_refused() -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Add", ["a", "h"], ["y"]),
        helper.make_node("Tanh", ["y"], ["hn"]),
    ]
    content = tiny.network(
        nodes,
        inputs=[tiny.floats("x", 1, 4), tiny.floats("h", 1, 4)],
        outputs=[tiny.floats("y", 1, 4), tiny.floats("hn", 1, 4)],
        weights={"w": np.eye(4, dtype=np.float32)},
    )
    network = parse_network(content, name="tiny", states={"hn": "h"})

    with pytest.raises(InputError, match="tiny keeps h from frame to frame.*leave --precision out"):
        for_conversion(network, cut_into_blocks(network, "paper"))


def test_a_converted_network_without_a_tensor_that_crosses_a_cut_is_refused() -> None:
    network, blocks = opened(tiny.dense(layers=2))

    with pytest.raises(InvalidNetworkError, match="tiny in int8 lacks the tensor 'h1'"):
        converted(network, blocks, whole_model(network), "int8")


def test_a_converted_network_with_other_inputs_is_refused() -> None:
    network, blocks = opened(tiny.dense(layers=1))
    other = tiny.dense(layers=1, width=4)

    with pytest.raises(InvalidNetworkError, match=r"tiny in fp16 has float32 \[2, 4\] 'x' where"):
        converted(network, blocks, other, "fp16")
