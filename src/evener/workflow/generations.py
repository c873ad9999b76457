"""The loop of every search: generation after generation, until there are enough or time is up."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from evener.workflow.pace import Pace

if TYPE_CHECKING:
    from evener.search.rivals import Rivals


def evolve(
    rivals: "Rivals[Any]",
    *,
    generations: int,
    left_s: Callable[[], float | None],
    after: Callable[[Pace | None], object],
) -> None:
    """Let a search, and random search beside it if it has one, go on to their end.

    Args:
        rivals: the search.
        generations: how many there are to be, at most.
        left_s: returns how many seconds are left; None for no limit.
        after: called after each part that was evaluated, with the pace of the generation that it
            ended, or None where it ended none.
    """
    while (done := len(rivals.generations)) < generations:
        before_s, known = left_s(), rivals.known
        if (before_s is not None and before_s <= 0) or not rivals.advance(before_s):
            return
        pace = None
        if len(rivals.generations) > done:
            after_s = left_s()
            took_s = 0.0 if before_s is None or after_s is None else before_s - after_s
            pace = Pace(done=done + 1, tried=rivals.known - known, took_s=took_s, left_s=after_s)
        after(pace)
