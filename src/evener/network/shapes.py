"""Make every shape static: bind what the inputs leave open, then infer the rest."""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnx_ir as ir

from evener.errors import InvalidNetworkError
from evener.hints import did_you_mean
from evener.network.branches import take_known_branches
from evener.network.fixed import fix_inputs
from evener.network.fold import evaluate, fold_constants
from evener.network.graph import HANDED_OVER, initialisers, static_shape
from evener.network.proto import model_proto

_SMALL_BYTES = 1024  # constants up to this size may be shapes, which inference needs to see
_ML = "ai.onnx.ml"
_TEXT = ir.DataType.STRING


def settle_shapes(
    model: ir.Model, shapes: Mapping[str, tuple[int, ...]], fixed: Mapping[str, float]
) -> None:
    """Give every value of a normalised model the shape that it has, constants folded, in place.

    What inference finds counts; what the file declares only fills the gaps that it leaves. A
    branch that is always taken then stands in the place of its If.

    Args:
        model: normalised, so that its inputs are inputs only.
        shapes: shape by name of input, for those that leave one open.
        fixed: number by name of input, for those that become constants.

    Raises:
        InvalidNetworkError: `shapes` does not fit the inputs or leaves some open, `fixed` does not
            fit them, or two nodes contradict one another.
    """
    symbols = bind_inputs(model.graph.inputs, shapes)
    fix_inputs(model.graph, fixed)
    declared = _take_declared(model.graph, symbols)
    while True:
        _infer(model)
        if not (
            fold_constants(model)
            or take_known_branches(model)
            or _probe_classic_models(model)
            or _use_declared(model, declared)
        ):
            return


def widen_inputs(
    graph: ir.Graph, shapes: Mapping[str, tuple[int, ...]], batch: int
) -> dict[str, tuple[int, ...]]:
    """Let every input hold several frames along its first dimension, fixed or open, in place.

    What the file declares of other shapes is dropped: it is of one frame.

    Args:
        graph: the graph of a normalised model.
        shapes: shape by name of input for one frame, for those that leave one open.
        batch: how many frames.

    Returns:
        The shapes for so many frames.
    """
    for value in (value for node in graph for value in node.outputs):
        value.shape = None
    for value in graph.inputs:
        if value.shape is not None and len(value.shape):
            value.shape = ir.Shape((batch, *list(value.shape)[1:]))
    return {name: (batch, *shape[1:]) for name, shape in shapes.items()}


def bind_inputs(
    inputs: Sequence[ir.Value], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, int]:
    """Set the shapes of a graph's inputs and return the size that each symbol stands for.

    A symbol that one given shape settles, such as the batch, is settled for all inputs.

    Raises:
        InvalidNetworkError: a shape names no input, has another rank, contradicts a fixed
            dimension, is not positive, or a dimension stays open.
    """
    by_name = {value.name or "": value for value in inputs}
    symbols: dict[str, int] = {}
    for value in inputs:
        _open_unknown(value)
    for name, given in shapes.items():
        if name not in by_name:
            hint = did_you_mean(name, by_name)
            raise InvalidNetworkError(
                f"a shape is given for '{name}', which is no input; {hint}"
                f"inputs: {', '.join(by_name)}"
            )
        _bind(by_name[name], given, symbols)
    for name, value in by_name.items():
        if value.shape is None or not isinstance(value.type, ir.TensorType):
            raise InvalidNetworkError(
                f"input '{name}' declares no shape: give one such as --shape {name}=1,3,224,224"
            )
        sizes = tuple(
            size if isinstance(size, int) else symbols.get(size.value or "", size)
            for size in value.shape
        )
        value.shape = ir.Shape(sizes)
        _check_settled(name, value.shape)
    return symbols


def _open_unknown(value: ir.Value) -> None:
    """Leave open without a name what exporters write as a size below 0, or all as "?" alike."""
    if value.shape is not None:
        value.shape = ir.Shape(
            None if (isinstance(size, int) and size < 0) or size == ir.SymbolicDim("?") else size
            for size in value.shape
        )


def _bind(value: ir.Value, given: tuple[int, ...], symbols: dict[str, int]) -> None:
    name = value.name or ""
    shown = ",".join(map(str, given))
    if any(size < 1 for size in given):
        raise InvalidNetworkError(f"shape {shown} of '{name}' must hold sizes of at least 1")
    if value.shape is None:
        value.shape = ir.Shape(given)
        return
    if len(given) != len(value.shape):
        raise InvalidNetworkError(
            f"shape {shown} of '{name}' has {len(given)} dimensions, the input has "
            f"{len(value.shape)}: {_show(value.shape)}"
        )
    for axis, (size, dimension) in enumerate(zip(given, value.shape, strict=True)):
        if isinstance(dimension, int):
            if dimension != size:
                raise InvalidNetworkError(
                    f"shape {shown} of '{name}' has {size} in dimension {axis}, where the network "
                    f"fixes {dimension}: {_show(value.shape)}"
                )
        elif dimension.value is not None and symbols.setdefault(dimension.value, size) != size:
            raise InvalidNetworkError(
                f"shape {shown} of '{name}' makes '{dimension.value}' {size}, another given "
                f"shape makes it {symbols[dimension.value]}; give both the same size"
            )
    value.shape = ir.Shape(given)


