"""The paper's Algorithm 1 on digits, whole and with one part of it switched off or on."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal

import msgspec
import numpy as np

from evener.artifacts.homology import Homology
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.table1 import TABLE_1
from evener.data.dataset import Dataset
from evener.search.chaos.table import Probed
from evener.search.coevolution.algorithm import Coevolved, coevolve
from evener.search.coevolution.chromosome import Chromosome
from evener.search.coevolution.hyperparameters import Hyperparameters, draw_at_edge
from evener.search.coevolution.sparsify import Terms
from evener.search.coevolution.trace import Event, Trace, forget
from evener.search.competition import Net, compete
from evener.train.population.answers import answer_population
from evener.train.population.course import Course as Training
from evener.train.population.individual import Individual
from evener.train.population.instances import Instances, LayerInstance, layers_of, weights_of
from evener.train.population.weights import Weights
from evener.train.rows import standardised_rows
from evener.train.weight_sets import Rates, WeightSets
from evener.workflow.coevolution import Course, settings_of, weight_sets_of

TABLE: Final = msgspec.structs.replace(
    TABLE_1,
    population=6,
    generations=5,
    epochs=2,
    back_propagation_cycles=4,
    maximum_nodes=160,
    rows_per_update=16,
)
WHOLE: Final = Course(TABLE, widths=(16, 32, 64), sets=2)
SAME: Final = Hyperparameters(
    learning_rate=0.03, momentum=0.5, mutation_rate=0.03, crossover_rate=0.9
)
NOT_PRUNED: Final = Terms(error_threshold=0.0)


INSTANCES: Final = 6  # variants of a network, that compete
BLOCKS: Final = 3  # sweeps, and trainings before them, of a pass each
Finish = Literal["none", "alone", "compete"]


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What one run came to.

    Attributes:
        test_error: share of test rows that the best network gets wrong.
        fitness: F of it, equation 3, on the validation rows; less is better.
        macs: multiply-accumulates of it.
        passes: over the training rows, of all networks together.
        cpu_s: processor time.
    """

    test_error: float
    fitness: float
    macs: int
    passes: int
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Part:
    """What is different when a part is switched off or on.

    Attributes:
        course: the terms.
        inherits: whether a changed network goes on with weights of the one before.
        drawn: where hyperparameters are drawn from: nowhere, but the same for all; the edge of
            chaos; or evenly from the ranges of Table I.
        trained_instead: whether chromosomes lose no connection, and are trained for as many passes
            as pruning would have trained them.
        finish: what becomes of the best network's weights at last: nothing; or some variants go on
            from them, each by itself, of which the best is taken; or layers of these compete.
    """

    course: Course = WHOLE
    inherits: bool = True
    drawn: Literal["same", "edge", "anywhere"] = "same"
    trained_instead: bool = False
    finish: Finish = "none"


def _with(**rows: int) -> Course:
    return replace(WHOLE, table=msgspec.structs.replace(TABLE, **rows))


PARTS: Final[Mapping[str, Part]] = {
    "whole": Part(),
    "weights start ordered": Part(replace(WHOLE, start="ordered")),
    "weights start chaotic": Part(replace(WHOLE, start="chaotic")),
    "hyperparameters at the edge": Part(drawn="edge"),
    "hyperparameters from anywhere": Part(drawn="anywhere"),
    "no inheritance of weights": Part(inherits=False),
    "one weight set each": Part(replace(WHOLE, sets=1)),
    "no evolution": Part(_with(generations=0)),
    "no pruning": Part(replace(WHOLE, terms=NOT_PRUNED)),
    "no pruning, as much training": Part(trained_instead=True),
    "pruning confirmed by the chain": Part(replace(WHOLE, terms=Terms(sure=0.95))),
    "competition on": Part(finish="compete"),
    "competition off, as much training": Part(finish="alone"),
}


@dataclass(slots=True)
class Watched:
    """Weight sets, and how much they were trained.

    Attributes:
        sets: that keep, train and score.
        forgets: what new ones are drawn from where nothing is passed on; None if it is.
        passes: over the training rows, of all networks together.
    """

    sets: WeightSets
    forgets: np.random.Generator | None = None
    passes: int = 0

    def begin(self, networks: Sequence[LayerGraph], *, seed: int) -> list[str]:
        """Draw a weight set for each network."""
        return self.sets.begin(networks, seed=seed)

    def inherit(self, networks: Sequence[LayerGraph], sets: Sequence[str]) -> list[str]:
        """Make a weight set for each network from another's; draw it where nothing is passed on."""
        if self.forgets is None:
            return self.sets.inherit(networks, sets)
        seeds = self.forgets.integers(1 << 31, size=len(sets)).tolist()
        return [
            self.sets.begin([one], seed=seed)[0] for one, seed in zip(networks, seeds, strict=True)
        ]

    def cross(
        self,
        networks: Sequence[LayerGraph],
        parents: Sequence[Sequence[str]],
        homologies: Sequence[Sequence[Homology]],
    ) -> list[str]:
        """Make a weight set for each network from others; draw it where nothing is passed on."""
        if self.forgets is None:
            return self.sets.cross(networks, parents, homologies)
        return self.inherit(networks, [sets[0] for sets in parents])

    def train(
        self,
        networks: Sequence[LayerGraph],
        sets: Sequence[str],
        hyperparameters: Sequence[Rates],
        *,
        passes: int,
        seed: int,
    ) -> list[str]:
        """Train each network."""
        self.passes += passes * len(sets)
        return self.sets.train(networks, sets, hyperparameters, passes=passes, seed=seed)

    def score(self, networks: Sequence[LayerGraph], sets: Sequence[str]) -> list[float]:
        """Return F of each network."""
        return self.sets.score(networks, sets)


