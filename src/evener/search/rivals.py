"""A search, and random search beside it, generation by generation, no network evaluated twice.

Random search draws from the same space and gets as many evaluations, so that what the search found
beyond it is the search's merit. Both share what was evaluated.
"""

import time
from collections.abc import Callable, Sequence
from math import inf, isfinite
from typing import Generic, TypeVar

import numpy as np

from evener.artifacts.front import Generation, Scored
from evener.artifacts.networks import Network
from evener.artifacts.score import Score
from evener.artifacts.search_state import SearchState
from evener.search.algorithm import Algorithm
from evener.search.evaluate import Evaluate
from evener.search.evolution import Evolution
from evener.search.genes import Levels
from evener.search.random_search import RandomSearch
from evener.search.space import Space

NetworkT = TypeVar("NetworkT", bound=Network)
Prices = Callable[[Sequence[NetworkT]], Sequence[tuple[float, ...]]]
"""Returns what is made small beside the error, for each network."""


class Rivals(Generic[NetworkT]):
    """An evolution and a random search that go on in step.

    Args:
        space: what both draw from.
        algorithm: of the evolution.
        seed: of all chance.
        population: networks that random search draws at a time.
        most: evaluations of either, at most.
        evaluate: trains.
        prices: what is made small beside the error.
        names: of the prices; how many there are.
        limits: by how much a network breaks limits; it is not evaluated then.
        state: to go on from.
        known: scores of networks that need not be evaluated.
        alone: whether there is no random search.

    Raises:
        InputError: the state is of another search.
    """

    def __init__(
        self,
        space: Space[NetworkT],
        algorithm: Algorithm,
        *,
        seed: int,
        population: int,
        most: int,
        evaluate: Evaluate[NetworkT],
        prices: Prices[NetworkT],
        names: Sequence[str],
        limits: Callable[[NetworkT], float],
        state: SearchState | None = None,
        known: Sequence[Score] = (),
        alone: bool = False,
    ) -> None:
        self._space, self._seed, self._most = space, seed, most
        self._evaluate, self._prices, self._alone = evaluate, prices, alone

        def begin(how: Algorithm, plain: dict[str, object] | None) -> Evolution[NetworkT]:
            return Evolution(
                space, how, seed=seed, objectives=1 + len(names), limits=limits, state=plain
            )

        self._search = begin(algorithm, None if state is None else state.search)
        rival = RandomSearch(space, children=population)
        self._rival = begin(rival, None if state is None else state.rival or None)
        self._scored = [] if state is None else list(state.scored)
        self._random = [] if state is None else list(state.random)
        self._generations = [] if state is None else list(state.generations)
        scored = [one.score for one in (*self._scored, *self._random)]
        self._known = {one.id: one for one in (*known, *scored)}

    @property
    def generations(self) -> tuple[Generation, ...]:
        """The generations that are over."""
        return tuple(self._generations)

    @property
    def known(self) -> int:
        """How many networks have been evaluated, by either."""
        return len(self._known)

    def state(self) -> SearchState:
        """Return all that is known."""
        told = {one.score.id for one in (*self._scored, *self._random)}
        return SearchState(
            search=self._search.state(),
            rival=self._rival.state(),
            scored=tuple(self._scored),
            random=tuple(self._random),
            generations=self.generations,
            known=tuple(one for id_, one in self._known.items() if id_ not in told),
        )

    @property
    def evaluated(self) -> int:
        """How many evaluations the search itself was told."""
        return self._search.evaluated

    def allow(self, most: int) -> None:
        """Let either make so many evaluations from now on, at most."""
        self._most = most

    def front(self) -> tuple[NetworkT, ...]:
        """Return the networks that none dominates, best first."""
        return tuple(network for network, _ in self._search.front())

    def turn(self, algorithm: Algorithm) -> None:
        """Let the search go on by its algorithm with other settings, from the next generation."""
        self._search.turn(algorithm)

    def advance(self, budget_s: float | None) -> bool:
        """Evaluate a generation of either; False if there is nothing left to evaluate.

        Args:
            budget_s: time for it, in seconds. What was not evaluated then is asked for again.
        """
        begun = time.monotonic()

        def left_s() -> float:
            return inf if budget_s is None else budget_s - (time.monotonic() - begun)

        own = self._search.ask(lambda: left_s() <= 0)[: self._most - self._search.evaluated]
        goal = self._search.evaluated + len(own)
        others: tuple[NetworkT, ...] = ()
        if not self._alone:
            others = self._rival.ask(lambda: left_s() <= 0)[: goal - self._rival.evaluated]
        if not (own or others):
            return False
        wanted = {one.id: one for one in (*own, *others) if one.id not in self._known}
        batch = tuple(wanted.values())
        bred = {one.id: self._search.descent(one.id) for one in own}
        # What proposing took, whose prices may be of plans, is not left for the trainings.
        time_s = None if budget_s is None else max(left_s(), 0.0)
        scores = (
            self._evaluate(batch, budget_s=time_s, seed=self._seed, descents=bred) if batch else ()
        )
        self._known |= {one.id: one for one in scores if one.status != "out_of_budget"}
        generation = len(self._generations)
        told = self._tell(self._search, own, self._scored, generation)
        self._tell(self._rival, others, self._random, generation)
        if own and told == len(own):
            self._generations.append(self._look())
        return True

    def _tell(
        self,
        evolution: Evolution[NetworkT],
        asked: Sequence[NetworkT],
        scored: list[Scored],
        generation: int,
    ) -> int:
        """Tell what is known of those asked for; return of how many something is."""
        known = [one for one in asked if one.id in self._known]
        results: dict[str, tuple[float, ...] | None] = {}
        for network, prices in zip(known, self._prices(known), strict=True):
            score = self._known[network.id]
            found = None if score.quality is None else (1 - score.quality, *prices)
            if found is not None and not all(map(isfinite, found)):
                found = None  # no processor holds it
            results[network.id] = found
            scored.append(
                Scored(
                    architecture=network,
                    score=score,
                    objectives=found or (),
                    generation=generation,
                    parents=evolution.parents(network.id),
                )
            )
        evolution.tell(results)
        return len(known)

    def _look(self) -> Generation:
        genomes = self._search.population
        return Generation(
            evaluations=self._search.evaluated,
            best=best_quality([one.score for one in self._scored]),
            random_best=best_quality([one.score for one in self._random]),
            front=len(self._search.front()),
            diversity=None if genomes is None else diversity(self._space.loci(genomes)),
            lambda_=self._search.lambda_,
        )


def best_quality(scores: Sequence[Score]) -> float | None:
    """Return the best quality of some scores; None if none has one."""
    return max((one.quality for one in scores if one.quality is not None), default=None)


def diversity(loci: Levels) -> float:
    """Return the mean share of choices in which two genomes differ, 0 for fewer than two.

    Args:
        loci: (genomes, choices).

    Example:
        >>> diversity(np.array([[0, 1], [0, 1], [1, 1]]))
        0.333...
    """
    count = len(loci)
    if count < 2:
        return 0.0
    differ = [(one != loci).mean(axis=1).sum() for one in loci]
    return float(np.sum(differ) / (count * (count - 1)))
