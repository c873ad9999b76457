"""Write the graph of a network that is still to be trained, so that it can be planned before.

The operators are those that training writes, so that the graph has the blocks of the file to come.
Its weights have shapes only: they are drawn from a seed when somebody reads them, and a search that
plans thousands of networks draws none.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from math import prod, sqrt
from typing import Final

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from evener.artifacts.architecture import Architecture
from evener.artifacts.conv_stack import Block, ConvStack
from evener.artifacts.layer_graph import Activation, LayerGraph
from evener.artifacts.networks import Ends, topology_of
from evener.artifacts.networks import Network as Found
from evener.artifacts.tensor import Tensor
from evener.artifacts.topology import Topology
from evener.artifacts.windows import Window, windows_of, written_dense
from evener.errors import InputError
from evener.network.model import Network

_OPSET: Final = 20
_IR_VERSION: Final = 10
_NODE_BYTES: Final = 200  # of a node and what names its weights, in files that training wrote
_PLACES: Final = 2  # axes of a picture behind its channels
_OPERATORS: Final[Mapping[Activation, str]] = {
    "relu": "Relu",
    "tanh": "Tanh",
    "gelu": "Gelu",
    "sigmoid": "Sigmoid",
}


def draft_network(found: Found, ends: Ends, *, seed: int = 0) -> Network:
    """Make a network with weights that are drawn instead of trained.

    Args:
        found: what a search found.
        ends: its inputs and outputs.
        seed: what the weights are drawn from.

    Returns:
        A network for one frame, "features" (1, F) in and "probabilities" (1, O) out.

    Raises:
        InputError: it is a forest, which has no layers; it reads pictures and rows are none; or a
            layer is fed by nothing.

    Example:
        >>> from evener.network.blocks import cut_into_blocks
        >>> graph = LayerGraph(widths=(32, 16), links=((0, 1), (1, 2), (2, 3)))
        >>> network = draft_network(graph, Ends(features=64, outputs=10))
        >>> [block.macs for block in cut_into_blocks(network, "paper").blocks]
        [2048, 512, 160]
    """
    sketch = _Sketch(seed)
    features = sketch.input("features", (1, ends.features))
    topology = topology_of(found)
    if isinstance(found, ConvStack):
        sums = _draw_stack(sketch, found, ends, sketch.standardise(features))
    elif topology is None:
        sums = _draw_layers(sketch, _as_graph(found), ends, sketch.standardise(features))
    else:
        sums = _draw_divided(sketch, _as_graph(found), topology, ends, features)
    axis = -1 if topology is None else 1
    answer = sketch.node("Softmax", "probabilities", [sums], sums.shape, axis=axis)
    outputs = (Tensor(name="probabilities", shape=(1, ends.outputs), dtype="float32"),)
    return Network(
        name=str(found),
        sha256=hashlib.sha256(f"{found.id}/{ends}/{seed}".encode()).hexdigest(),
        inputs=(Tensor(name="features", shape=(1, ends.features), dtype="float32"),),
        outputs=outputs,
        model=sketch.finish(features, answer),
    )


def file_bytes(network: Network) -> int:
    """Return about how many bytes the file of a draft will have, without drawing its weights."""
    graph = network.model.graph
    weights = (one.const_value for one in graph.initializers.values())
    return sum(one.nbytes for one in weights if one is not None) + _NODE_BYTES * len(graph)


def draft_file(network: Network) -> bytes:
    """Return the ONNX file of a draft, which takes any number of rows, as those of training do."""
    proto = ir.to_proto(network.model)
    del proto.graph.value_info[:]  # shapes of one row
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    content: bytes = proto.SerializeToString()
    return content


def _as_graph(found: Architecture | LayerGraph) -> LayerGraph:
    if isinstance(found, LayerGraph):
        return found
    if found.family == "forest":
        raise InputError(f"{found} has no layers to plan; plan the file that its training writes")
    nodes = len(found.hidden) + 1
    return LayerGraph(
        widths=found.hidden,
        links=tuple((node, node + 1) for node in range(nodes)),
        activation=found.activation,
    )


def _draw_layers(sketch: "_Sketch", graph: LayerGraph, ends: Ends, values: ir.Value) -> ir.Value:
    made = [values]
    widths = (*graph.widths, ends.outputs)
    for node, width in enumerate(widths, 1):
        fed = [made[start] for start, end in graph.links if end == node]
        if not fed:
            raise InputError(
                f"{graph}: nothing feeds layer {node}; leave out what computes nothing"
            )
        name = f"layer{node}"
        seen = fed[0] if len(fed) == 1 else sketch.join(f"{name}.seen", fed)
        sums = sketch.dense(name, seen, width)
        made.append(sums if node == graph.output else sketch.activate(graph.activation, sums))
    return made[-1]


def _draw_divided(
    sketch: "_Sketch", graph: LayerGraph, topology: Topology, ends: Ends, now: ir.Value
) -> ir.Value:
    """Add layers as `evener.train.sharded_onnx` writes them, which standardises in the first."""
    widths = (ends.features, *graph.widths, ends.outputs)
    for layer in range(1, len(widths)):
        if written_dense(topology, widths, layer):
            now = sketch.dense(f"layer{layer}", now, widths[layer])
        else:
            now = _draw_shards(sketch, layer, windows_of(topology, widths, layer), now)
        if layer < graph.output:
            now = sketch.activate(graph.activation, now, f"layer{layer}")
    return now


def _draw_shards(
    sketch: "_Sketch", layer: int, windows: Sequence[Window], before: ir.Value
) -> ir.Value:
    """Add one layer of shards, those of equal shape as one batched product."""
    there = [one for one in windows if one.neurons]
    width = _shape(before)[-1]
    values = sketch.node("Transpose", f"layer{layer}.values", [before], (width, 1), perm=[1, 0])
    made = []
    equal = [list(some) for _, some in groupby(there, key=lambda one: (one.neurons, one.count))]
    for place, run in enumerate(equal):
        name = f"layer{layer}.run{place}"
        now = sketch.batch(name, values, run, width)
        made.append(sketch.flat(name, now) if len(equal) > 1 else now)
    if len(made) > 1:
        neurons = sum(one.neurons for one in there)
        now = sketch.node("Concat", f"layer{layer}.neurons", made, (neurons, 1), axis=0)
    else:
        now = sketch.flat(f"layer{layer}", made[0])
    return sketch.node("Transpose", f"layer{layer}.sums", [now], _shape(now)[::-1], perm=[1, 0])


def _draw_stack(sketch: "_Sketch", stack: ConvStack, ends: Ends, values: ir.Value) -> ir.Value:
    if ends.picture is None:
        raise InputError(
            f"{stack} reads pictures, and a row is {ends.features} numbers in no order: give data "
            "of pictures, or search for networks of dense layers"
        )
    shape = sketch.numbers("picture.shape", (-1, *ends.picture))
    now = sketch.node("Reshape", "picture", [values, shape], (1, *ends.picture))
    for number, block in enumerate(stack.blocks):
        now = _draw_block(sketch, f"block{number}", block, stack.activation, now)
    if stack.head == "mean":
        now = sketch.node("GlobalAveragePool", "means", [now], (1, _shape(now)[1], 1, 1))
    now = sketch.node("Flatten", "flat", [now], (1, prod(_shape(now))), axis=1)
    if stack.hidden:
        now = sketch.activate(stack.activation, sketch.dense("hidden", now, stack.hidden))
    return sketch.dense("output", now, ends.outputs)


def _draw_block(
    sketch: "_Sketch", name: str, block: Block, activation: Activation, before: ir.Value
) -> ir.Value:
    if block.kind == "pool3x3":
        now = sketch.pool(name, before, block.stride)
    elif block.kind == "depthwise3x3":
        channels = _shape(before)[1]
        apart = sketch.convolve(
            f"{name}.depthwise", before, channels, 3, stride=block.stride, group=channels
        )
        now = sketch.activate(activation, sketch.convolve(name, apart, block.channels, 1))
    else:
        size = 1 if block.kind == "conv1x1" else 3
        sums = sketch.convolve(name, before, block.channels, size, stride=block.stride)
        now = sketch.activate(activation, sums)
    if block.residual:
        now = sketch.node("Add", f"{name}.sum", [now, before], _shape(now))
    return now


class _Sketch:
    """Nodes and weights of a graph, in order, every shape known."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._nodes: list[ir.Node] = []
        self._weights: list[ir.Value] = []

    def input(self, name: str, shape: Sequence[int]) -> ir.Value:
        """Return what a frame holds."""
        return _value(name, shape)

    def standardise(self, values: ir.Value) -> ir.Value:
        """Add what brings features to mean 0 and deviation 1."""
        width = _shape(values)[-1]
        centred = self.node(
            "Sub", "centred", [values, self._weight("mean", (width,))], values.shape
        )
        scale = self._weight("scale", (width,), constant=1.0)
        return self.node("Mul", "standardised", [centred, scale], values.shape)

    def join(self, name: str, values: Sequence[ir.Value]) -> ir.Value:
        """Add what puts rows one behind the other."""
        width = sum(_shape(one)[-1] for one in values)
        return self.node("Concat", name, values, (1, width), axis=1)

    def dense(self, name: str, values: ir.Value, width: int) -> ir.Value:
        """Add a product with weights and a bias."""
        weights = self._weight(f"{name}.weight", (width, _shape(values)[-1]))
        bias = self._weight(f"{name}.bias", (width,))
        return self.node("Gemm", f"{name}.sums", [values, weights, bias], (1, width), transB=1)

    def convolve(
        self,
        name: str,
        picture: ir.Value,
        channels: int,
        size: int,
        *,
        stride: int = 1,
        group: int = 1,
    ) -> ir.Value:
        """Add a convolution that is padded so that only its stride shrinks the picture."""
        weights = self._weight(
            f"{name}.weight", (channels, _shape(picture)[1] // group, size, size)
        )
        return self.node(
            "Conv",
            f"{name}.sums",
            [picture, weights, self._weight(f"{name}.bias", (channels,))],
            _strided(picture, channels, stride),
            kernel_shape=[size] * _PLACES,
            pads=[size // 2] * (2 * _PLACES),
            strides=[stride] * _PLACES,
            group=group,
        )

    def pool(self, name: str, picture: ir.Value, stride: int) -> ir.Value:
        """Add the means of 3x3 places, padded likewise."""
        return self.node(
            "AveragePool",
            name,
            [picture],
            _strided(picture, _shape(picture)[1], stride),
            kernel_shape=[3] * _PLACES,
            pads=[1] * (2 * _PLACES),
            strides=[stride] * _PLACES,
        )

    def activate(self, activation: Activation, sums: ir.Value, name: str | None = None) -> ir.Value:
        """Add an activation, whose name begins with that of the sums if no other is given."""
        called = f"{name or sums.name}.{activation}"
        return self.node(_OPERATORS[activation], called, [sums], sums.shape)

    def node(
        self,
        operator: str,
        name: str,
        inputs: Sequence[ir.Value],
        shape: "Sequence[int] | ir.Shape | None",
        **attributes: "int | list[int]",
    ) -> ir.Value:
        """Add a node, and return what it makes, which has its name."""
        given = [_attribute(key, value) for key, value in attributes.items()]
        node = ir.Node("", operator, inputs, given, name=name)
        (made,) = node.outputs
        made.name, made.dtype = name, ir.DataType.FLOAT
        made.shape = shape if isinstance(shape, ir.Shape) else ir.Shape(shape or ())
        self._nodes.append(node)
        return made

    def numbers(self, name: str, numbers: Sequence[int]) -> ir.Value:
        """Return integers that are no weights."""
        return self._constant(name, np.array(numbers, np.int64))

    def batch(self, name: str, values: ir.Value, shards: Sequence[Window], width: int) -> ir.Value:
        """Add the products of shards of one shape with what each sees of a ring of neurons."""
        neurons, count = shards[0].neurons, shards[0].count
        starts = np.array([[one.start] for one in shards], np.int64)
        columns = self._constant(f"{name}.columns", (starts + np.arange(count)) % width)
        seen = self.node(
            "Gather", f"{name}.seen", [values, columns], (len(shards), count, 1), axis=0
        )
        shape = (len(shards), neurons, 1)
        weight = self._weight(f"{name}.weight", (len(shards), neurons, count))
        products = self.node("MatMul", f"{name}.products", [weight, seen], shape)
        bias = self._weight(f"{name}.bias", shape, constant=0.0)
        return self.node("Add", f"{name}.shards", [products, bias], shape)

    def flat(self, name: str, shards: ir.Value) -> ir.Value:
        """Add what puts the neurons of shards one behind the other."""
        neurons = prod(_shape(shards))
        shape = self.numbers(f"{name}.shape", (neurons, -1))
        return self.node("Reshape", f"{name}.flat", [shards, shape], (neurons, 1))

    def finish(self, features: ir.Value, answer: ir.Value) -> ir.Model:
        """Return the model."""
        graph = ir.Graph(
            [features],
            [answer],
            nodes=self._nodes,
            initializers=self._weights,
            opset_imports={"": _OPSET},
            name="network",
        )
        return ir.Model(graph, ir_version=_IR_VERSION, producer_name="evener")

    def _constant(self, name: str, numbers: NDArray[np.int64]) -> ir.Value:
        value = _value(name, numbers.shape, ir.DataType.INT64)
        value.const_value = ir.tensor(numbers, name=name)
        self._weights.append(value)
        return value

    def _weight(self, name: str, shape: Sequence[int], constant: float | None = None) -> ir.Value:
        value = _value(name, shape)
        value.const_value = ir.LazyTensor(
            partial(_draw, f"{self._seed}/{name}", name, tuple(shape), constant),
            dtype=ir.DataType.FLOAT,
            shape=ir.Shape(shape),
            name=name,
        )
        self._weights.append(value)
        return value


def _draw(key: str, name: str, shape: tuple[int, ...], constant: float | None) -> ir.TensorProtocol:
    """Draw weights as widely as a relu network wants them (He et al., 2015); no biases."""
    if constant is not None or len(shape) == 1:
        return ir.Tensor(np.full(shape, constant or 0.0, np.float32), name=name)
    bits = hashlib.sha256(key.encode()).digest()[:16]
    rng = np.random.Generator(np.random.Philox(key=int.from_bytes(bits, "little")))
    drawn = rng.standard_normal(shape, dtype=np.float32)
    return ir.Tensor(drawn * np.float32(sqrt(2 / prod(shape[1:]))), name=name)


def _attribute(name: str, value: int | list[int]) -> ir.Attr:
    # `ir.node` would find out the type by itself, in a third of the time that a whole cost takes.
    return ir.AttrInt64(name, value) if isinstance(value, int) else ir.AttrInt64s(name, value)


def _value(name: str, shape: Sequence[int], dtype: ir.DataType = ir.DataType.FLOAT) -> ir.Value:
    return ir.Value(name=name, shape=ir.Shape(shape), type=ir.TensorType(dtype))


def _shape(value: ir.Value) -> tuple[int, ...]:
    return () if value.shape is None else value.shape.numpy()


def _strided(picture: ir.Value, channels: int, stride: int) -> tuple[int, ...]:
    _, _, height, width = _shape(picture)
    return 1, channels, -(-height // stride), -(-width // stride)
