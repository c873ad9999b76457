"""The networks that a search may find, and what each costs between given inputs and outputs."""

import msgspec

from evener.artifacts.architecture import Architecture
from evener.artifacts.conv_stack import ConvStack
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.topology import Topology
from evener.errors import InputError

Network = Architecture | LayerGraph | ConvStack


class Ends(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a network stands between.

    Attributes:
        features: numbers of a row.
        outputs: numbers of an answer.
        picture: channels, height and width, where a row is a picture.
    """

    features: int
    outputs: int
    picture: tuple[int, int, int] | None = None


def macs(network: Network, ends: Ends) -> int:
    """Count the multiply-accumulates of one prediction.

    Args:
        network: any.
        ends: its inputs and outputs.

    Raises:
        InputError: it reads pictures, and rows are none.

    Example:
        >>> macs(LayerGraph(widths=(32,), links=((0, 1), (1, 2))), Ends(features=64, outputs=10))
        2368
    """
    if isinstance(network, ConvStack):
        return network.macs(*picture_of(network, ends), ends.outputs)
    return network.macs(ends.features, ends.outputs)


def weights(network: Network, ends: Ends) -> int:
    """Count the numbers that training sets.

    Args:
        network: any.
        ends: its inputs and outputs.

    Raises:
        InputError: it reads pictures, and rows are none.
    """
    if isinstance(network, ConvStack):
        return network.weights(*picture_of(network, ends), ends.outputs)
    return network.weights(ends.features, ends.outputs)


def stored(network: Network, ends: Ends) -> int:
    """Count the numbers of four bytes that a network's file has for what training sets.

    Args:
        network: any.
        ends: its inputs and outputs.

    Raises:
        InputError: it reads pictures, and rows are none.
    """
    if isinstance(network, LayerGraph):
        return network.stored(ends.features, ends.outputs)
    return weights(network, ends)


def units(network: Network) -> int:
    """Count the hidden units of layers, or the channels that blocks of convolutions make.

    Example:
        >>> units(LayerGraph(widths=(32, 16), links=((0, 1), (1, 2), (2, 3))))
        48
    """
    if isinstance(network, ConvStack):
        return sum(block.channels for block in network.blocks if block.kind != "pool3x3")
    return sum(network.widths if isinstance(network, LayerGraph) else network.hidden)


def picture_of(network: ConvStack, ends: Ends) -> tuple[int, int, int]:
    """Return the channels, height and width that a network reads.

    Raises:
        InputError: rows are no pictures.
    """
    if ends.picture is None:
        raise InputError(
            f"{network} reads pictures, and a row is {ends.features} numbers in no order: give "
            "data of pictures, or search for networks of dense layers"
        )
    return ends.picture


def topology_of(network: Network) -> Topology | None:
    """Return how a network's neurons are divided into shards; None if they are not."""
    return network.divided if isinstance(network, LayerGraph) else None


def chain_of(network: Network) -> Architecture:
    """Return a network as layers one behind another, which shards can be trained of.

    How it is divided already is left out; see `topology_of`.

    Raises:
        InputError: it is none, or its recipe evolved with it.

    Example:
        >>> str(chain_of(LayerGraph(widths=(32, 16), links=((0, 1), (1, 2), (2, 3)))))
        'mlp 32-16 relu'
    """
    if isinstance(network, Architecture):
        return network
    if isinstance(network, LayerGraph) and network.chain and network.recipe is None:
        return Architecture(hidden=network.widths, activation=network.activation)
    raise InputError(
        f"{network} is no row of dense layers trained by AdamW, and only such are divided into "
        'shards: write links = "chain" and recipes = false in [search], or train it without shards'
    )
