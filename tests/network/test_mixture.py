"""Some blocks of a network in fewer bits stay in f32, and each computes what it did."""

import numpy as np
import onnx
import pytest
from onnx import helper

from evener.artifacts.tensor import Tensor
from evener.errors import InvalidNetworkError
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.frames import Frame, random_frames
from evener.network.mixture import mix
from evener.network.model import Network, parse_network
from evener.network.precision import closing_nodes, converted, for_conversion
from evener.network.split import segment_model, whole_model
from evener.runtime import get_runtime
from evener.runtime.lower import halve, quantise
from evener.runtime.pinning import PROCESS_CORES, pinned
from evener.runtime.session import Array, empty
from evener.testing import tiny

CORE = min(PROCESS_CORES)


def convolutions(layers: int = 4) -> bytes:
    """Make a chain of 3x3 convolutions with ReLU whose channels are of very different size."""
    rng = np.random.default_rng(0)
    names = ["x", *(f"r{layer}" for layer in range(layers - 1)), "y"]
    sizes = np.geomspace(0.01, 1.0, 6).astype(np.float32)[:, None, None, None]
    nodes, weights = [], {}
    for layer in range(layers):
        weights[f"w{layer}"] = sizes * rng.normal(size=(6, 6, 3, 3)).astype(np.float32)
        conv = [names[layer], f"w{layer}"]
        nodes.append(helper.make_node("Conv", conv, [f"c{layer}"], f"conv{layer}", pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [f"c{layer}"], [names[layer + 1]], f"relu{layer}"))
    ends = [tiny.floats(name, 1, 6, 8, 8) for name in ("x", "y")]
    return tiny.network(nodes, inputs=ends[:1], outputs=ends[1:], weights=weights)


def sharing() -> bytes:
    """Make a chain of products with one and the same matrix."""
    names = ["x", "h0", "h1", "h2", "y"]
    nodes = [
        helper.make_node("MatMul", [names[layer], "w"], [names[layer + 1]], f"product{layer}")
        for layer in range(4)
    ]
    return tiny.network(
        nodes,
        inputs=[tiny.floats("x", 4, 16)],
        outputs=[tiny.floats("y", 4, 16)],
        weights={"w": np.random.default_rng(0).normal(size=(16, 16)).astype(np.float32)},
    )


def opened(content: bytes) -> tuple[Network, Blocks]:
    network = parse_network(content, name="tiny")
    return network, cut_into_blocks(network, "paper")


def lowered(network: Network, blocks: Blocks, precision: str = "int8") -> Network:
    model = for_conversion(network, blocks)
    frames = random_frames(network.inputs, 16, seed=0)
    content = (
        quantise(model, frames, inputs=network.inputs, plain=closing_nodes(network))
        if precision == "int8"
        else halve(model)
    )
    return converted(network, blocks, content, precision)


def answer(models: list[bytes], inputs: tuple[Tensor, ...], frame: Frame, precision: str) -> Array:
    """Run models one after the other, each on what those before it made; return `y`."""
    values = {tensor.name: array for tensor, array in zip(inputs, frame, strict=True)}
    with pinned((CORE,)):
        for model in models:
            session = get_runtime("onnxruntime").open(
                model, cores=(CORE,), precision=precision, optimisation="extended"
            )
            made = [empty(tensor) for tensor in session.outputs]
            session.run([values[tensor.name] for tensor in session.inputs], made)
            values |= zip((tensor.name for tensor in session.outputs), made, strict=True)
            session.close()
    return values["y"]


@pytest.mark.parametrize("precision", ["int8", "fp16"])
@pytest.mark.parametrize("in_f32", [{0}, {1}, {1, 2}, {0, 3}, {0, 1, 2}])
@pytest.mark.parametrize("content", [tiny.dense(layers=4), convolutions(), sharing()])
def test_a_mixture_answers_as_the_blocks_of_both_do_one_after_the_other(
    content: bytes, in_f32: set[int], precision: str
) -> None:
    network, blocks = opened(content)
    made = lowered(network, blocks, precision)

    mixture = mix(network, made, blocks, in_f32)

    sources = [network if number in in_f32 else made for number in range(4)]
    chain = [segment_model(one, blocks, number, number) for number, one in enumerate(sources)]
    cut = [segment_model(mixture, blocks, number, number) for number in range(4)]
    differs = False
    for frame in random_frames(network.inputs, 3, seed=1):
        expected = answer(chain, network.inputs, frame, precision)
        whole = answer([whole_model(mixture)], network.inputs, frame, precision)
        assert np.array_equal(expected, whole)
        assert np.array_equal(expected, answer(cut, network.inputs, frame, precision))
        lower = answer([whole_model(made)], network.inputs, frame, precision)
        differs = differs or not np.array_equal(expected, lower)
    assert differs


def test_with_all_blocks_but_one_in_f32_the_answer_is_nearer_than_with_none() -> None:
    network, blocks = opened(convolutions())
    made = lowered(network, blocks)
    (frame,) = random_frames(network.inputs, 1, seed=2)
    exact = answer([whole_model(network)], network.inputs, frame, "f32")

    def off(in_f32: set[int]) -> float:
        mixture = whole_model(mix(network, made, blocks, in_f32))
        return float(np.abs(answer([mixture], network.inputs, frame, "int8") - exact).max())

    assert off({0, 1, 2, 3}) == 0
    assert 0 < off({0, 1, 2}) < off(set())


def test_with_no_block_in_f32_it_is_what_was_converted() -> None:
    network, blocks = opened(tiny.dense(layers=2))
    made = lowered(network, blocks)

    assert mix(network, made, blocks, ()) is made


def test_a_network_of_an_old_opset_is_raised_to_that_of_its_twin() -> None:
    model = onnx.load_from_string(tiny.dense(layers=2))
    model.opset_import[0].version = 11
    network, blocks = opened(model.SerializeToString())
    made = lowered(network, blocks)

    mixture = mix(network, made, blocks, {0})

    assert network.model.opset_imports[""] == 11
    assert mixture.model.opset_imports[""] == made.model.opset_imports[""] == 17


@pytest.mark.parametrize("in_f32", [{0}, {1}])
def test_blocks_of_different_opsets_are_not_put_together(in_f32: set[int]) -> None:
    network, blocks = opened(tiny.dense(layers=2))
    made = lowered(network, blocks)
    made.model.opset_imports[""] = 21

    with pytest.raises(
        InvalidNetworkError,
        match="tiny in int8: the network is of opset 17, and what was converted of 21, so that no "
        "block can stay in f32; leave that precision out",
    ):
        mix(network, made, blocks, in_f32)
