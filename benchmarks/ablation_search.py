"""Search networks as `evener search` does, whole and without a part, and count what was known."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from statistics import fmean
from typing import Final, Generic, cast

import msgspec
import numpy as np
from nasbench_tables import SPACE, Cell, load_table

from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import macs
from evener.artifacts.project import TrainSection
from evener.artifacts.search_section import SearchSection
from evener.data.dataset import Dataset
from evener.data.split import Split
from evener.errors import EvenerError
from evener.search.algorithm import Algorithm, Brood, Memory
from evener.search.algorithms import make_algorithm
from evener.search.breeding import FREE
from evener.search.evolution import Evolution
from evener.search.homology import Descent, LayerGenomes, homologies
from evener.search.judged import Judged
from evener.search.paper import Paper
from evener.search.space import PhenotypeT, Space
from evener.train.fit import ends_of
from evener.train.population.weights import Weights
from evener.train.trials import Trial, score_together, try_together
from evener.workflow.search_setup import algorithm_of, limits_of, prices_of, space_of, spread_of
from evener.workflow.trial_batches import terms_of

SECTION: Final = SearchSection(networks="layers", epochs=4, generations=4, widths=(16, 32, 64, 128))
TRAIN: Final = TrainSection(epochs=16)
TRAININGS: Final = SECTION.most
AGAIN: Final = 3  # trainings in full of the network that a search ends with
_TOGETHER: Final = 8

_with: Final = partial(msgspec.structs.replace, SECTION)
PARTS: Final[Mapping[str, SearchSection]] = {
    "whole": SECTION,
    "weights start ordered": _with(start="ordered"),
    "weights start chaotic": _with(start="chaotic"),
    "weights start at random": _with(start="random"),
    "inheritance of weights on": _with(inherit=True),
}
CACHED: Final[Mapping[str, SearchSection]] = {
    "screened": SECTION,
    "nsga2": _with(algorithm="nsga2"),
    "paper": _with(algorithm="paper", band=(0.2, 0.6)),
    "regularized": _with(algorithm="regularized"),
}
"""Algorithms whose proposals are counted."""

TABLE_TRAININGS: Final = 200
TABLE_ALGORITHMS: Final[Mapping[str, Algorithm]] = {
    "screened": make_algorithm("screened", SPACE, children=10),
    "paper": make_algorithm("paper", SPACE, children=10),
    "paper, rate of mutation fixed": Paper(SPACE, population=11, band=FREE),
    "paper, few repeats wanted": Paper(SPACE, population=11, band=(0.65, 0.85)),
    "regularized": make_algorithm("regularized", SPACE, children=10),
    "random": make_algorithm("random", SPACE, children=10),
}


@dataclass(frozen=True, slots=True)
class Proposal(Generic[PhenotypeT]):
    """A network that an algorithm proposed.

    Attributes:
        network: which.
        objectives: what its training told, less is better.
        fresh: whether it was not known before.
    """

    network: PhenotypeT
    objectives: tuple[float, ...]
    fresh: bool


class Watched(Generic[PhenotypeT]):
    """An algorithm, and what it proposed that breaks no limit, in order.

    Args:
        inner: the algorithm.
        space: what genomes mean.
    """

    def __init__(self, inner: Algorithm, space: Space[PhenotypeT]) -> None:
        self._inner, self._space = inner, space
        self.proposals: list[Proposal[PhenotypeT]] = []

    @property
    def name(self) -> str:
        """The algorithm's."""
        return self._inner.name

    def begin(self) -> Memory:
        """Return what is known before the first generation."""
        return self._inner.begin()

    def breed(self, memory: Memory, rng: np.random.Generator) -> Brood:
        """Return the next genomes."""
        return self._inner.breed(memory, rng)

    def learn(self, memory: Memory, brood: Brood, judged: Judged) -> Memory:
        """Write down what was proposed, and let the algorithm learn."""
        networks = self._space.decode(judged.genomes)
        for network, objectives, violation, fresh in zip(
            networks,
            judged.objectives.tolist(),
            judged.violations.tolist(),
            judged.fresh.tolist(),
            strict=True,
        ):
            if violation in (0, np.inf):  # infinite where a training failed, which took its time
                self.proposals.append(Proposal(network, tuple(objectives), fresh))
        return self._inner.learn(memory, brood, judged)


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """What a search had found when its trainings were used up.

    Attributes:
        error: of its best network, share of the validation rows.
        test_error: share of the rows that it is told by: test rows, or a table's validation rows.
        networks: different ones that were trained.
    """

    error: float
    test_error: float
    networks: int


