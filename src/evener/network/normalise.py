"""Bring any ONNX graph into one form: inputs are inputs only, constants apart, nodes in order."""

from typing import Final

import onnx
import onnx_ir as ir
from onnx_ir.passes import common

from evener.errors import InvalidNetworkError
from evener.network.proto import IR_VERSION

_DEFAULT_DOMAIN: Final = "ai.onnx"  # another way to write ""
_RANDOM: Final = frozenset(
    {
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    }
)


class _AfterOutput(common.naming.SimpleNameGenerator):
    """Call an unnamed node after what it makes."""

    def generate_node_name(self, node: ir.Node) -> str:
        return node.name or next((value.name for value in node.outputs if value.name), "unread")


def normalise(model: ir.Model) -> None:
    """Check a freshly read model's nodes and bring it into the common form, in place.

    Functions are inlined; initialisers are no inputs; Constant nodes are initialisers; every
    node has a name of its own; unused nodes are gone; nodes stand in topological order.

    Raises:
        InvalidNetworkError: an unknown operator, a value that nothing makes, a cycle, no
            output, or a node that draws random numbers or trains.
    """
    _check_names(model.graph)
    _check_opsets(model)
    _apply(common.InlinePass(), model)
    _check_operators(model)
    _check_sources(model.graph)
    _check_repeatable(model.graph)
    if not model.graph.outputs:
        raise InvalidNetworkError("the network has no outputs: mark what it answers and export it")
    _apply(common.RemoveInitializersFromInputsPass(), model)
    set_apart(model)
    try:
        model.graph.sort()
    except ValueError as error:
        raise InvalidNetworkError(
            "the network has a cycle, so no node can run first; export it again"
        ) from error
    tidy(model)
    model.ir_version = IR_VERSION


def set_apart(model: ir.Model) -> None:
    """Make Constant nodes initialisers, and every name unique, in place.

    Raises:
        InvalidNetworkError: a Constant node holds no value.
    """
    _apply(common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0), model)
    _apply(common.NameFixPass(_AfterOutput()), model)


def tidy(model: ir.Model) -> None:
    """Remove nodes, constants and opsets that no output needs, in place."""
    common.RemoveUnusedNodesPass()(model)
    common.RemoveUnusedOpsetsPass()(model)


def _apply(step: ir.passes.PassBase, model: ir.Model) -> None:
    try:
        step(model)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        # The passes trust their model: what they trip over is a node that breaks the rules of ONNX.
        raise InvalidNetworkError(f"the graph is invalid: {error}; export it again") from error


def _check_names(graph: ir.Graph) -> None:
    for node in ir.traversal.RecursiveGraphIterator(graph):
        values = [value.name for value in (*node.inputs, *node.outputs) if value is not None]
        for name in (node.name, node.op_type, node.domain, *values):
            if not isinstance(name, str):
                raise InvalidNetworkError(
                    f"the name {name!r} is no text, so the file is damaged; export it again"
                )


def _check_opsets(model: ir.Model) -> None:
    known = onnx.defs.onnx_opset_version()
    imported = model.opset_imports
    if _DEFAULT_DOMAIN in imported:
        imported[""] = imported.pop(_DEFAULT_DOMAIN)
    if not imported:
        raise InvalidNetworkError(
            "the network names no opset, so its file is cut short or damaged; export it again"
        )
    if imported.get("", 1) > known:
        raise InvalidNetworkError(
            f"the network needs opset {imported['']}, the installed onnx knows up to {known}; "
            "update onnx, or export it with an older opset"
        )


def _check_operators(model: ir.Model) -> None:
    for node in ir.traversal.RecursiveGraphIterator(model.graph):
        domain = node.domain or _DEFAULT_DOMAIN
        version = model.opset_imports.get(node.domain)
        if version is None:
            raise InvalidNetworkError(
                f"{_named(node)} is of the operator set '{domain}', of which the network names no "
                "version; export it again",
                node=node.name or "",
            )
        try:
            schema = onnx.defs.get_schema(node.op_type, version, node.domain)
        except onnx.defs.SchemaError as error:
            raise InvalidNetworkError(
                f"{_named(node)} is unknown: the operator set '{domain}' version {version} has no "
                "such operator; export the network with standard ONNX operators",
                node=node.name or "",
            ) from error
        if schema.deprecated:
            raise InvalidNetworkError(
                f"{_named(node)} was withdrawn by version {schema.since_version} of the operator "
                f"set '{domain}', and the network needs version {version}; export it again",
                node=node.name or "",
            )


def _check_sources(graph: ir.Graph) -> None:
    for node in ir.traversal.RecursiveGraphIterator(graph):
        for value in node.inputs:
            if value is not None and _comes_from_nowhere(value):
                raise InvalidNetworkError(
                    f"{_named(node)} reads '{value.name}', which no node makes; export the network "
                    "again",
                    node=node.name or "",
                )
    for value in graph.outputs:
        if _comes_from_nowhere(value):
            raise InvalidNetworkError(
                f"the output '{value.name}' is made by no node; export the network again"
            )


def _check_repeatable(graph: ir.Graph) -> None:
    for node in ir.traversal.RecursiveGraphIterator(graph):
        if node.op_type in _RANDOM or _trains(node):
            raise InvalidNetworkError(
                f"{_named(node)} answers the same frame differently each time or learns from it; "
                "export the network for inference, in PyTorch after model.eval()",
                node=node.name or "",
            )


def _trains(node: ir.Node) -> bool:
    if node.op_type == "BatchNormalization":
        return node.attributes.get_int("training_mode", 0) != 0
    flag = node.inputs[2] if node.op_type == "Dropout" and len(node.inputs) > 2 else None
    tensor = None if flag is None else ir.convenience.get_const_tensor(flag)
    return tensor is not None and bool(tensor.numpy().any())


def _comes_from_nowhere(value: ir.Value) -> bool:
    return not (value.producer() or value.is_graph_input() or value.is_initializer())


def _named(node: ir.Node) -> str:
    name = node.name or next((value.name for value in node.outputs if value.name), "")
    return f"node '{name}' ({node.op_type})"