def anywhere(rng: np.random.Generator) -> Hyperparameters:
    """Draw hyperparameters from the ranges of Table I, the learning rate on a logarithmic scale."""
    low, high = np.log(TABLE.learning_rate)
    return Hyperparameters(
        learning_rate=float(np.exp(rng.uniform(low, high))),
        momentum=rng.uniform(*TABLE.momentum),
        mutation_rate=rng.uniform(*TABLE.mutation_rate),
        crossover_rate=rng.uniform(*TABLE.crossover_rate),
    )


def run(part: Part, dataset: Dataset, probed: Probed, seed: int) -> Run:
    """Carry out the algorithm once.

    Args:
        part: what is different.
        dataset: rows of classes.
        probed: table of hyperparameters, whose edge of chaos is known.
        seed: what all chance is drawn from.
    """
    begun_s = time.process_time()
    watched, best = _best(part, dataset, probed, seed)
    individual, weights = watched.sets.parent(best.best)
    fitness, passes = best.score, watched.passes
    if part.finish != "none":
        rates = best.hyperparameters
        individual = msgspec.structs.replace(
            individual, learning_rate=rates.learning_rate, momentum=rates.momentum, seed=seed
        )
        weights, gained = finish(individual, weights, dataset, compete_=part.finish == "compete")
        fitness, passes = fitness - gained, passes + INSTANCES * BLOCKS
    rows = standardised_rows(dataset, "test")
    [answers] = answer_population([individual], [weights], rows.inputs, "cross-entropy")
    wrong = answers.argmax(dim=1) != rows.wanted.argmax(dim=1)
    return Run(
        test_error=float(wrong.double().mean()),
        fitness=fitness,
        macs=individual.macs,
        passes=passes,
        cpu_s=time.process_time() - begun_s,
    )


def _best(part: Part, dataset: Dataset, probed: Probed, seed: int) -> tuple[Watched, Chromosome]:
    """Return the best that was ever scored, and the weight sets."""
    if not part.trained_instead:
        watched, found = _coevolved(part, dataset, probed, seed)
        return watched, found.best
    events: list[Event] = []
    _coevolved(part, dataset, probed, seed, events.append)
    trained = Counter(one.subject for one in events if one.line == "back-propagate")
    kept = replace(part, course=replace(part.course, terms=NOT_PRUNED))
    watched, found = _coevolved(kept, dataset, probed, seed)
    after = [
        trained_on(one, watched, times=trained[at], seed=seed)
        for at, one in enumerate(found.chromosomes)
    ]
    return watched, min([found.best, *after], key=lambda one: one.score)


def _coevolved(
    part: Part, dataset: Dataset, probed: Probed, seed: int, trace: Trace = forget
) -> tuple[Watched, Coevolved]:
    sets = weight_sets_of(dataset, part.course)
    watched = Watched(sets, None if part.inherits else np.random.default_rng([seed, 1]))
    draw: Mapping[str, Callable[[np.random.Generator], Hyperparameters]] = {
        "same": lambda _: SAME,
        "edge": partial(draw_at_edge, probed),
        "anywhere": anywhere,
    }
    settings = settings_of(dataset, part.course)
    return watched, coevolve(settings, watched, draw[part.drawn], seed=seed, trace=trace)


def trained_on(chromosome: Chromosome, sets: Watched, *, times: int, seed: int) -> Chromosome:
    """Train a chromosome as pruning would, so many times, and take no connection away."""
    count = len(chromosome.sets)
    networks, rates = [chromosome.network] * count, [chromosome.hyperparameters] * count
    names = list(chromosome.sets)
    for _ in range(times):
        names = sets.train(networks, names, rates, passes=TABLE.back_propagation_cycles, seed=seed)
    return replace(chromosome, sets=tuple(names), scores=tuple(sets.score(networks, names)))


def finish(
    individual: Individual, weights: Weights, dataset: Dataset, *, compete_: bool
) -> tuple[Weights, float]:
    """Train variants of a network from its weights, and take the best, if it is better.

    Args:
        individual: the network; its seed is what orders of rows are drawn from.
        weights: that all variants begin from.
        dataset: what they learn.
        compete_: whether their layers compete; else they are trained as long, each by itself, and
            the best that there was after any training is taken.

    Returns:
        Weights, and by how much the error on the validation rows fell.
    """
    course = Training(epochs=1, batch=TABLE.rows_per_update)
    rows, judged_by = (standardised_rows(dataset, part) for part in ("train", "validation"))
    instances = Instances(individual, rows, judged_by, course)
    [before] = instances.errors([layers_of(weights)])
    networks = instances.begin(weights, INSTANCES)
    if compete_:
        found = compete(networks, instances.errors, train=instances.train, blocks=BLOCKS)
        champion, error = found.champion, found.error
    else:
        champion, error = min(_alone(networks, instances), key=lambda one: one[1])
    return (weights_of(champion), before - error) if error < before else (weights, 0.0)


def _alone(
    networks: Sequence[Net[LayerInstance]], instances: Instances
) -> Iterator[tuple[Net[LayerInstance], float]]:
    """Yield variants that are trained each by itself, and their errors, after each training."""
    for block in range(BLOCKS):
        if block:
            networks = instances.train(networks, block=block - 1)
        yield from zip(networks, instances.errors(networks), strict=True)
