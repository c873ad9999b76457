"""How far a search has come: all that it needs to go on as if it had never stopped."""

from typing import Any, ClassVar

import msgspec

from evener.artifacts.front import Generation, Scored
from evener.artifacts.score import Score


class SearchState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A search between two generations; its file says beside it how long it took so far.

    Attributes:
        search: state of the evolution.
        rival: state of the random search beside it.
        scored: what the evolution had evaluated, in order.
        random: what random search had.
        generations: those that are over.
        known: scores of other networks, which an earlier search with the same trials came to.
        epochs: of each trial, where the budget has no time for as many as were asked for; else
            None.
        children: of the next generation, likewise.
        rows: that a trial learns from, where there is no time for one epoch over all; else None.
        pool: among how many candidates a generation is chosen, where their prices take time; else
            None.
        budget_s: that the search had when these were decided, in seconds.
        full_s: seconds of the search that training in full took; 0 before.
    """

    kind: ClassVar[str] = "search"
    schema: ClassVar[int] = 2

    search: dict[str, Any]
    rival: dict[str, Any]
    scored: tuple[Scored, ...]
    random: tuple[Scored, ...]
    generations: tuple[Generation, ...]
    known: tuple[Score, ...] = ()
    epochs: int | None = None
    children: int | None = None
    rows: int | None = None
    pool: int | None = None
    budget_s: float = 0.0
    full_s: float = 0.0

    @property
    def all_scores(self) -> tuple[Score, ...]:
        """The score of each network that was evaluated, once."""
        found = {one.score.id: one.score for one in (*self.scored, *self.random)}
        return (*found.values(), *(one for one in self.known if one.id not in found))