class Searched(msgspec.Struct, frozen=True, kw_only=True):
    """What a search came to with so many trainings.

    Attributes:
        proposals: until so many different networks were trained.
        cached: when what is known is not trained again.
        uncached: when it is, and comes to the same.
        cpu_s: processor time.
    """

    proposals: int
    cached: Ended
    uncached: Ended
    cpu_s: float

    @property
    def repeats(self) -> float:
        """Share of the proposals whose network was known."""
        return 1 - self.cached.networks / self.proposals


def search(section: SearchSection, dataset: Dataset, seed: int) -> Searched:
    """Search a dataset; the best network by validation error is then trained in full.

    Args:
        section: how to search, but for the seed.
        dataset: what networks learn.
        seed: what all chance is drawn from.
    """
    begun_s = time.process_time()
    section = msgspec.structs.replace(section, seed=seed)
    ends = ends_of(dataset)
    space, prices = space_of(section, ends), prices_of(section, ends)
    watched = Watched(algorithm_of(section, space, prices), space)
    evolution = Evolution(space, watched, seed=seed, objectives=2, limits=limits_of(None, ends))
    lessons = Lessons(section, dataset)
    while evolution.evaluated < TRAININGS:
        asked = cast("tuple[LayerGraph, ...]", evolution.ask())
        if not asked:
            break  # there is nothing new
        descents = {one.id: evolution.descent(one.id) for one in asked}
        evolution.tell(lessons.learn(asked, descents))

    def ended(spent: Sequence[Proposal[LayerGraph]]) -> Ended:
        best = min(spent, key=lambda one: one.objectives)
        return Ended(
            error=best.objectives[0],
            test_error=lessons.tested(best.network),
            networks=sum(one.fresh for one in spent),
        )

    proposals = cast("list[Proposal[LayerGraph]]", watched.proposals)
    return Searched(
        proposals=count_until(proposals, TRAININGS),
        cached=ended(spent_on(proposals, TRAININGS, cached=True)),
        uncached=ended(spent_on(proposals, TRAININGS, cached=False)),
        cpu_s=time.process_time() - begun_s,
    )


def search_table(name: str, table: str, seed: int) -> Searched:
    """Search a table of NAS-Bench-201, where a training is a look.

    Args:
        name: of the algorithm, one of `TABLE_ALGORITHMS`.
        table: which.
        seed: of the search.

    Raises:
        EvenerError: the tables are missing.
    """
    begun_s = time.process_time()
    accuracy = _accuracies(table)
    watched: Watched[Cell] = Watched(TABLE_ALGORITHMS[name], SPACE)
    evolution: Evolution[Cell] = Evolution(SPACE, watched, seed=seed)
    while evolution.evaluated < TABLE_TRAININGS:
        asked = evolution.ask()
        if not asked:
            break  # it repeats itself
        evolution.tell({one.id: (1 - accuracy[one.number] / 100,) for one in asked})

    def ended(spent: Sequence[Proposal[Cell]]) -> Ended:
        error = min(one.objectives[0] for one in spent)
        return Ended(error=error, test_error=error, networks=sum(one.fresh for one in spent))

    return Searched(
        proposals=count_until(watched.proposals, TABLE_TRAININGS),
        cached=ended(spent_on(watched.proposals, TABLE_TRAININGS, cached=True)),
        uncached=ended(spent_on(watched.proposals, TABLE_TRAININGS, cached=False)),
        cpu_s=time.process_time() - begun_s,
    )


@cache
def _accuracies(table: str) -> list[float]:
    found: list[float] = load_table(table).accuracy.tolist()
    return found


