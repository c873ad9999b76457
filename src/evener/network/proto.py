"""Write part of a graph as an ONNX model of its own."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import onnx
import onnx_ir as ir

from evener.errors import InvalidNetworkError

IR_VERSION: Final = 10
"""Version of the file format that is written: every supported onnxruntime reads it."""
LARGEST_BYTES: Final = 2**31 - 1
"""What one protobuf message can hold."""


def model_proto(
    nodes: Iterable[ir.Node],
    *,
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    initialisers: Iterable[ir.Value],
    opsets: Mapping[str, int],
    name: str,
) -> onnx.ModelProto:
    """Make a model of some nodes; names, shapes and order are kept, nothing is cloned.

    Args:
        nodes: in topological order.
        inputs: values that the nodes read and none of them makes.
        outputs: values to be answered.
        initialisers: the constants that the nodes read.
        opsets: version by domain.
        name: of the graph.

    Raises:
        InvalidNetworkError: the constants exceed the 2 GiB that a message can hold.
    """
    constants = {
        value.name or "": value.const_value
        for value in initialisers
        if value.const_value is not None
    }
    size_bytes = sum(tensor.nbytes for tensor in constants.values())
    if size_bytes > LARGEST_BYTES:
        raise InvalidNetworkError(
            f"'{name}' holds {size_bytes / 1e9:.2f} GB of weights and one ONNX message at most "
            f"{LARGEST_BYTES / 1e9:.2f} GB; cut it into smaller segments, or store float16 weights"
        )
    proto = onnx.ModelProto(ir_version=IR_VERSION, producer_name="evener")
    for domain, version in opsets.items():
        proto.opset_import.add(domain=domain, version=version)
    graph = proto.graph
    graph.name = name
    try:
        _fill(graph, nodes, inputs, outputs, constants)
    except ir.serde.SerdeError as error:
        cause = str(error.__cause__ or error).partition("\n")[0]
        raise InvalidNetworkError(
            f"'{name}' has a node that cannot be written: {cause}; export the network again"
        ) from error
    return proto


def _fill(
    graph: onnx.GraphProto,
    nodes: Iterable[ir.Node],
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    constants: Mapping[str, ir.TensorProtocol],
) -> None:
    for value in inputs:
        ir.serde.serialize_value_into(graph.input.add(), value)
    for value in outputs:
        ir.serde.serialize_value_into(graph.output.add(), value)
    for name, tensor in constants.items():
        tensor.name = name
        ir.serde.serialize_tensor_into(graph.initializer.add(), tensor)
    answered = {value.name for value in outputs}
    for node in nodes:
        ir.serde.serialize_node_into(graph.node.add(), node)
        for value in node.outputs:
            if value.name and value.type is not None and value.name not in answered:
                ir.serde.serialize_value_into(graph.value_info.add(), value)
