"""Search by the paper's Algorithm 1 as a whole, with random search beside it.

Its trainings do not come by `Evaluate`, which scores a network once, from drawn weights: Algorithm
1 trains several weight sets of a network, goes on from what was learned, and scores networks that
lost a connection. They are trials all the same, each of which counts as an evaluation.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf, isfinite, log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from evener.artifacts.front import Generation, Scored
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import Ends, Network, macs
from evener.artifacts.score import Score
from evener.artifacts.search_section import SearchSection
from evener.artifacts.search_state import SearchState
from evener.artifacts.table1 import TABLE_1, Range
from evener.errors import InputError
from evener.search.coevolution.algorithm import coevolve
from evener.search.coevolution.growth import single_block
from evener.search.coevolution.hyperparameters import Hyperparameters
from evener.search.coevolution.trace import Event
from evener.search.evaluate import Evaluate
from evener.search.fronts import first_front
from evener.search.genes import Genomes
from evener.search.layer_space import LayerSpace
from evener.search.random_search import RandomSearch
from evener.search.rivals import Prices, Rivals, best_quality
from evener.workflow.coevolution import widest
from evener.workflow.coevolution_settings import rounds_of, settings_from_project, trainings_of
from evener.workflow.trained_sets import Lesson, SpentError, Trained, TrainedSets

if TYPE_CHECKING:
    from evener.workflow.search_setup import Candidate

ALPHA: Final = 0.01
"""Weight of the complexity in F: multiply-accumulates over those of the largest network."""


@dataclass(frozen=True, slots=True, eq=False)
class Grounds:
    """What Algorithm 1 is carried out on.

    Attributes:
        section: of the project.
        space: what genomes mean; those of Algorithm 1 hold no recipe, which its chromosomes have.
        ends: what networks stand between.
        learning_rate: of trials, where rates do not evolve.
        lesson: how weight sets are trained.
        evaluate: scores what random search proposes.
        prices: what is made small beside the error.
        limits: by how much a network breaks limits; it is not trained then.
        bases: genomes of `space` that the first instances begin with; None if they all begin with
            a single block.
        folder: for files of what was trained.
        clock: seconds since 1970.
    """

    section: SearchSection
    space: LayerSpace
    ends: Ends
    learning_rate: float
    lesson: Lesson
    evaluate: "Evaluate[Candidate]"
    prices: "Prices[Candidate]"
    limits: "Callable[[Candidate], float]"
    bases: Genomes | None
    folder: Path
    clock: Callable[[], float]

    @property
    def models(self) -> tuple[LayerGraph, ...]:
        """The base models; their rates are drawn as those of all instances."""
        if self.bases is None:
            return ()
        networks = self.space.decode(self.bases)
        return tuple(msgspec.structs.replace(one, recipe=None) for one in networks)

    @property
    def wiring(self) -> LayerSpace:
        """What the genomes of Algorithm 1 mean."""
        return replace(self.space, recipes=False)


class Coevolving:
    """A search by Algorithm 1, in the place of `Rivals`.

    Args:
        grounds: what it is carried out on.
        state: whose scores of random search need no training any more; None before the first.
    """

    def __init__(self, grounds: Grounds, state: SearchState | None) -> None:
        self._grounds = grounds
        self._scored: dict[str, Scored] = {}
        self._trainings = self._told = 0  # told: until the last generation that is over
        self._round = 0
        self._grown = self._pruning = False
        self._before = () if state is None else state.generations
        self._generations: list[Generation] = []
        self._beside: list[Scored] = []
        scores = () if state is None else (*(one.score for one in state.random), *state.known)
        section = grounds.section
        self._random: Rivals[Any] = Rivals(
            grounds.space,
            RandomSearch(grounds.space, children=section.population),
            seed=section.seed,
            population=section.population,
            most=0,
            evaluate=grounds.evaluate,
            prices=grounds.prices,
            names=section.costs,
            limits=grounds.limits,
            known=scores,
            alone=True,
        )

    @property
    def expected(self) -> int:
        """About how many trainings there will be, those of the pruning left out."""
        return trainings_of(self._grounds.section, self._grounds.space)

    @property
    def rounds(self) -> int:
        """How many rounds there will be, at most; the pruning is the last."""
        section = self._grounds.section
        return rounds_of(section, self._grounds.space) + section.generations + 1

    @property
    def generations(self) -> tuple[Generation, ...]:
        """Rounds of development, generations, and the pruning as the last, as far as they went."""
        return tuple(self._generations)

    def state(self) -> SearchState:
        """Return all that is known."""
        random = self._random.state()
        beside = {one.score.id for one in self._beside}
        later = (one.score for one in random.scored if one.score.id not in beside)
        return SearchState(
            search={},
            rival={},
            scored=tuple(self._scored.values()),
            random=tuple(self._beside),
            generations=self.generations,
            known=(*later, *random.known),
        )

    def front(self) -> tuple[Network, ...]:
        """Return the networks that none dominates, best first."""
        good = sorted(
            (one for one in self._scored.values() if one.objectives), key=lambda one: one.score.id
        )
        if not good:
            return ()
        objectives = np.array([one.objectives for one in good])
        return tuple(good[index].architecture for index in first_front(objectives))

    def run(self, left_s: Callable[[], float], after: Callable[[], object], *, epochs: int) -> None:
        """Carry it out, from its beginning, where what was trained before is read from files.

        Args:
            left_s: returns how many seconds are left.
            after: called after each round that was not over before.
            epochs: passes of each training.

        Raises:
            InputError: a limit that not even the network keeps which all begin with.
        """
        section = self._grounds.section
        _check_beginning(self._grounds)

        def allow(count: int) -> None:
            most = inf if section.evaluations is None else section.evaluations
            if self._trainings + count > most:
                raise SpentError

        def until() -> float:
            if left_s() <= 0:
                raise SpentError
            return self._grounds.clock() + left_s()

        def hear(trained: Sequence[Trained]) -> None:
            self._add(trained)
            self._catch_up(left_s)
            if not self._pruning:
                self._end_round(after)

        def see(event: Event) -> None:
            self._grown = self._grown or event.line == "encode"
            self._pruning = self._pruning or event.line == "sparsify"

        sets = TrainedSets(
            self._grounds.lesson,
            self._grounds.folder,
            allow=allow,
            until=until,
            hear=hear,
            compete=lambda: self._grown,
        )
        settings = settings_from_project(self._grounds, epochs)
        with suppress(SpentError):  # what was trained until then counts
            coevolve(
                settings,
                sets,
                self._drawn,
                seed=section.seed,
                bases=self._grounds.models,
                trace=see,
            )
        if self._trainings > self._told:
            self._end_round(after)
        sets.tidy()

    def _drawn(self, rng: np.random.Generator) -> Hyperparameters:
        """Draw hyperparameters within Table I where they evolve; else return those of the project.

        Where the table's edge of chaos is, and whether it is anywhere, made no difference that
        could be measured (benchmarks/ablation.py).
        """
        section, table = self._grounds.section, TABLE_1
        rate, momentum = self._grounds.learning_rate, 0.0
        if section.recipes:
            low, high = table.learning_rate
            rate = float(np.exp(rng.uniform(log(low), log(high))))
            momentum = float(rng.uniform(*table.momentum))
        mutation = section.mutation
        return Hyperparameters(
            learning_rate=_within(rate, table.learning_rate),
            momentum=momentum,
            mutation_rate=1 / self._grounds.wiring.length if mutation is None else mutation,
            crossover_rate=_within(section.crossover, table.crossover_rate),
        )

    def _add(self, trained: Sequence[Trained]) -> None:
        """Take in what trainings came to; the best of a network counts."""
        self._trainings += len(trained)
        prices = self._grounds.prices([one.network for one in trained])
        for one, price in zip(trained, prices, strict=True):
            before = self._scored.get(one.score.id)
            if before is not None and not improves(one.score, before.score):
                continue
            found = () if one.score.quality is None else (1 - one.score.quality, *price)
            known = tuple(id_ for id_ in one.parents if id_ in self._scored)
            self._scored[one.score.id] = Scored(
                architecture=one.network,
                score=one.score,
                objectives=found if all(map(isfinite, found)) else (),
                generation=self._round if before is None else before.generation,
                parents=known if before is None else before.parents,
            )

    def _catch_up(self, left_s: Callable[[], float]) -> None:
        """Let random search come to as many evaluations, by what is known even when time is up."""
        self._random.allow(self._trainings)
        before = -1
        while before < self._random.evaluated < self._trainings:
            before = self._random.evaluated
            self._random.advance(max(left_s(), 0.0))

    def _end_round(self, after: Callable[[], object]) -> None:
        """Write down how far both are."""
        self._told = self._trainings
        number, self._round = self._round, self._round + 1
        for one in self._random.state().scored[len(self._beside) :]:
            self._beside.append(msgspec.structs.replace(one, generation=number))
        best = [
            best_quality([one.score for one in some])
            for some in (self._scored.values(), self._beside)
        ]
        self._generations.append(
            Generation(
                evaluations=self._trainings,
                best=best[0],
                random_best=best[1],
                front=len(self.front()),
                diversity=None,
                lambda_=None,
            )
        )
        if self._generations[number:] != list(self._before[number : number + 1]):
            after()  # else it was over before this start


def improves(score: Score, before: Score) -> bool:
    """Say whether a score of a network is better than an earlier one of it.

    Example:
        >>> improves(Score(id="a", quality=-0.3), Score(id="a", quality=0.0))
        False
        >>> improves(Score(id="a", quality=-0.3), Score(id="a", status="diverged"))
        True
    """
    if score.quality is None:
        return False
    return before.quality is None or score.quality > before.quality


def fitness_of(space: LayerSpace, ends: Ends) -> Callable[[LayerGraph, float], float]:
    """Return F of equation 3, without its price on links, by a network and its mean difference.

    Args:
        space: whose largest network has a complexity of 1.
        ends: what networks stand between.

    Example:
        >>> largest = widest(LayerSpace(depth=1))
        >>> ends = Ends(features=4, outputs=2)
        >>> fitness_of(LayerSpace(depth=1), ends)(largest, 0.25)
        0.26
    """
    most = macs(widest(space), ends)
    return lambda network, difference: difference + ALPHA * macs(network, ends) / most


def _check_beginning(grounds: Grounds) -> None:
    if len(grounds.models) == grounds.section.population:
        return  # none begins with a single block
    base = single_block(grounds.wiring)
    told = f"the search by Algorithm 1 begins with the network '{base}'"
    most = grounds.section.max_nodes
    if base.widths[0] > most:
        raise InputError(
            f"{told}, and search.max_nodes = {most} allows fewer units: raise it, or write "
            "search.widths with a narrower layer"
        )
    if grounds.limits(base) > 0:
        raise InputError(
            f"{told}, and it breaks a limit of [requirements], such as that on the size, as do all "
            "that grow from it: loosen the limit, or write search.widths with a narrower layer"
        )


def _within(value: float, bounds: Range) -> float:
    return min(max(value, bounds[0]), bounds[1])
