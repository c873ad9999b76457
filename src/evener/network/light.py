"""The networks that ship with the package onnx, their weights drawn from a seed.

Their files keep small tensors as trained and make all others 0.001, so that every frame gets the
same answer. Here each weight is drawn so that its layer's output has about unit power, whatever
feeds it.
"""

import hashlib
from math import prod, sqrt
from pathlib import Path
from typing import Final

import numpy as np
import onnx
import onnx_ir as ir
from numpy.typing import NDArray

from evener.errors import InvalidNetworkError
from evener.network.graph import static_shape

FILES: Final[dict[str, str]] = {
    "alexnet": "light_bvlc_alexnet.onnx",
    "googlenet": "light_inception_v1.onnx",
    "resnet50": "light_resnet50.onnx",
    "squeezenet": "light_squeezenet.onnx",
    "shufflenet": "light_shufflenet.onnx",
    "vgg19": "light_vgg19.onnx",
    "zfnet512": "light_zfnet512.onnx",
    "inception-v2": "light_inception_v2.onnx",
    "densenet121": "light_densenet121.onnx",
}
"""File of each network, by the name that Evener gives it."""

# Softmax blows up the rounding of the layers before it by the size of the logits: at 1.0 the halves
# of ResNet-50 are within 3e-7 of the whole, at 4.0 within 5e-7.
_LOGIT_POWER: Final = 1.0
_RELU_KEEPS: Final = 0.5  # share of the power of a centred signal that is above zero
_LAYERS: Final = frozenset({"Conv", "Gemm"})
_VIEWS: Final = frozenset({"Reshape", "Unsqueeze"})
_SCALES: Final = frozenset({("BatchNormalization", 1), ("BatchNormalization", 4), ("Mul", 1)})
_OFFSETS: Final = frozenset(
    {("BatchNormalization", 2), ("BatchNormalization", 3), ("Add", 1), ("Conv", 2), ("Gemm", 2)}
)


def light_file(name: str) -> Path:
    """Return the file of a light network in the installed package onnx."""
    return Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / FILES[name]


def fill_weights(model: ir.Model, seed: int) -> None:
    """Replace every weight of a light network by one drawn from the seed, in place.

    A weight depends on the seed, its name, its shape and its place in the network, and not on
    the order in which weights are drawn.

    Args:
        model: as read; its nodes stand in topological order.
        seed: what the weights are drawn from.

    Raises:
        InvalidNetworkError: a weight is read by an operator of no known use.
    """
    graph = model.graph
    gains = _gains(graph)
    for weight in _weights(graph):
        reader, position = _reader(weight)
        low, high = _interval(reader, position, _shape(weight), gains.get(reader, 1.0))
        name = weight.name or ""
        tensor = ir.tensor(_draw(name, _shape(weight), low, high, seed), name=name)
        maker = weight.producer()
        if maker is None:
            weight.const_value = tensor
            continue
        filled = ir.Value(name=name, const_value=tensor)
        filled.shape = ir.Shape(_shape(weight))
        filled.dtype = ir.DataType.FLOAT
        weight.replace_all_uses_with(filled)
        graph.remove(maker, safe=True)
        graph.register_initializer(filled)


def _weights(graph: ir.Graph) -> list[ir.Value]:
    """List what the file gives as flat constants and the small tensors it keeps as trained."""
    flat = [node.outputs[0] for node in graph if node.op_type == "ConstantOfShape"]
    kept = [value for value in graph.initializers.values() if value.dtype == ir.DataType.FLOAT]
    return [value for value in flat + kept if value.uses()]


def _gains(graph: ir.Graph) -> dict[ir.Node, float]:
    """For each layer, the power that it should put out over the power that it reads."""
    layers = [node for node in graph if node.op_type in _LAYERS]
    power: dict[ir.Value, float] = {}
    gains = {}
    for node in graph:
        fed = [power[value] for value in node.inputs if value in power]
        strongest = max(fed, default=1.0)
        if node.op_type in _LAYERS:
            out = _LOGIT_POWER if node is layers[-1] else 1.0
            gains[node] = out / strongest
        elif node.op_type == "Sum":
            out = sum(fed)
        elif node.op_type == "Relu" and not _is_residual(node):
            out = _RELU_KEEPS * strongest
        else:
            out = strongest
        if fed or node.op_type in _LAYERS:  # what reads no power makes a weight
            power |= dict.fromkeys(node.outputs, out)
    return gains


def _is_residual(node: ir.Node) -> bool:
    """Whether a node reads a sum, most of which is above zero already."""
    return any(value is not None and _made_by(value) == "Sum" for value in node.inputs)


def _made_by(value: ir.Value) -> str:
    producer = value.producer()
    return producer.op_type if producer else ""


def _reader(weight: ir.Value) -> tuple[ir.Node, int]:
    use = next(iter(weight.uses()))
    while use.node.op_type in _VIEWS:
        use = next(iter(use.node.outputs[0].uses()))
    return use.node, use.idx


def _shape(weight: ir.Value) -> tuple[int, ...]:
    maker = weight.producer()
    if maker is None:
        return static_shape(weight) or ()
    sizes = maker.inputs[0]
    if sizes is None or sizes.const_value is None:
        raise InvalidNetworkError(
            f"node '{maker.name}' makes a weight of no fixed shape; use another network",
            node=maker.name or "",
        )
    return tuple(int(size) for size in sizes.const_value.numpy())


def _interval(
    reader: ir.Node, position: int, shape: tuple[int, ...], gain: float
) -> tuple[float, float]:
    """Return the interval from which a weight is drawn uniformly."""
    if reader.op_type in _LAYERS and position == 1:
        fan_in = prod([size for size in shape if size > 1][1:])
        bound = sqrt(3 * gain / fan_in)  # uniform on [-b, b] has the variance b*b/3
        return -bound, bound
    role = (reader.op_type, position)
    if role in _SCALES:
        return 0.8, 1.2
    if role in _OFFSETS:
        return -0.1, 0.1
    raise InvalidNetworkError(
        f"node '{reader.name}' ({reader.op_type}) reads a weight at position {position}, and no "
        "way to draw it is known; use another network",
        node=reader.name or "",
    )


def _draw(
    name: str, shape: tuple[int, ...], low: float, high: float, seed: int
) -> NDArray[np.float32]:
    key = hashlib.sha256(f"{seed}/{name}".encode()).digest()[:16]
    rng = np.random.Generator(np.random.Philox(key=int.from_bytes(key, "little")))
    array = rng.random(shape, dtype=np.float32)
    array *= np.float32(high - low)
    array += np.float32(low)
    return array
