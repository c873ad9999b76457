"""Find times that contradict others, because something else ran on the machine meanwhile.

A disturbance only ever adds time, and may last as long as all runs of a segment, so that their
median hides it. But a segment does not take longer than one that contains it, nor a whole longer
than its two sides, which pay for the cut besides.
"""

from collections.abc import Mapping
from typing import Final

from evener.profile.timing import Formed, Segment, Timing, always_formed

# Times within a tenth of each other do not contradict: a cut can change how a kernel is chosen.
TOLERANCE: Final = 1.1


def doubtful(
    timed: Mapping[Segment, Timing], *, formed: Formed = always_formed
) -> tuple[Segment, ...]:
    """Return the segments whose times are too long beside the others.

    Args:
        timed: the whole network and any of its prefixes and suffixes, at one place.
        formed: which blocks form segments.

    Example:
        >>> one, two, nine = (Timing(s, s, s, 5) for s in (1.0, 2.0, 9.0))
        >>> doubtful({(0, 1): two, (0, 0): nine, (1, 1): one})
        ((0, 0),)
        >>> doubtful({(0, 1): nine, (0, 0): two, (1, 1): one})
        ((0, 1),)
    """
    return tuple(
        segment
        for segment, timing in timed.items()
        if timing.median_s
        > TOLERANCE * min(_longer_s(timed, segment, formed), _sides_s(timed, segment))
    )


def _longer_s(timed: Mapping[Segment, Timing], inner: Segment, formed: Formed) -> float:
    """Return the shortest time of a segment that contains this one; its own is among them."""
    return min(
        timing.median_s
        for (first, last), timing in timed.items()
        if first <= inner[0]
        and inner[1] <= last
        and formed(first, inner[0] - 1)
        and formed(inner[1] + 1, last)
    )


def _sides_s(timed: Mapping[Segment, Timing], segment: Segment) -> float:
    """Return the shortest time of two segments that make up this one; inf if none were timed."""
    first, last = segment
    return min(
        (
            timed[first, cut].median_s + timed[cut + 1, last].median_s
            for cut in range(first, last)
            if (first, cut) in timed and (cut + 1, last) in timed
        ),
        default=float("inf"),
    )