def _check_settled(name: str, shape: ir.Shape) -> None:
    left = [
        (size.value or f"dimension {axis}") if not isinstance(size, int) else ""
        for axis, size in enumerate(shape)
    ]
    if any(left):
        example = ",".join(
            str(size) if isinstance(size, int) else "1" if axis == 0 else "224"
            for axis, size in enumerate(shape)
        )
        opened = ", ".join(f"'{one}'" for one in left if one)
        raise InvalidNetworkError(
            f"input '{name}' leaves {opened} open: give a shape such as --shape {name}={example}"
        )
    if 0 in shape:
        raise InvalidNetworkError(
            f"input '{name}' is empty: its shape is {_show(shape)}; export the network with "
            "sizes of at least 1"
        )


def _take_declared(
    graph: ir.Graph, symbols: Mapping[str, int]
) -> dict[ir.Value, tuple[ir.TypeProtocol, tuple[int, ...]]]:
    """Strip what the file declares of the nodes' outputs, and return what of it is static."""
    declared = {}
    for node in graph:
        for value in node.outputs:
            if value.shape is not None and value.type is not None:
                sizes = [
                    size if isinstance(size, int) else symbols.get(size.value or "", 0)
                    for size in value.shape
                ]
                if all(size > 0 for size in sizes):
                    declared[value] = (value.type, tuple(sizes))
            value.shape = None
            value.type = None
    return declared


def _infer(model: ir.Model) -> None:
    graph = model.graph
    try:
        inferred = onnx.shape_inference.infer_shapes(
            without_weights(model), check_type=True, strict_mode=True, data_prop=True
        )
    except onnx.shape_inference.InferenceError as error:
        raise InvalidNetworkError(
            f"the network contradicts itself: {' '.join(str(error).split())}; export it again",
            node=_named_node(str(error)),
        ) from error
    values = {value.name: value for node in graph for value in node.outputs}
    for info in (*inferred.graph.value_info, *inferred.graph.output):
        value = values.get(info.name)
        if value is not None:
            ir.serde.deserialize_value_info_proto(info, value)


def without_weights(model: ir.Model) -> onnx.ModelProto:
    """Write a model with its large constants turned into inputs."""
    graph = model.graph
    constants = initialisers(graph, graph.outputs)
    small = [value for value in constants if _nbytes(value) <= _SMALL_BYTES]
    big = [value for value in constants if _nbytes(value) > _SMALL_BYTES]
    return model_proto(
        graph,
        inputs=[*graph.inputs, *big],
        outputs=graph.outputs,
        initialisers=small,
        opsets=model.opset_imports,
        name="network",
    )


def _probe_classic_models(model: ir.Model) -> bool:
    """Read shapes of trees and the like off one answer to zeros: ONNX infers none for them."""
    found = False
    for node in model.graph:
        if node.domain != _ML or all(static_shape(value) is not None for value in node.outputs):
            continue
        feeds = {}
        for value in node.inputs:
            shape = static_shape(value) if value is not None else None
            if value is None or shape is None or value.dtype not in HANDED_OVER:
                break
            feeds[value.name or ""] = np.zeros(shape, value.dtype.numpy())
        else:
            answers = evaluate(node, feeds, model.opset_imports) or ()
            for value, answer in zip(node.outputs, answers, strict=False):
                array = np.asarray(answer)
                numbers = array.dtype.kind in "biuf"
                value.dtype = ir.DataType.from_numpy(array.dtype) if numbers else _TEXT
                value.shape = ir.Shape(array.shape)
                found = True
    return found


def _use_declared(
    model: ir.Model, declared: dict[ir.Value, tuple[ir.TypeProtocol, tuple[int, ...]]]
) -> bool:
    """Take the first gap's declared shape, so that inference goes on from there."""
    for node in model.graph:
        for value in node.outputs:
            if static_shape(value) is None and value in declared:
                value.type, sizes = declared.pop(value)
                value.shape = ir.Shape(sizes)
                return True
    return False


def _nbytes(value: ir.Value) -> int:
    return 0 if value.const_value is None else value.const_value.nbytes


def _named_node(message: str) -> str:
    _, found, rest = message.partition("node name: ")
    return rest.partition(")")[0] if found else ""


def _show(shape: ir.Shape) -> str:
    return ",".join(str(size) if isinstance(size, int) else (size.value or "?") for size in shape)
