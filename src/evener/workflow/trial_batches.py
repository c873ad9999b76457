"""Score networks of a search by a short training, in parts that do not depend on who does them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from evener.artifacts.project import TrainSection
from evener.artifacts.score import Score
from evener.artifacts.search_section import SearchSection
from evener.workflow.chunks import Crew
from evener.workflow.learned import Learned

if TYPE_CHECKING:
    from evener.search.homology import Descent, LayerGenomes
    from evener.search.rivals import Prices
    from evener.train.trials import Rows, Terms, Trial, Tried
    from evener.workflow.search_setup import Candidate


@dataclass(frozen=True, slots=True, eq=False)
class TrialBatches:
    """Trains networks shortly; called as `search` wants an evaluation to be.

    Attributes:
        rows: what they learn.
        section: for how long, how many in a batch, and where their weights begin.
        train: how they are trained, as far as that counts for a short training.
        prices: what counts beside the error, where only some go on.
        crew: processes that train.
        clock: seconds since 1970.
        learned: what networks learned, which their children begin from; None if all begin anew.
        space: what genomes mean; None where nothing is passed on.
    """

    rows: "Rows"
    section: SearchSection
    train: TrainSection
    prices: "Prices[Candidate]"
    crew: Crew[Any, Any]
    clock: Callable[[], float]
    learned: Learned | None = None
    space: "LayerGenomes | None" = None

    def __call__(
        self,
        batch: "Sequence[Candidate]",
        *,
        budget_s: float | None,
        seed: int,
        descents: "Mapping[str, Descent | None]",
    ) -> list[Score]:
        """Score each network, in the order of the batch; see `evener.search.evaluate`."""
        from evener.search.halving import best_third
        from evener.train.trials import score_rows

        terms = terms_of(self.section, self.train, seed)
        trials = [
            self._trial(one, prices, descents.get(one.id))
            for one, prices in zip(batch, self.prices(batch), strict=True)
        ]
        # The costliest first: what is left at the end is short, whoever does it.
        ordered = sorted(trials, key=lambda one: (-one.costs[0], one.network.id))
        count = -(-len(ordered) // self.section.together)
        bounds = [len(ordered) * number // count for number in range(count + 1)]
        parts = [tuple(ordered[first:last]) for first, last in pairwise(bounds)]
        if terms.rungs:  # who goes on is decided within a part: each has some of every cost
            parts = [tuple(ordered[number::count]) for number in range(count)]
        deadline = None if budget_s is None else self.clock() + budget_s
        act = partial(score_rows, self.rows, terms, best_third, deadline)
        found = [tried for part in self.crew.map(act, parts, lost_part) for tried in part]
        by_id = {tried.score.id: tried for tried in found}
        if self.learned is not None:
            self.learned.keep({one: by_id[one.id].learned for one in batch})
        return [by_id[one.id].score for one in batch]

    def _trial(
        self, network: "Candidate", prices: Sequence[float], descent: "Descent | None"
    ) -> "Trial":
        from evener.search.homology import homologies
        from evener.train.trials import Trial
        from evener.workflow.search_setup import spread_of

        trial = Trial(network=network, spread=spread_of(network, self.section), costs=tuple(prices))
        if self.learned is None or self.space is None or descent is None:
            return trial
        each = zip(descent.parents, homologies(self.space, descent), strict=True)
        known = [(parent, same) for id_, same in each for parent in self.learned.of([id_])]
        return msgspec.structs.replace(
            trial,
            parents=tuple(parent for parent, _ in known),
            homologies=tuple(same for _, same in known),
        )

    def epoch_s(self, network: "Candidate") -> float | None:
        """Return how long a network takes for an epoch by itself, in seconds.

        Args:
            network: that is trained for it.

        Returns:
            None if it cannot be trained.
        """
        from evener.train.epoch_time import epoch_seconds
        from evener.train.trials import Trial
        from evener.workflow.search_setup import spread_of

        trial = Trial(network=network, spread=spread_of(network, self.section))
        act = partial(epoch_seconds, self.rows, terms_of(self.section, self.train, 0))
        found: list[float | None] = self.crew.map(act, [trial], _unknown)
        return found[0]


def terms_of(section: SearchSection, train: TrainSection, seed: int) -> "Terms":
    """Return what all trials of a search have in common.

    Args:
        section: of the project.
        train: how its networks are trained.
        seed: that chance is drawn from.
    """
    from evener.train.trials import Terms

    return Terms(
        epochs=section.epochs,
        batch=train.batch if section.batch is None else section.batch,
        learning_rate=train.learning_rate,
        seed=seed,
        rungs=section.rungs,
        device=section.device,
        shift=train.shift,
        mirror=train.mirror,
        dropout=train.dropout,
        class_weight=train.class_weight,
        rows=section.rows,
    )


def lost_part(part: "Sequence[Trial]") -> "list[Tried]":
    """Return what trials came to that three processes ended over."""
    from evener.train.trials import Tried

    message = "three processes that trained it ended; give it more memory, or make it smaller"
    return [Tried(Score(id=one.network.id, status="failed", message=message)) for one in part]


def _unknown(_trial: "Trial") -> None:
    """Return what is known of an epoch that three processes ended over."""
