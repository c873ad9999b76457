"""A network in fewer bits, cut at the same tensors as in f32.

Whoever converts a network gets it whole, with every tensor that crosses a cut as a further output,
so that none is optimised away. In what comes back these tensors are f32 still, and what reads one
rounds it anew to what was just widened: so each segment stands for itself, computes to the bit
what the whole computes, and may stand between segments of any other precision.
"""

from typing import Final

import numpy as np
import onnx
import onnx.version_converter
import onnx_ir as ir

from evener.artifacts.tensor import Tensor
from evener.errors import InputError, InvalidNetworkError
from evener.network.blocks import Blocks
from evener.network.cost import is_main
from evener.network.graph import live_nodes
from evener.network.model import Network, parse_network
from evener.network.source import decode
from evener.network.split import whole_model

OLDEST_OPSET: Final = 13
"""From here on QuantizeLinear has a scale for each channel; older networks are raised."""
_RAISED_TO: Final = 17


def crossing_tensors(network: Network, blocks: Blocks) -> tuple[Tensor, ...]:
    """List the tensors that some node makes and that cross a cut, each once, in order."""
    given = {tensor.name for tensor in network.inputs}
    crossing = {
        tensor.name: tensor for cut in blocks.cuts for tensor in cut if tensor.name not in given
    }
    return tuple(crossing.values())


def for_conversion(network: Network, blocks: Blocks) -> bytes:
    """Write a whole network so that it also answers every tensor that crosses a cut.

    Raises:
        InputError: it has states, which a converter would have to follow from frame to frame; or
            its opset is too old and cannot be raised.
    """
    if network.states:
        names = ", ".join(state.input.name for state in network.states)
        raise InputError(
            f"{network.name} keeps {names} from frame to frame, and how that is to be rounded "
            "cannot be told from single frames; leave --precision out"
        )
    model = onnx.ModelProto.FromString(whole_model(network))
    version = network.model.opset_imports.get("", OLDEST_OPSET)
    if version < OLDEST_OPSET:
        try:
            model = onnx.version_converter.convert_version(model, _RAISED_TO)
        except RuntimeError as error:  # of its C++ part, which has no other
            raise InputError(
                f"{network.name} is of opset {version}, and to lower its precision opset "
                f"{OLDEST_OPSET} is needed, to which it cannot be raised: {error}; export it with "
                "a newer opset"
            ) from error
    answered = {output.name for output in model.graph.output}
    for tensor in crossing_tensors(network, blocks):
        if tensor.name not in answered:
            kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(tensor.dtype))
            model.graph.output.append(
                onnx.helper.make_tensor_value_info(tensor.name, kind, tensor.shape)
            )
    content: bytes = model.SerializeToString()
    return content


def closing_nodes(network: Network) -> tuple[str, ...]:
    """Name the nodes behind every convolution and product with weights: pools, sums, softmax.

    They take no time, and rounding what they make would round the answer itself.
    """
    leads_on: set[ir.Value] = set()
    closing = []
    for node in reversed(live_nodes(network.model.graph)):
        if is_main(node) or any(value in leads_on for value in node.outputs):
            leads_on.update(value for value in node.inputs if value is not None)
        else:
            closing.append(node.name or "")
    return tuple(reversed(closing))


def converted(network: Network, blocks: Blocks, content: bytes, precision: str) -> Network:
    """Read what became of a network, and set its segments apart where the network is cut.

    Args:
        network: what was converted, see `for_conversion`.
        blocks: how it is cut; they are the blocks of the result too.
        content: the converted model.
        precision: what it computes in.

    Raises:
        InvalidNetworkError: the converted model lacks a tensor that crosses a cut, or has other
            inputs or outputs.
    """
    name = f"{network.name} in {precision}"
    model = decode(content, name)
    answers = {tensor.name for tensor in network.outputs}
    crossing = {tensor.name for tensor in crossing_tensors(network, blocks)}
    values = {value.name: value for value in model.graph.outputs}
    missing = sorted(crossing - set(values))
    if missing:
        raise InvalidNetworkError(
            f"{name} lacks the tensor '{missing[0]}', where {network.name} is cut; leave that "
            "precision out"
        )
    for value in [values[one] for one in values if one in crossing]:
        maker = value.producer()
        if maker is None:
            continue
        if precision == "int8" and maker.op_type == "DequantizeLinear":
            _round_anew(model.graph, value, maker)
        elif precision == "fp16" and maker.op_type == "Cast":
            _narrow_anew(model.graph, value, maker)
    kept = [value for value in model.graph.outputs if value.name in answers]
    model.graph.outputs.clear()
    model.graph.outputs.extend(kept)
    result = parse_network(ir.serde.serialize_model(model).SerializeToString(), name=name)
    for found, wanted in ((result.inputs, network.inputs), (result.outputs, network.outputs)):
        if found != wanted:
            raise InvalidNetworkError(
                f"{name} has {_show(found)} where {network.name} has {_show(wanted)}; leave that "
                "precision out"
            )
    return result


def _round_anew(graph: ir.Graph, value: ir.Value, maker: ir.Node) -> None:
    """Let whoever reads a tensor that was widened from 8 bits round it anew, to the same bits."""
    readers = tuple(value.uses())
    if not readers:
        return
    _, *how = maker.inputs  # the scale, and mostly a zero point
    rounded = ir.node("QuantizeLinear", [value, *how], name=f"{value.name}_again")
    rounded.outputs[0].name = f"{value.name}_rounded"
    widened = ir.node("DequantizeLinear", [*rounded.outputs, *how], name=f"{value.name}_widen")
    widened.outputs[0].name = f"{value.name}_widened"
    graph.insert_after(maker, [rounded, widened])
    for reader, index in readers:
        reader.replace_input_with(index, widened.outputs[0])


def _narrow_anew(graph: ir.Graph, value: ir.Value, maker: ir.Node) -> None:
    """Let whoever reads the 16 bits that a tensor was widened from take them from the tensor."""
    narrow = maker.inputs[0]
    if narrow is None or narrow.producer() is None:
        return
    if narrow.dtype not in (None, ir.DataType.FLOAT16):
        return  # the network itself makes it of integers
    again = ir.node("Cast", [value], {"to": ir.DataType.FLOAT16}, name=f"{value.name}_again")
    again.outputs[0].name = f"{value.name}_narrowed"
    for reader, index in tuple(narrow.uses()):
        if reader is not maker:
            reader.replace_input_with(index, again.outputs[0])
    graph.insert_after(maker, again)


def _show(tensors: tuple[Tensor, ...]) -> str:
    return ", ".join(f"{one.dtype} {list(one.shape)} '{one.name}'" for one in tensors)
