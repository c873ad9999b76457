"""Join neighbouring blocks of a network, where something was timed in coarser parts."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, chain

from evener.artifacts.profile import Block
from evener.errors import InputError
from evener.network.blocks import Blocks


def merge_blocks(blocks: Blocks, counts: Sequence[int]) -> Blocks:
    """Join the first `counts[0]` blocks into one, the next `counts[1]` into the second, and so on.

    A weight that several of the joined blocks read counts once for each, as between blocks.

    Args:
        blocks: what to join; left as it is.
        counts: how many blocks each part takes, in order.

    Returns:
        Blocks of the granularity "table", of which segments can be cut as of any others.

    Raises:
        InputError: a part without a block, or counts that do not add up to the blocks.

    Example:
        >>> from evener.network.blocks import cut_into_blocks
        >>> from evener.network.model import load_network
        >>> blocks = cut_into_blocks(load_network("squeezenet"), "paper")
        >>> len(merge_blocks(blocks, [1, *[2] * 9]).blocks)
        10
    """
    if sum(counts) != len(blocks.blocks) or any(count < 1 for count in counts):
        raise InputError(
            f"parts of {', '.join(map(str, counts)) or 'no'} blocks do not make up "
            f"{len(blocks.blocks)} blocks: give each part at least one, and all of them together"
        )
    ends = list(accumulate(counts))
    parts = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    return dataclasses.replace(
        blocks,
        granularity="table",
        blocks=tuple(_join(blocks.blocks[part]) for part in parts),
        nodes=tuple(tuple(chain.from_iterable(blocks.nodes[part])) for part in parts),
    )


def _join(blocks: Sequence[Block]) -> Block:
    operators = sum((Counter(block.operators) for block in blocks), Counter[str]())
    return Block(
        name=blocks[0].name,
        operators=dict(sorted(operators.items())),
        macs=sum(block.macs for block in blocks),
        weights_bytes=sum(block.weights_bytes for block in blocks),
        inputs=blocks[0].inputs,
        outputs=blocks[-1].outputs,
        states=sum(block.states for block in blocks),
    )
