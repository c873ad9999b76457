"""Estimate the segments of a network that were not timed from those that were.

Let A(j) be the time of all blocks up to j, B(i) that of all from i on, and W that of the whole.
A cut costs what a runtime spends on it, such as reordering an input, half before and half behind.
If blocks and halves of cuts add up, then blocks i to j take A(j) + B(i) - W: each block outside is
subtracted once too often and each cut counted once. No split of a cut's cost need be known.

By the rule "node" the same holds of places: A(j) is what has run at the place behind block j, B(i)
what has not run at the place before block i, and where the first place lies within the second,
everything has run at one or has not run at the other.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final

from evener.artifacts.profile import Block
from evener.profile.timing import Formed, Segment, Timing, always_formed

SHORTEST_S: Final = 1e-6
"""No segment is estimated to take less, whatever noise says."""


def fill_in(
    blocks: Sequence[Block], timed: Mapping[Segment, Timing], *, formed: Formed = always_formed
) -> dict[Segment, Timing]:
    """Give every segment a time on one core set in one runtime.

    A prefix or suffix that was not timed lies between its nearest timed ones, that which it
    contains and that which contains it, by its share of the multiply-accumulates. Every other
    segment follows from a prefix and a suffix, as the module says; where the difference cannot be
    told from noise, it is the noise.

    Args:
        blocks: all of the network's.
        timed: what was timed; the whole network among it.
        formed: which blocks form segments; every prefix and suffix is one.

    Returns:
        A time of each segment: the measured one where there is one, else an estimate with
        `repeats` 0.

    Example:
        >>> block = Block(name="b", operators={}, macs=1, weights_bytes=0, inputs=(), outputs=())
        >>> whole, start = Timing(3.0, 3.0, 3.0, 5), Timing(1.0, 1.0, 1.0, 5)
        >>> fill_in([block] * 3, {(0, 2): whole, (0, 0): start, (1, 2): Timing(2.5, 2.5, 2.5, 5)})[
        ...     0, 1
        ... ].median_s
        2.0
    """
    last = len(blocks) - 1
    whole = timed[0, last]
    prefixes = _between(
        blocks, {end: timed[0, end] for end in range(last + 1) if (0, end) in timed}, formed
    )
    flipped = {
        last - start: timed[start, last] for start in range(last + 1) if (start, last) in timed
    }
    suffixes = _between(blocks[::-1], flipped, lambda f, e: formed(last - e, last - f))[::-1]
    filled: dict[Segment, Timing] = {}
    for first in range(last + 1):
        for end in range(first, last + 1):
            if (first, end) in timed:
                filled[first, end] = timed[first, end]
            elif first == 0:
                filled[first, end] = prefixes[end]
            elif end == last:
                filled[first, end] = suffixes[first]
            elif formed(first, end):
                filled[first, end] = _middle(prefixes[end], suffixes[first], whole)
    return filled


def _middle(prefix: Timing, suffix: Timing, whole: Timing) -> Timing:
    noise_s = max((timing.high_s - timing.low_s) / 2 for timing in (prefix, suffix, whole))
    median_s = max(prefix.median_s + suffix.median_s - whole.median_s, noise_s, SHORTEST_S)
    return Timing(
        median_s=median_s,
        low_s=min(median_s, max(prefix.low_s + suffix.low_s - whole.high_s, SHORTEST_S)),
        high_s=max(median_s, prefix.high_s + suffix.high_s - whole.low_s),
        repeats=0,
    )


def _between(blocks: Sequence[Block], known: Mapping[int, Timing], formed: Formed) -> list[Timing]:
    """Return the time of the first 1, 2, ... blocks; that of none is 0."""
    done = [0.0, *accumulate(_weight(blocks, block) for block in blocks)]
    nothing = Timing(0.0, 0.0, 0.0, 0)
    ends = sorted(known)
    times: list[Timing] = []
    for end in range(len(blocks)):
        if end in known:
            times.append(known[end])
            continue
        before = max((at for at in ends if at < end and formed(at + 1, end)), default=-1)
        after = min(at for at in ends if at > end and formed(end + 1, at))
        share = (done[end + 1] - done[before + 1]) / (done[after + 1] - done[before + 1])
        low, high = known.get(before, nothing), known[after]
        median_s, low_s, high_s = (
            max(SHORTEST_S, start + share * (stop - start))
            for start, stop in (
                (low.median_s, high.median_s),
                (low.low_s, high.low_s),
                (low.high_s, high.high_s),
            )
        )
        times.append(Timing(median_s, low_s, high_s, repeats=0))
    return times


def _weight(blocks: Sequence[Block], block: Block) -> float:
    """Return a block's share of the work; no block is free."""
    total = sum(each.macs for each in blocks)
    return block.macs / total + 1e-6 if total else 1.0
