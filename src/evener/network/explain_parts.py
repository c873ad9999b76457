"""Explain the parts in which a network was timed: blocks joined, or known by name only."""

from collections.abc import Sequence

from evener.artifacts.profile import Block
from evener.network.blocks import Blocks
from evener.network.cost import is_main
from evener.network.explain import Cut, Explanation, NoCut, explain
from evener.network.graph import live_nodes
from evener.network.model import Network

TIMED_AS_ONE = "both were timed as one part"


def explain_parts(network: Network, blocks: Blocks, parts: Blocks) -> Explanation:
    """Explain how a network was cut into parts that blocks were joined to.

    Args:
        network: what was cut.
        blocks: how it could be cut.
        parts: what `evener.network.merge.merge_blocks` made of them.

    Example:
        >>> from evener.network.blocks import cut_into_blocks
        >>> from evener.network.merge import merge_blocks
        >>> from evener.network.model import load_network
        >>> network = load_network("alexnet")
        >>> blocks = cut_into_blocks(network, "paper")
        >>> found = explain_parts(network, blocks, merge_blocks(blocks, [1, 2, 5]))
        >>> len(found.cuts), len(found.no_cuts), found.no_cuts[0].reason
        (2, 5, 'both were timed as one part')
    """
    finer = explain(network, blocks)
    owner = {name: part for part, names in enumerate(parts.nodes) for name in names}
    part_of = [owner[names[0]] for names in blocks.nodes]
    main = {node.name or "" for node in live_nodes(network.model.graph) if is_main(node)}
    cuts: list[Cut] = []
    no_cuts = [(one.block, 0, one) for one in finer.no_cuts]
    for cut in finer.cuts:
        before, after = cut.after_block, cut.after_block + 1
        if part_of[before] != part_of[after]:
            cuts.append(Cut(after_block=part_of[before], tensors=cut.tensors))
            continue
        joined = NoCut(
            block=before,
            after=_named(blocks.nodes[before][::-1], main),
            before=_named(blocks.nodes[after], main),
            tensors=cut.tensors,
            reason=TIMED_AS_ONE,
        )
        no_cuts.append((before, 1, joined))
    return Explanation(
        network=network.name,
        granularity=parts.granularity,
        blocks=parts.blocks,
        cuts=tuple(cuts),
        no_cuts=tuple(
            NoCut(
                block=part_of[one.block],
                after=one.after,
                before=one.before,
                tensors=one.tensors,
                reason=one.reason,
            )
            for _, _, one in sorted(no_cuts, key=lambda placed: placed[:2])
        ),
    )


def explain_names(network: str, parts: Sequence[Block]) -> Explanation:
    """Explain parts of which nothing but their order is known.

    Args:
        network: name of what was timed.
        parts: what it was timed in.
    """
    return Explanation(
        network=network,
        granularity="table",
        blocks=tuple(parts),
        cuts=tuple(Cut(after_block=index, tensors=()) for index in range(len(parts) - 1)),
        no_cuts=(),
        opaque=True,
    )


def _named(names: Sequence[str], main: set[str]) -> str:
    """Return the first main node, or the first node where there is none, as in a head."""
    return next((name for name in names if name in main), names[0])
