"""Train the best of a search in full beside what they are held against, and choose one of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import hypot
from statistics import stdev
from typing import TYPE_CHECKING, Any, Literal

from evener.artifacts.front import Retrained, Scored, SetApart
from evener.artifacts.project import TrainSection
from evener.artifacts.search_section import SearchSection
from evener.artifacts.search_state import SearchState
from evener.workflow.chunks import Crew

if TYPE_CHECKING:
    from evener.search.choose import Rated
    from evener.train.retrain import Full, Gone
    from evener.train.trials import Rows
    from evener.workflow.search_setup import Candidate

Finder = Literal["front", "random", "fixed"]


@dataclass(frozen=True, slots=True)
class Finals:
    """What training in full came to.

    Attributes:
        retrained: networks whose trainings ended well, those that there was time for.
        set_apart: trainings that came to nothing, and why.
        chosen: id of the network to keep.
    """

    retrained: tuple[Retrained, ...]
    set_apart: tuple[SetApart, ...]
    chosen: str


@dataclass(frozen=True, slots=True, eq=False)
class Finalists:
    """How the best of a search are trained in full.

    Attributes:
        section: how many, and from how many seeds.
        train: how the final network is trained.
        quality: the least that the chosen one is to come to, if there is a limit.
        rows: what they learn.
        crew: processes that train.
        deadline: in seconds since 1970.
        tell: told what is done, how much of it and of how much.
    """

    section: SearchSection
    train: TrainSection
    quality: float | None
    rows: "Rows"
    crew: Crew[Any, Any]
    deadline: float
    tell: Callable[[str, int, int], object]

    def choose(self, state: SearchState, front: "Sequence[Rated]", fixed: "Candidate") -> Finals:
        """Train the finalists of a front, the best that random search found, and a fixed network.

        Args:
            state: the search.
            front: its front, rated by the short training; one network or more.
            fixed: a network that nobody searched for.

        Returns:
            The choice is by the full training; where none of the front was trained in full, by the
            short one.
        """
        from evener.search.choose import Rated, choose, finalists

        of_front = finalists(front, self.quality, self.section.finalists)
        graphs = {one.score.id: one.architecture for one in (*state.scored, *state.random)}
        runs: list[tuple[Finder, Any]] = [("front", graphs[one.id]) for one in of_front]
        drawn = [one for one in state.random if one.score.quality is not None]
        if drawn:
            runs.append(("random", max(drawn, key=_worth).architecture))
        runs.append(("fixed", fixed))
        retrained, set_apart = self._train(runs)
        deviations = [stdev(one.validation) for one in retrained if len(one.validation) > 1]
        unknown = max(deviations, default=0.0)  # of one that was trained from one seed alone
        rated = []
        for one in of_front:
            full = next((r for r in retrained if (r.id, r.of) == (one.id, "front")), None)
            if full is not None:
                trained = len(full.validation)
                deviation = stdev(full.validation) if trained > 1 else unknown
                error = hypot(one.error, deviation / trained**0.5)
                rated.append(Rated(one.id, one.costs, full.quality, error))
        chosen = choose(rated, self.quality) if rated else of_front[0]
        return Finals(tuple(retrained), tuple(set_apart), chosen.id)

    def _train(
        self, runs: "Sequence[tuple[Finder, Candidate]]"
    ) -> tuple[list[Retrained], list[SetApart]]:
        from evener.train.retrain import LATE, Found, Full, train_in_full
        from evener.workflow.pruning import shrink
        from evener.workflow.search_setup import spread_of

        train = self.train.plain
        wanted = {one.id: one for _, one in runs}
        # Seed by seed: where time is up, all have been trained from some, in place of a few from
        # all.
        parts = [
            Full(network=one, spread=spread_of(one, self.section), seed=train.seed + number)
            for number in range(self.section.seeds)
            for one in wanted.values()
        ]
        act = partial(train_in_full, self.rows, train, self.deadline, shrink=shrink)

        def hear(done: int, of: int) -> None:
            self.tell(f"training {len(wanted)} networks in full", done, of)

        hear(0, len(parts))
        results: list[Found | Gone] = self.crew.map(act, parts, _lost, told=hear)
        found: dict[str, list[Found]] = {one: [] for one in wanted}
        gone: dict[str, list[tuple[int, str]]] = {one: [] for one in wanted}
        for part, result in zip(parts, results, strict=True):
            if isinstance(result, Found):
                found[part.network.id].append(result)
            else:
                gone[part.network.id].append((part.seed, result.message))
        for id_, some in found.items():
            if some:  # a seed for which there was no time tells nothing about a network
                gone[id_] = [one for one in gone[id_] if one[1] != LATE.message]
        retrained = [
            Retrained(
                id=one.id,
                of=of,
                validation=tuple(each.validation for each in found[one.id]),
                test=tuple(each.test for each in found[one.id]),
                unpruned=tuple(
                    each.unpruned for each in found[one.id] if each.unpruned is not None
                ),
            )
            for of, one in runs
            if not gone[one.id]
        ]
        set_apart = [
            SetApart(id=one.id, of=of, seed=seed, message=message)
            for of, one in runs
            for seed, message in gone[one.id]
        ]
        return retrained, set_apart


def _worth(one: Scored) -> tuple[float, int]:
    return one.score.quality or 0.0, -one.score.macs


def _lost(_part: "Full") -> "Gone":
    from evener.train.retrain import Gone

    return Gone("three processes that trained it ended; give it more memory, or make it smaller")
