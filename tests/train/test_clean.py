"""Stripping an ONNX model of everything but its mathematics."""

import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

from evener.train.clean import clean_bytes


def model(
    *, node: str = "n", tensor: str = "t", doc: str = "", rows: int | str | None = None
) -> ir.Model:
    """Make Softmax(Neg(features)), and a label that nobody wants."""
    nodes = [
        helper.make_node("Neg", ["in"], [tensor], name=node, doc_string=doc),
        helper.make_node("Softmax", [tensor], ["probabilities"], name=f"{node}2"),
        helper.make_node("ArgMax", [tensor], ["label"], name=f"{node}3"),
    ]
    graph = helper.make_graph(
        nodes,
        f"graph of {node}",
        [helper.make_tensor_value_info("in", TensorProto.FLOAT, [rows, 3])],
        [
            helper.make_tensor_value_info("label", TensorProto.INT64, [1, 3]),
            helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [rows, 3]),
        ],
        doc_string=doc,
    )
    proto = helper.make_model(
        graph, producer_name=node, opset_imports=[helper.make_opsetid("", 18)], ir_version=9
    )
    helper.set_model_props(proto, {"made in": f"/home/{node}"})
    return ir.from_proto(proto)


def test_equal_networks_are_equal_bytes_whatever_they_were_called() -> None:
    one = clean_bytes(model())
    other = clean_bytes(model(node="/model/Neg", tensor="x.12", doc="/home/me/a.py", rows="N"))

    assert one == other


def test_only_the_probabilities_are_left_and_the_rows_are_a_batch() -> None:
    proto = onnx.load_from_string(clean_bytes(model()))

    assert [value.name for value in proto.graph.input] == ["features"]
    assert [value.name for value in proto.graph.output] == ["probabilities"]
    assert [node.name for node in proto.graph.node] == ["Neg_0", "Softmax_1"]
    assert [dim.dim_param for dim in proto.graph.input[0].type.tensor_type.shape.dim] == [
        "batch",
        "",
    ]
    assert not proto.metadata_props
    assert proto.producer_name == "evener"


def test_a_model_that_breaks_the_standard_is_refused() -> None:
    broken = model()
    broken.graph[0].op_type = "Nonsense"

    with pytest.raises(onnx.checker.ValidationError, match="Nonsense"):
        clean_bytes(broken)
