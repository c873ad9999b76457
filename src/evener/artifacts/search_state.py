"""How far a search has come: all that it needs to go on as if it had never stopped."""

from typing import Any, ClassVar

import msgspec

from evener.artifacts.front import Generation, Scored


class SearchState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A search between two generations; its file says beside it how long it took so far.

    Attributes:
        search: state of the evolution.
        rival: state of the random search beside it.
        scored: what the evolution had evaluated, in order.
        random: what random search had.
        generations: those that are over.
    """

    kind: ClassVar[str] = "search"
    schema: ClassVar[int] = 1

    search: dict[str, Any]
    rival: dict[str, Any]
    scored: tuple[Scored, ...]
    random: tuple[Scored, ...]
    generations: tuple[Generation, ...]
