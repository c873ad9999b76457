"""A network in fewer bits, of which some blocks stay in f32.

Both networks are cut at the same tensors, which are f32 in both: so blocks of the one and of the
other make up a network, and its segments compute what those of the two do.
"""

from collections.abc import Collection, Sequence

import onnx
import onnx.compose

from evener.errors import InvalidNetworkError
from evener.network.blocks import Blocks
from evener.network.model import Network, parse_network
from evener.network.precision import converted, for_conversion
from evener.network.proto import IR_VERSION
from evener.network.split import segment_model


def mix(network: Network, lowered: Network, blocks: Blocks, in_f32: Collection[int]) -> Network:
    """Take some blocks of a network from f32 and the others from what it was converted to.

    Args:
        network: in f32.
        lowered: the same converted, see `evener.network.precision.converted`.
        blocks: how both are cut, by the rule "strict" or "paper".
        in_f32: numbers of the blocks that stay in f32.

    Returns:
        The mixture, named as the converted network, cut at the same tensors.

    Raises:
        InvalidNetworkError: both need different versions of the operators.
    """
    if not in_f32:
        return lowered
    plain = converted(network, blocks, for_conversion(network, blocks), "f32")
    parts = []
    for number in range(len(blocks.blocks)):
        stays = number in in_f32
        content = segment_model(plain if stays else lowered, blocks, number, number)
        model = onnx.ModelProto.FromString(content)
        if stays:  # a converter may have given a folded weight the name of what it was
            onnx.compose.add_prefix_graph(
                model.graph, "f32/", rename_inputs=False, rename_outputs=False, inplace=True
            )
        parts.append(model)
    joined = _joined(parts, lowered, in_f32)
    return parse_network(joined.SerializeToString(), name=lowered.name)


def _joined(
    parts: Sequence[onnx.ModelProto], lowered: Network, in_f32: Collection[int]
) -> onnx.ModelProto:
    """Put models into one, of which each reads what the one before answers."""
    model = onnx.ModelProto(ir_version=IR_VERSION, producer_name="evener")
    graph = model.graph
    graph.name = lowered.name
    versions: dict[str, int] = {}
    made: set[str] = set()
    for number, part in enumerate(parts):
        for opset in part.opset_import:
            known = versions.setdefault(opset.domain, opset.version)
            if known != opset.version:
                # Those of one network are of one opset: all before are of the other network.
                mine, other = opset.version, known
                plain, low = (mine, other) if number in in_f32 else (other, mine)
                raise InvalidNetworkError(
                    f"{lowered.name}: the network is of opset {plain}, and what was converted of "
                    f"{low}, so that no block can stay in f32; leave that precision out"
                )
        # Constants, and nodes that make some of others, are in every part that reads them.
        graph.initializer.extend(one for one in part.graph.initializer if one.name not in made)
        graph.node.extend(one for one in part.graph.node if made.isdisjoint(one.output))
        graph.value_info.extend(one for one in part.graph.value_info if one.name not in made)
        made.update(one.name for one in part.graph.initializer)
        made.update(name for one in part.graph.node for name in one.output if name)
    for domain, version in versions.items():
        model.opset_import.add(domain=domain, version=version)
    graph.input.extend(parts[0].graph.input)
    graph.output.extend(parts[-1].graph.output)
    return model
