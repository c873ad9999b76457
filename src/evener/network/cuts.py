"""Read cuts that a user names into the segments that they leave.

A cut is named by the block that it follows: 4 stands between block 4 and block 5, counted from 0.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from evener.errors import InputError


def segments_between(
    cuts: Sequence[int],
    *,
    blocks: int,
    network: str,
    formed: Callable[[int, int], bool] | None = None,
    see: str = "evener plan NET --explain",
) -> tuple[range, ...]:
    """Return the blocks of each segment.

    Args:
        cuts: the block that each cut follows, ascending.
        blocks: how many blocks the network has.
        network: its name, for the messages.
        formed: whether two blocks are the first and last of a segment; any are if None.
        see: the command that lists the cuts, for the messages.

    Raises:
        InputError: a cut out of range, cuts that do not ascend, or by the rule "node" two of which
            neither is behind the other.

    Example:
        >>> segments_between([4, 6], blocks=10, network="mine")
        (range(0, 5), range(5, 7), range(7, 10))
    """
    outside = [cut for cut in cuts if not 0 <= cut < blocks - 1]
    if outside:
        where = f"has the cuts 0 to {blocks - 2}" if blocks > 1 else "cannot be cut"
        raise InputError(
            f"there is no cut {', '.join(map(str, outside))}: {network} in {blocks} "
            f"block{'s' * (blocks != 1)} {where}; see them with {see}"
        )
    if any(right <= left for left, right in pairwise(cuts)):
        raise InputError(
            f"the cuts {', '.join(map(str, cuts))} do not ascend: name each once, smallest first"
        )
    starts = [0, *(cut + 1 for cut in cuts)]
    segments = tuple(map(range, starts, [*starts[1:], blocks]))
    for segment in segments:
        if formed is not None and not formed(segment[0], segment[-1]):
            raise InputError(
                f"the cuts {segment[0] - 1} and {segment[-1]} of {network} do not follow each "
                f"other: some of what runs before cut {segment[0] - 1} only runs after cut "
                f"{segment[-1]}, in another branch. Name cuts of which each is behind the one "
                "before; see evener plan NET --granularity node --explain"
            )
    return segments
