"""Bring any ONNX graph into one form: inputs are inputs only, constants apart, nodes in order."""

import onnx
import onnx_ir as ir
from onnx_ir.passes import common

from evener.errors import InvalidNetworkError
from evener.network.proto import IR_VERSION

_DEFAULT_DOMAIN = "ai.onnx"  # another way to write ""


class _AfterOutput(common.naming.SimpleNameGenerator):
    """Call an unnamed node after what it makes."""

    def generate_node_name(self, node: ir.Node) -> str:
        return node.name or node.outputs[0].name or node.op_type


def normalise(model: ir.Model) -> None:
    """Check a freshly read model's nodes and bring it into the common form, in place.

    Functions are inlined; initialisers are no inputs; Constant nodes are initialisers; every
    node has a name of its own; unused nodes are gone; nodes stand in topological order.

    Raises:
        InvalidNetworkError: an unknown operator, a value that nothing makes, a cycle, no output.
    """
    _check_opsets(model)
    common.InlinePass()(model)
    _check_operators(model)
    _check_sources(model.graph)
    if not model.graph.outputs:
        raise InvalidNetworkError("the network has no outputs: mark what it answers and export it")
    common.RemoveInitializersFromInputsPass()(model)
    common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    common.NameFixPass(_AfterOutput())(model)
    try:
        model.graph.sort()
    except ValueError as error:
        raise InvalidNetworkError(
            "the network has a cycle, so no node can run first; export it again"
        ) from error
    tidy(model)
    model.ir_version = IR_VERSION


def tidy(model: ir.Model) -> None:
    """Remove nodes, constants and opsets that no output needs, in place."""
    common.RemoveUnusedNodesPass()(model)
    common.RemoveUnusedOpsetsPass()(model)


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
        if node.domain == _DEFAULT_DOMAIN:
            node.domain = ""
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


def _comes_from_nowhere(value: ir.Value) -> bool:
    return not (value.producer() or value.is_graph_input() or value.is_initializer())


def _named(node: ir.Node) -> str:
    name = node.name or next((value.name for value in node.outputs if value.name), "")
    return f"node '{name}' ({node.op_type})"
