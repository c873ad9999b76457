"""Strip an ONNX model of everything but its mathematics, so that equal networks are equal bytes.

Exporters leave paths, stack traces, random names and versions behind; none of it changes an
answer, all of it changes a hash.
"""

from typing import Final

import onnx
import onnx_ir as ir
from onnx_ir.passes import Sequential
from onnx_ir.passes.common import ClearMetadataAndDocStringPass, RemoveUnusedNodesPass

INPUT: Final = "features"
OUTPUT: Final = "probabilities"
VALUES: Final = "values"
"""Name of the output where it holds numbers."""
BATCH: Final = "batch"


def clean_bytes(model: ir.Model) -> bytes:
    """Return the bytes of a model of one input and one output, named and checked.

    Nodes and the tensors between them are named after their operator and place; the rows of input
    and output are the symbolic dimension "batch". The model is changed.

    Args:
        model: its first input is the features; its output named "probabilities" or "values" is
            kept.

    Returns:
        One ONNX file with its weights inside; the same for the same mathematics on any machine.
    """
    graph = model.graph
    graph.outputs[:] = [output for output in graph.outputs if output.name in (OUTPUT, VALUES)]
    Sequential(RemoveUnusedNodesPass(), ClearMetadataAndDocStringPass())(model)
    model.producer_name, model.producer_version = "evener", None
    model.domain, model.model_version = None, None
    model.metadata_props.clear()
    graph.name = "network"
    graph.inputs[0].name = INPUT
    for value in (graph.inputs[0], graph.outputs[0]):
        if value.shape is not None:
            value.shape = ir.Shape((BATCH, *value.shape[1:]))
    for place, node in enumerate(graph):
        node.name = f"{node.op_type}_{place}"
        for output in node.outputs:
            output.metadata_props.clear()
            if output.name and output is not graph.outputs[0]:
                output.name = f"{node.name}_out{output.index()}"
    for value in (*graph.inputs, *graph.initializers.values()):
        value.metadata_props.clear()
    proto = ir.to_proto(model)
    onnx.checker.check_model(proto, full_check=True)
    content: bytes = proto.SerializeToString(deterministic=True)
    return content
