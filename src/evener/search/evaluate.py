"""The seam between what proposes networks and what finds out how good they are.

`search` calls `evaluate` and never learns how it works; `workflow` binds training into it.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from evener.artifacts.networks import Network
from evener.artifacts.score import Score as Score
from evener.search.homology import Descent

NetworkT_contra = TypeVar("NetworkT_contra", bound=Network, contravariant=True)


class Evaluate(Protocol[NetworkT_contra]):
    """Find out how good some networks are."""

    def __call__(
        self,
        batch: Sequence[NetworkT_contra],
        *,
        budget_s: float | None,
        seed: int,
        descents: Mapping[str, Descent | None],
    ) -> Sequence[Score]:
        """Score each network, in the order of the batch.

        Args:
            batch: the networks.
            budget_s: longest time for all of them, in seconds; None for no limit. Those that no
                time is left for get the status "out_of_budget".
            seed: what the randomness is drawn from; the same seed gives the same scores, however
                many processes take part.
            descents: how networks were bred, by their ids; their parents were all scored before, or
                broke a limit. None of one that was drawn, or nothing.

        Returns:
            One score per network. A failure is a score with a status, never an exception.
        """
        ...
