"""Write a sharded network as one ONNX file, whose absent weights are not computed where it pays.

A layer whose shards see everything is one Gemm. One whose shards see a part is either that part
gathered for each shard and a batched MatMul, or a Gemm with zeros for the weights that do not
exist: a Gemm copies nothing, and is quicker unless few of them exist.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, Final

import msgspec
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from evener.artifacts.windows import DENSE_FROM as DENSE_FROM
from evener.artifacts.windows import written_dense
from evener.errors import InputError
from evener.train.activations import Activation
from evener.train.clean import BATCH, INPUT, OUTPUT
from evener.train.export import OPSET
from evener.train.parameters import Parameters, runs_of
from evener.train.ranked import RankedNetwork
from evener.train.shape import Shape
from evener.train.sharding import coarse_groups
from evener.train.views import Part, parts_of_runs

TOPOLOGY: Final = "evener.topology"
"""Key of the file's metadata under which its `Topology` stands, as JSON."""

ANSWERS: Final = "answers"
"""Name of the output where it holds no probabilities."""

_LARGEST_BYTES: Final = (1 << 31) - (1 << 20)  # protobuf's limit, and room for all but weights

_OPERATORS: Final[dict[Activation, str]] = {
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "relu": "Relu",
    "gelu": "Gelu",
    "softmax": "Softmax",
}


def export_sharded(
    shape: Shape, layers: Sequence[Sequence[Part]], *, dense_from: float = DENSE_FROM
) -> bytes:
    """Return the ONNX file of a network.

    Args:
        shape: the network.
        layers: the shards of each, as `gather_parts` returns them.
        dense_from: share of a layer's weights that exist from which it is written with zeros for
            the others.

    Returns:
        "features" (batch, inputs) in; "probabilities" (batch, outputs) out behind a softmax, else
        "answers". The topology stands in its metadata.

    Raises:
        InputError: the weights are more than an ONNX file holds.
    """
    writer = _Writer(shape)
    for layer, shards in enumerate(layers, 1):
        writer.add_layer(layer, shards, dense_from)
    return writer.finish()


def gather_parts(network: RankedNetwork) -> list[list[Part]] | None:
    """Return the shards of each layer but the input on the first rank; every rank calls it.

    Args:
        network: the rank's part.

    Returns:
        Shards in the order of their neurons, all of one rank as one where the network is dense;
        None on other ranks.
    """
    communicator = network.communicator
    shape, placement = network.shape, network.placement
    flat = network.parameters.flat
    if communicator.rank:
        exchange = communicator.open_exchange("export", {0: flat.numpy()}, {})
        exchange.start()
        exchange.wait()
        exchange.close()
        return None
    layers = range(1, len(shape.widths))
    found: list[list[Part]] = [[] for _ in layers]
    received = {}
    pending = []
    for rank in range(communicator.size):
        reaches = [network.reach(layer, rank) for layer in layers]
        runs = [
            runs_of(
                shape,
                placement,
                reaches[layer - 1].columns,
                layer,
                rank,
                summed=network.summed[layer - 1],
            )
            for layer in layers
        ]
        parameters = network.parameters
        if rank:
            parameters = Parameters([[one.shape for one in some] for some in runs], flat.dtype)
            received[rank] = parameters.flat.numpy()
        pending.append((rank, reaches, runs, parameters))
    exchange = communicator.open_exchange("export", {}, received)
    exchange.start()
    exchange.wait()
    exchange.close()
    for rank, reaches, runs, parameters in pending:
        for layer in layers:
            first = int(placement.bounds(shape.widths[layer])[rank])
            found[layer - 1] += parts_of_runs(
                reaches[layer - 1],
                first,
                [(one.shards, one.rows) for one in runs[layer - 1]],
                parameters.views[layer - 1],
            )
    return found