def spent_on(
    proposals: Sequence[Proposal[PhenotypeT]], trainings: int, *, cached: bool
) -> list[Proposal[PhenotypeT]]:
    """Return the proposals that so many trainings are spent on.

    Args:
        proposals: in order.
        trainings: how many.
        cached: whether only those that are new take one.

    Example:
        >>> again = [Proposal("a", (1.0,), True), Proposal("a", (1.0,), False)]
        >>> again.append(Proposal("b", (0.5,), True))
        >>> [one.network for one in spent_on(again, 2, cached=True)]
        ['a', 'b']
        >>> [one.network for one in spent_on(again, 2, cached=False)]
        ['a', 'a']
    """
    return [one for one in proposals if one.fresh or not cached][:trainings]


def count_until(proposals: Sequence[Proposal[PhenotypeT]], trainings: int) -> int:
    """Count the proposals up to the one with which so many different networks are known."""
    new = np.cumsum([one.fresh for one in proposals])
    return int(np.searchsorted(new, min(trainings, new[-1])) + 1)


class Lessons:
    """The trainings of one search, and what the networks that it found come to in full.

    Args:
        section: of the search.
        dataset: what networks learn.
    """

    def __init__(self, section: SearchSection, dataset: Dataset) -> None:
        self._section, self._dataset = section, dataset
        self._space = cast("LayerGenomes", space_of(section, ends_of(dataset)))
        self._learned: dict[str, tuple[LayerGraph, Weights]] = {}
        self._tested: dict[str, float] = {}
        split = dataset.split
        # Quality is of the validation rows: here the test rows stand in their place.
        self._judged = replace(dataset, split=Split(split.train, split.test, split.test))

    def learn(
        self, networks: Sequence[LayerGraph], descents: Mapping[str, Descent | None]
    ) -> dict[str, tuple[float, float] | None]:
        """Train networks as trials; return error and multiply-accumulates of each, by id.

        Args:
            networks: which.
            descents: how each was bred, by its id.
        """
        terms = terms_of(self._section, TRAIN, self._section.seed)
        ends = ends_of(self._dataset)
        found: dict[str, tuple[float, float] | None] = {}
        ordered = sorted(networks, key=lambda one: (macs(one, ends), one.id))
        for first in range(0, len(ordered), _TOGETHER):
            some = ordered[first : first + _TOGETHER]
            trials = [self._trial(one, descents[one.id]) for one in some]
            tried = try_together(trials, self._dataset, terms)
            for one, come_to in zip(some, tried, strict=True):
                quality = come_to.score.quality
                found[one.id] = None if quality is None else (1 - quality, float(macs(one, ends)))
                if come_to.learned is not None:
                    self._learned[one.id] = (one, come_to.learned)
        return found

    def _trial(self, network: LayerGraph, descent: Descent | None) -> Trial:
        trial = Trial(network=network, spread=spread_of(network, self._section))
        if descent is None or not self._section.inherit:
            return trial
        each = zip(descent.parents, homologies(self._space, descent), strict=True)
        known = [(self._learned[id_], same) for id_, same in each if id_ in self._learned]
        return msgspec.structs.replace(
            trial,
            parents=tuple(parent for parent, _ in known),
            homologies=tuple(same for _, same in known),
        )

    def tested(self, network: LayerGraph) -> float:
        """Return the share of test rows that a network gets wrong, trained in full from new seeds.

        Raises:
            EvenerError: a training diverged.
        """
        if network.id not in self._tested:
            full = msgspec.structs.replace(self._section, epochs=TRAIN.epochs)
            trial = Trial(network=network, spread=spread_of(network, self._section))
            errors = []
            for number in range(AGAIN):
                terms = terms_of(full, TRAIN, 1000 * (self._section.seed + 1) + number)
                [score] = score_together([trial], self._judged, terms)
                if score.quality is None:
                    raise EvenerError(f"{network} trained in full: {score.status}")
                errors.append(1 - score.quality)
            self._tested[network.id] = fmean(errors)
        return self._tested[network.id]
