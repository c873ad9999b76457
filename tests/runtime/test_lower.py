"""The converters of ONNX Runtime, and what they leave behind: nothing."""

import logging
import subprocess
import sys

import numpy as np
import onnx
import pytest

from evener.errors import RuntimeFailedError
from evener.network.frames import random_frames
from evener.network.model import parse_network
from evener.runtime import lower
from evener.runtime.lower import halve, quantise
from evener.runtime.session import Array
from evener.testing import tiny

UNET = tiny.unet(depth=1)
NETWORK = parse_network(UNET, name="unet")
FRAMES = random_frames(NETWORK.inputs, 8, seed=0)


def kinds(model: bytes) -> list[str]:
    return [node.op_type for node in onnx.load_from_string(model).graph.node]


def test_the_same_frames_make_the_same_network() -> None:
    first = quantise(UNET, FRAMES, inputs=NETWORK.inputs)

    assert quantise(UNET, FRAMES, inputs=NETWORK.inputs) == first
    assert "QuantizeLinear" in kinds(first)


def test_other_frames_make_other_ranges() -> None:
    wider = [tuple(10 * array for array in frame) for frame in FRAMES]

    assert quantise(UNET, wider, inputs=NETWORK.inputs) != quantise(
        UNET, FRAMES, inputs=NETWORK.inputs
    )


def test_a_convolution_has_a_scale_for_each_channel() -> None:
    model = onnx.load_from_string(quantise(UNET, FRAMES, inputs=NETWORK.inputs))
    arrays = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    weights = {name: array for name, array in arrays.items() if array.dtype == np.int8}

    channels = {array.shape[0] for array in weights.values() if array.ndim == 4}

    scales = {array.size for name, array in arrays.items() if "w_" in name and "scale" in name}
    assert channels & scales - {1}


@pytest.mark.parametrize(("bits", "largest"), [(8, 127), (7, 64)])
def test_weights_have_as_many_bits_as_sums_have_room_for(
    bits: int, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lower, "weight_bits", lambda: bits)

    model = onnx.load_from_string(quantise(UNET, FRAMES, inputs=NETWORK.inputs))

    arrays = [onnx.numpy_helper.to_array(one) for one in model.graph.initializer]
    weights = [array for array in arrays if array.dtype == np.int8 and array.ndim == 4]
    assert max(int(np.abs(array.astype(int)).max()) for array in weights) == largest


def test_nodes_that_are_named_stay_plain() -> None:
    names = [node.name for node in onnx.load_from_string(UNET).graph.node]

    assert "QuantizeLinear" not in kinds(quantise(UNET, FRAMES, inputs=NETWORK.inputs, plain=names))


def test_half_of_the_bits_are_left_inside_and_none_lost_outside() -> None:
    model = onnx.load_from_string(halve(UNET))

    assert {one.data_type for one in model.graph.initializer} == {onnx.TensorProto.FLOAT16}
    ends = [*model.graph.input, *model.graph.output]
    assert {one.type.tensor_type.elem_type for one in ends} == {onnx.TensorProto.FLOAT}


def test_converting_leaves_logging_and_the_search_path_as_they_were() -> None:
    handlers, path = list(logging.getLogger().handlers), list(sys.path)

    quantise(UNET, FRAMES, inputs=NETWORK.inputs)
    halve(UNET)

    assert logging.getLogger().handlers == handlers
    assert sys.path == path


@pytest.mark.parametrize("first", ["halve(NET)", "quantise(NET, FRAMES, inputs=INPUTS)"])
def test_a_process_may_convert_in_any_order_and_finds_no_modules_of_theirs(first: str) -> None:
    program = f"""
import sys
from evener.network.frames import random_frames
from evener.network.model import parse_network
from evener.runtime import lower
from evener.runtime.lower import halve, quantise
from evener.testing import tiny
NET = tiny.dense(layers=1)
INPUTS = parse_network(NET, name="net").inputs
FRAMES = random_frames(INPUTS, 2, seed=0)
before = list(sys.path)
{first}
assert sys.path == before, sys.path
halve(NET)
quantise(NET, FRAMES, inputs=INPUTS)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("frames", [[], [(np.zeros((1, 3), np.float32),)]])
def test_what_the_converter_cannot_do_is_said_to_be_its_failure(
    frames: list[tuple[Array]],
) -> None:
    with pytest.raises(RuntimeFailedError, match="onnxruntime cannot convert the network to 8 bit"):
        quantise(UNET, frames, inputs=NETWORK.inputs)