class _Writer:
    """The nodes and weights of a file."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._bytes = 0
        self._now = INPUT

    def add_layer(self, layer: int, shards: Sequence[Part], dense_from: float) -> None:
        """Add a layer and its activation."""
        seen = self._add_coarse(layer)
        if written_dense(self._shape.topology, self._shape.widths, layer, dense_from):
            self._add_dense(layer, shards, seen)
        else:
            self._add_sharded(layer, shards)
        activation = self._shape.activations[layer - 1]
        if activation == "softmax":
            self._node("Softmax", f"layer{layer}.softmax", [self._now], axis=1)
        elif activation != "identity":
            operator = _OPERATORS[activation]
            self._node(operator, f"layer{layer}.{activation}", [self._now])

    def _add_coarse(self, layer: int) -> int:
        """Add the means that shards see of one another, and return how many values there are."""
        before = self._shape.widths[layer - 1]
        groups = coarse_groups(self._shape.topology, self._shape.widths, layer)
        if groups is None:
            return before
        mean_NG = np.zeros((before, len(groups) - 1), np.float32)
        for group, (first, last) in enumerate(pairwise(groups.tolist())):
            mean_NG[first:last, group] = 1 / (last - first)
        values = self._now
        weights = self._constant(f"layer{layer}.groups", mean_NG)
        self._node("MatMul", f"layer{layer}.coarse", [values, weights])
        self._node("Concat", f"layer{layer}.seen", [values, self._now], axis=1)
        return before + len(groups) - 1

    def _add_dense(self, layer: int, shards: Sequence[Part], seen: int) -> None:
        weight_MC = np.zeros((self._shape.widths[layer], seen), np.float32)
        bias_M = np.zeros(self._shape.widths[layer], np.float32)
        for neurons, columns, weight, bias in shards:
            rows = np.arange(neurons.start, neurons.stop)
            weight_MC[rows[:, np.newaxis], columns] = weight.numpy()
            bias_M[rows] += bias.numpy()  # where sums are added up, that of one rank, and zeros
        names = [
            self._now,
            self._constant(f"layer{layer}.weight", weight_MC),
            self._constant(f"layer{layer}.bias", bias_M),
        ]
        self._node("Gemm", f"layer{layer}.sums", names, transB=1)

    def _add_sharded(self, layer: int, shards: Sequence[Part]) -> None:
        # As in training a neuron's rows of the batch lie together: so they are gathered quickest.
        self._node("Transpose", f"layer{layer}.values", [self._now], perm=[1, 0])
        values, made = self._now, []
        for place, equal in enumerate(_equal(shards)):
            name = f"layer{layer}.run{place}"
            weight_SMC = np.stack([weight.numpy() for _, _, weight, _ in equal])
            bias_SM1 = np.stack([bias.numpy()[:, np.newaxis] for _, _, _, bias in equal])
            columns_SC = np.stack([columns for _, columns, _, _ in equal])
            names = [values, self._constant(f"{name}.columns", columns_SC)]
            self._node("Gather", f"{name}.seen", names, axis=0)
            weight = self._constant(f"{name}.weight", weight_SMC.astype(np.float32))
            self._node("MatMul", f"{name}.products", [weight, self._now])
            bias = self._constant(f"{name}.bias", bias_SM1.astype(np.float32))
            self._node("Add", f"{name}.shards", [self._now, bias])
            made.append(self._now)
            if len(shards) > len(equal):  # runs of other shapes are to stand beside it
                made[-1] = self._flat(name, *weight_SMC.shape[:2])
        if len(made) > 1:
            self._node("Concat", f"layer{layer}.neurons", made, axis=0)
        else:
            self._flat(f"layer{layer}", *weight_SMC.shape[:2])
        self._node("Transpose", f"layer{layer}.sums", [self._now], perm=[1, 0])

    def _flat(self, name: str, shards: int, neurons: int) -> str:
        """Put the neurons of shards one behind the other, and return them."""
        shape = self._constant(f"{name}.shape", np.array([shards * neurons, -1], np.int64))
        self._node("Reshape", f"{name}.flat", [self._now, shape])
        return self._now

    def _node(
        self,
        operator: str,
        name: str,
        inputs: Sequence[str],
        **attributes: Any,  # noqa: ANN401 - as onnx takes them
    ) -> None:
        self._nodes.append(helper.make_node(operator, inputs, [name], name, **attributes))
        self._now = name

    def _constant(self, name: str, array: "NDArray[np.float32] | NDArray[np.int64]") -> str:
        self._bytes += array.nbytes
        if self._bytes > _LARGEST_BYTES:
            raise InputError(
                f"weights of {self._bytes / 1e9:.1f} GB and more: an ONNX file holds 2 GB; export "
                "a network of fewer weights"
            )
        self._weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def finish(self) -> bytes:
        """Return the file."""
        widths = self._shape.widths
        output = OUTPUT if self._shape.activations[-1] == "softmax" else ANSWERS
        self._nodes[-1].output[0] = output
        graph = helper.make_graph(
            self._nodes,
            "network",
            [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, [BATCH, widths[0]])],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, [BATCH, widths[-1]])],
            self._weights,
        )
        model = helper.make_model(
            graph, producer_name="evener", opset_imports=[helper.make_opsetid("", OPSET)]
        )
        model.ir_version = min(model.ir_version, 10)  # the newest that onnxruntime 1.20 reads
        topology = json.dumps(msgspec.to_builtins(self._shape.topology), sort_keys=True)
        helper.set_model_props(model, {TOPOLOGY: topology})
        onnx.checker.check_model(model, full_check=True)
        content: bytes = model.SerializeToString(deterministic=True)
        return content


def _equal(shards: Sequence[Part]) -> Iterator[list[Part]]:
    """Yield neighbouring shards that have equally many neurons and see equally many."""
    for _, equal in groupby(shards, key=lambda shard: tuple(shard[2].shape)):
        yield list(equal)
