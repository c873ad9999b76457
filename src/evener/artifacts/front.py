"""What a search looked at: every architecture with its score, and the one that was chosen."""

from typing import ClassVar

import msgspec

from evener.artifacts.architecture import Architecture
from evener.artifacts.score import Score


class Scored(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An architecture and what an evaluation found about it.

    Attributes:
        architecture: the architecture.
        score: its score.
    """

    kind: ClassVar[str] = "scored"
    schema: ClassVar[int] = 1

    architecture: Architecture
    score: Score


class Front(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every architecture that was scored, and which are worth having.

    Attributes:
        scored: all of them, in the order in which they were proposed.
        front: ids of those than which no other is both as good and as cheap, cheapest first.
        chosen: id of the one to train.
    """

    kind: ClassVar[str] = "front"
    schema: ClassVar[int] = 1

    scored: tuple[Scored, ...]
    front: tuple[str, ...]
    chosen: str

    @property
    def architecture(self) -> Architecture:
        """The chosen architecture."""
        return next(one.architecture for one in self.scored if one.architecture.id == self.chosen)
