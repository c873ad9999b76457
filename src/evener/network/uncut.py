"""Say why a network that is one block cannot be cut, and what would let it be."""

from typing import Final

from evener.errors import InputError
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.explain import NoCut, explain
from evener.network.explain_places import explain_places
from evener.network.model import Network
from evener.units import count

_MOST_LIVE: Final = 8  # tensors across a cut: one with more is worth little, and long to find


def check_can_be_cut(network: Network, blocks: Blocks) -> None:
    """Check that there is any cut.

    Args:
        network: what was cut.
        blocks: how it was cut.

    Raises:
        InputError: it is one block; with the reason, and the rule by which it would be more.

    Example:
        >>> from evener.network.model import load_network
        >>> squeezenet = load_network("squeezenet")
        >>> check_can_be_cut(squeezenet, cut_into_blocks(squeezenet, "paper"))
    """
    if len(blocks.blocks) > 1:
        return
    by_nodes = blocks.granularity == "node"
    no_cuts = (explain_places if by_nodes else explain)(network, blocks).no_cuts
    rule = f"the rule '{blocks.granularity}'"
    if blocks.max_live is not None:
        rule += f" with {count(blocks.max_live, 'tensor')} across a cut"
    raise InputError(
        f"{network.name} is one block by {rule} and cannot be cut: {_why(no_cuts)}. "
        f"{_what_next(network, blocks, no_cuts)}"
    )


def _why(no_cuts: tuple[NoCut, ...]) -> str:
    if not no_cuts:
        return "it has a single main layer, and cuts are between those"
    best = min(no_cuts, key=lambda one: len(one.tensors))
    names = ", ".join(tensor.name for tensor in best.tensors)
    return f"at the best place, between {best.after} and {best.before} ({names}), {best.reason}"


def _what_next(network: Network, blocks: Blocks, no_cuts: tuple[NoCut, ...]) -> str:
    fewest = min((len(one.tensors) for one in no_cuts), default=0)
    least = (blocks.max_live or 1) + 1
    for max_live in range(max(least, fewest), _MOST_LIVE + 1):
        cuts = len(cut_into_blocks(network, "node", max_live=max_live).cuts)
        if cuts:
            return (
                f"Give --granularity node --max-live {max_live}: it then has {count(cuts, 'cut')}"
            )
    return f"No rule cuts it where up to {_MOST_LIVE} tensors cross: take it whole"
