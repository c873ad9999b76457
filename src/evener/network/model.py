"""A network: an ONNX model, checked and in normal form, with static shapes."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import onnx
import onnx_ir as ir

from evener.artifacts.tensor import Tensor
from evener.errors import InvalidFileError, InvalidNetworkError
from evener.network import light
from evener.network.graph import as_tensor, between, live_nodes, static_shape
from evener.network.normalise import normalise, tidy
from evener.network.shapes import settle_shapes, widen_inputs, without_weights
from evener.network.slices import slice_layers
from evener.network.source import decode, external_weights, load_external_weights, read_file
from evener.network.state import State, find_states, gather, names_of


@dataclass(frozen=True, eq=False)
class Network:
    """An ONNX model in normal form: every name unique, every constant apart, nodes in order.

    Attributes:
        name: what people call it.
        sha256: hash of the source's bytes, its weights in other files, and what shapes, fixed
            inputs and states were given and which layers were sliced; for a file with none of
            these, its plain hash.
        inputs: what a frame holds, in graph order; no states.
        outputs: what an answer holds, in graph order; no states.
        model: the graph; only read it.
        states: what is handed from frame to frame.
    """

    name: str
    sha256: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    model: ir.Model
    states: tuple[State, ...] = ()

    def value(self, name: str) -> ir.Value:
        """Return the value of a name.

        Raises:
            InvalidNetworkError: the network has no value of that name.
        """
        values = ir.convenience.create_value_mapping(self.model.graph, include_subgraphs=False)
        if name not in values:
            raise InvalidNetworkError(
                f"'{self.name}' has no tensor '{name}'; give one of those its cuts list"
            )
        return values[name]


def load_network(
    source: str | Path,
    *,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    fixed: Mapping[str, float] | None = None,
    states: Mapping[str, str] | None = None,
    seed: int = 0,
    batch: int = 1,
    in_slices: bool = False,
) -> Network:
    """Read a network from a file, or make one of those that come with the package onnx.

    Args:
        source: path of an ONNX file, or a name in `evener.network.light.FILES`.
        shapes: shape by name of input, for inputs that leave a dimension open.
        fixed: number by name of input, for inputs that are to be constants: they are read no more,
            and what follows from them is computed once.
        states: input by output, for outputs of one frame that are inputs of the next.
        seed: what the weights of a light network are drawn from; a file has its own.
        batch: how many frames its inputs hold along their first dimension; see
            `evener.network.batch`, which checks that the network can take as many.
        in_slices: whether heavy layers are sliced, see `evener.network.slices`.

    Raises:
        InvalidFileError: there is no such file, or it is no ONNX file.
        InvalidNetworkError: the network cannot be planned or run as it is.

    Example:
        >>> load_network("squeezenet").inputs
        (Tensor(name='data_0', shape=(1, 3, 224, 224), dtype='float32'),)
    """
    if source in light.FILES:
        name = str(source)
        content = light.light_file(name).read_bytes()
        model = decode(content, name)
        light.fill_weights(model, seed)
        sources: Iterable[bytes] = [content, f"seed {seed}".encode()]
        return _network(model, name, sources, shapes, fixed, states, batch, in_slices=in_slices)
    path = Path(source)
    content = read_file(path)
    model = decode(content, str(path))
    beside = load_external_weights(model, path)
    name = path.stem.encode(errors="backslashreplace").decode()  # may be no UTF-8
    return _network(
        model, name, chain([content], beside), shapes, fixed, states, batch, in_slices=in_slices
    )


def parse_network(
    content: bytes,
    *,
    name: str,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    fixed: Mapping[str, float] | None = None,
    states: Mapping[str, str] | None = None,
) -> Network:
    """Read a network from the bytes of an ONNX file.

    Args:
        content: the bytes.
        name: what to call it.
        shapes: shape by name of input, for inputs that leave a dimension open.
        fixed: number by name of input, for inputs that are to be constants.
        states: input by output, for outputs of one frame that are inputs of the next.

    Raises:
        InvalidFileError: the bytes are no ONNX file, or keep weights in other files.
        InvalidNetworkError: the network cannot be planned or run as it is.
    """
    model = decode(content, name)
    for tensor in external_weights(model):
        raise InvalidFileError(
            f"'{name}' keeps the weight '{tensor.name}' in the file '{tensor.location}' beside it; "
            "give the path of the network instead of its bytes",
            path=str(tensor.location),
        )
    return _network(model, name, [content], shapes, fixed, states)


def _network(
    model: ir.Model,
    name: str,
    sources: Iterable[bytes],
    shapes: Mapping[str, tuple[int, ...]] | None,
    fixed: Mapping[str, float] | None,
    named_states: Mapping[str, str] | None,
    batch: int = 1,
    *,
    in_slices: bool = False,
) -> Network:
    try:
        normalise(model)
        if batch > 1:
            shapes = widen_inputs(model.graph, shapes or {}, batch)
        settle_shapes(model, shapes or {}, fixed or {})
        tidy(model)
        sliced = slice_layers(model) if in_slices else 0
        inputs = tuple(_handed_over(model.graph, value, "input") for value in model.graph.inputs)
        outputs = tuple(_handed_over(model.graph, value, "output") for value in model.graph.outputs)
        states = find_states(model.graph, named_states or {})
        gather(model.graph, states)
        _check_whole(model)
    except InvalidNetworkError as error:
        raise InvalidNetworkError(f"{name}: {error}", node=error.node) from error
    sha256 = hashlib.sha256()
    for source in sources:
        sha256.update(source)
    if shapes:
        sha256.update(json.dumps({key: list(shapes[key]) for key in sorted(shapes)}).encode())
    if fixed:
        sha256.update(json.dumps({"fixed": dict(sorted(fixed.items()))}).encode())
    if batch > 1:
        sha256.update(json.dumps({"batch": batch}).encode())
    if states:
        sha256.update(json.dumps({"states": dict(named_states or {})}).encode())
    if sliced:
        sha256.update(json.dumps({"layers in slices": sliced}).encode())
    kept = names_of(states)
    return Network(
        name,
        sha256.hexdigest(),
        tuple(tensor for tensor in inputs if tensor.name not in kept),
        tuple(tensor for tensor in outputs if tensor.name not in kept),
        model,
        states,
    )


def _check_whole(model: ir.Model) -> None:
    if not live_nodes(model.graph):
        raise InvalidNetworkError(
            "no node leads from the network's inputs to its outputs, so there is nothing to run; "
            "export it again"
        )
    try:
        onnx.checker.check_model(without_weights(model))
    except onnx.checker.ValidationError as error:
        raise InvalidNetworkError(
            f"the network breaks the rules of ONNX: {' '.join(str(error).split())}; export it again"
        ) from error


def _handed_over(graph: ir.Graph, value: ir.Value, what: str) -> Tensor:
    tensor = as_tensor(value)
    if tensor is not None:
        return tensor
    if not isinstance(value.type, ir.TensorType):
        raise InvalidNetworkError(
            f"the {what} '{value.name}' is a {value.type or 'value of unknown type'}, and only "
            "tensors are handed over; end the network before it"
        )
    if static_shape(value) is not None:
        raise InvalidNetworkError(
            f"the {what} '{value.name}' has elements of type {value.dtype}, and only numbers of 8 "
            "to 64 bits are handed over; cast it, or number the classes, and export it again"
        )
    node = next(
        node
        for node in between(graph, (), [value])
        if any(static_shape(one) is None for one in node.outputs if one.name)
    )
    raise InvalidNetworkError(
        f"the shape of the {what} '{value.name}' depends on the data: it is lost at node "
        f"'{node.name}' ({node.op_type}); end the network before that node",
        node=node.name or "",
    )
