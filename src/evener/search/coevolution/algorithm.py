"""Carry out the paper's Algorithm 1, "Co-evolutionary NAS with parameter updation", line by line.

Each line leaves an event of its name. Where the lines say too little or contradict each other:

* Each of the nodes that a network is developed by is a hidden layer, or the next width of one.
  Node 0 is the base model itself. An instance goes on with whatever of its growth scored best:
  that is what scores are stored for.
* The loop over instances encodes them, which takes none but the instance; then the loop over
  chromosomes, which takes all of them, runs for the generations of Table I.
* Training and scoring need a weight set, so that scores are updated for all chromosomes together.
* "Once an error threshold is crossed, we begin to sparsify": a chromosome that has not crossed it
  is not pruned. The threshold of the break is another one, the algorithm's λ.
* Each weight set of a child of two parents is made from one of the first parent and one of the
  second. A connection comes from the parent that gave its bit (see `search.homology`). A set that
  was drawn anew, for the first parent, has the child to itself.
* By replacing everyone the best is lost, which elitism is to prevent: the children do replace
  everyone, unless `elite` says otherwise, and the best that was ever scored is returned beside.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from evener.artifacts.homology import Homology
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.table1 import TABLE_1, Table1
from evener.errors import InputError
from evener.search.coevolution.chromosome import Chromosome, Parameters
from evener.search.coevolution.growth import Limits, grow, single_block
from evener.search.coevolution.hyperparameters import Hyperparameters, check_ranges
from evener.search.coevolution.sparsify import AS_PRINTED, Terms, sparsify
from evener.search.coevolution.trace import Event, Trace, forget
from evener.search.genes import Genomes
from evener.search.homology import descent_of, homologies
from evener.search.variation import cross, cut, invert, stream

_HYPERPARAMETERS, _GROWTH, _EVOLUTION, _TRAINING = range(4)  # what chance is drawn for


@dataclass(frozen=True, slots=True)
class Settings:
    """What Algorithm 1 takes, beside the data.

    Attributes:
        limits: C, the maximum depth and the maximum of nodes.
        table: the settings of Table I.
        parents: how many of the best chromosomes breed.
        elite: how many of the best live on, 0 for unconditional replacement.
        sets: w, weight sets of each chromosome.
        terms: on which connections are pruned.
    """

    limits: Limits
    table: Table1 = TABLE_1
    parents: int = 4
    elite: int = 0
    sets: int = 3
    terms: Terms = AS_PRINTED

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: sizes that leave no parent, child or weight set.
        """
        if min(self.parents, self.sets) < 1 or not 0 <= self.elite < self.table.population:
            raise InputError(
                f"{self.parents} parents, {self.sets} weight sets and an elite of {self.elite} of "
                f"{self.table.population} chromosomes: give 1 or more of the first two, and a "
                "smaller elite than the population"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Coevolved:
    """What Algorithm 1 ends with.

    Attributes:
        chromosomes: as they were left.
        best: that ever was scored, "optimal network configuration".
        scores: of each instance at each node of its development, (nodes, instances).
        reached: whether a score fell below the fitness threshold, which ended the pruning.
    """

    chromosomes: tuple[Chromosome, ...]
    best: Chromosome
    scores: tuple[tuple[float, ...], ...]
    reached: bool


def coevolve(
    settings: Settings,
    parameters: Parameters,
    at_the_edge: Callable[[np.random.Generator], Hyperparameters],
    *,
    seed: int,
    bases: Sequence[LayerGraph] = (),
    trace: Trace = forget,
) -> Coevolved:
    """Grow networks, evolve them with their weights, and prune them.

    Args:
        settings: of the algorithm.
        parameters: keeps, trains and scores weight sets.
        at_the_edge: draws hyperparameters at the edge of chaos, see `draw_at_edge`.
        seed: what all chance is drawn from.
        bases: M, networks of a user that the first instances begin with; the others begin with a
            single block.
        trace: is told of each line that was carried out.

    Raises:
        InputError: a base that is beyond the limits, or hyperparameters beyond Table I.
    """
    run = _Run(settings, parameters, seed, trace)
    instances = run.initialise(bases, at_the_edge)
    grown, scores = run.develop(instances)
    chromosomes = run.encode(grown)
    best = min(chromosomes, key=lambda one: one.score)
    for generation in range(settings.table.generations):
        chromosomes = run.evolve(chromosomes, generation)
        best = min(best, *chromosomes, key=lambda one: one.score)
    pruned = sparsify(
        chromosomes,
        settings.limits.space,
        parameters,
        settings.terms,
        passes=settings.table.back_propagation_cycles,
        seed=seed,
        trace=trace,
    )
    best = min(best, *pruned.chromosomes, key=lambda one: one.score)
    return Coevolved(pruned.chromosomes, best, tuple(map(tuple, scores)), pruned.reached)


@dataclass(frozen=True, slots=True)
class _Instance:
    """A network while it is developed."""

    network: LayerGraph
    hyperparameters: Hyperparameters
    weights: str
    score: float = inf


@dataclass(frozen=True, slots=True)
class _Child:
    """A chromosome before it has weight sets of its own.

    Attributes:
        chromosome: with those of its first parent.
        parents: for each of them the sets that its own is made from: itself, then one of the second
            parent's, if that has a part in it.
        homologies: of its parents.
    """

    chromosome: Chromosome
    parents: tuple[tuple[str, ...], ...]
    homologies: tuple[Homology, ...]


@dataclass(frozen=True, slots=True)
class _Run:
    """What all lines need."""

    settings: Settings
    parameters: Parameters
    seed: int
    trace: Trace

    def initialise(
        self,
        bases: Sequence[LayerGraph],
        at_the_edge: Callable[[np.random.Generator], Hyperparameters],
    ) -> list[_Instance]:
        """Initialize I instances of Base Model with single block; the hyperparameters in CoE."""
        limits, count = self.settings.limits, self.settings.table.population
        if len(bases) > count:
            raise InputError(
                f"{len(bases)} base models for {count} instances: give fewer models, or a table "
                "with a larger population"
            )
        networks = [*bases, *[single_block(limits.space)] * (count - len(bases))]
        for base in networks:
            if not limits.allow(base):
                raise InputError(
                    f"{base} with {sum(base.widths)} units and a complexity of "
                    f"{limits.complexity(base):g} to begin with: give a base model of "
                    f"{limits.space.depth} layers, {limits.space.max_nodes} units and a complexity "
                    f"of {limits.most:g} at most, or wider limits"
                )
        weights = self.parameters.begin(networks, seed=self.seed)
        self.trace(Event("initialise instances"))
        drawn = []
        for index in range(count):
            drawn.append(at_the_edge(stream(self.seed, _HYPERPARAMETERS, index)))
            check_ranges(drawn[-1], self.settings.table)
        self.trace(Event("initialise hyperparameters"))
        return [_Instance(*each) for each in zip(networks, drawn, weights, strict=True)]

    def develop(self, instances: list[_Instance]) -> tuple[list[_Instance], list[list[float]]]:
        """For each n in max nodes: develop the network; for each instance: store its score.

        Returns:
            The best of each instance's growth, and all scores.
        """
        best, scores = list(instances), []
        for node in range(self.settings.table.maximum_nodes):
            grown = list(instances) if node == 0 else self._grown(instances, node)
            moved = [at for at, one in enumerate(grown) if node == 0 or one is not instances[at]]
            if not moved:
                break  # none may grow any more
            self.trace(Event("develop", node))
            for at, scored in zip(
                moved, self._trained([grown[at] for at in moved], node), strict=True
            ):
                grown[at] = scored
                best[at] = min(best[at], scored, key=lambda one: one.score)
            instances = grown
            scores.append([one.score for one in instances])
            for at, one in enumerate(instances):
                self.trace(Event("store score", node, at, score=one.score))
        return best, scores

    def _grown(self, instances: list[_Instance], node: int) -> list[_Instance]:
        """Return the instances, those that can with a node more and weights that were inherited."""
        after = list(instances)
        for at, one in enumerate(instances):
            network = grow(one.network, self.settings.limits, stream(self.seed, _GROWTH, node, at))
            if network is not None:
                [weights] = self.parameters.inherit([network], [one.weights])
                after[at] = replace(one, network=network, weights=weights, score=inf)
        return after

    def _trained(self, instances: list[_Instance], node: int) -> list[_Instance]:
        networks = [one.network for one in instances]
        weights, scores = self._train_and_score(
            networks,
            [one.weights for one in instances],
            [one.hyperparameters for one in instances],
            (_GROWTH, node),
        )
        return [
            replace(one, weights=trained, score=score)
            for one, trained, score in zip(instances, weights, scores, strict=True)
        ]

    def encode(self, instances: list[_Instance]) -> list[Chromosome]:
        """Obtain the network configuration by binary encoding: I chromosomes."""
        space = self.settings.limits.space
        genomes = np.concatenate([space.encode(one.network) for one in instances])
        networks = space.decode(genomes)
        weights = [
            one.weights
            if network == one.network
            else self.parameters.inherit([network], [one.weights])[0]
            for one, network in zip(instances, networks, strict=True)
        ]
        # Widths are rounded to those of the space, and so a user's network may score otherwise.
        scores = self.parameters.score(networks, weights)
        chromosomes = []
        for at, one in enumerate(instances):
            chromosomes.append(
                Chromosome(
                    genomes[at], networks[at], one.hyperparameters, (weights[at],), (scores[at],)
                )
            )
            self.trace(Event("encode", 0, at))
        return chromosomes

    def evolve(self, chromosomes: Sequence[Chromosome], generation: int) -> list[Chromosome]:
        """For each chromosome: relate it to w weight sets, evolve it; then update the scores."""
        ranked = sorted(chromosomes, key=lambda one: one.score)
        parents, elite = ranked[: self.settings.parents], ranked[: self.settings.elite]
        children = []
        for at in range(len(chromosomes) - len(elite)):
            rng = stream(self.seed, _EVOLUTION, generation, at)
            first, second = (parents[one] for one in rng.integers(0, len(parents), 2))
            sets = self._related(first, rng)
            self.trace(Event("relate weights", generation, at))
            children.append(self._child(first, second, sets, rng))
            self.trace(Event("evolve", generation, at))
        updated = self._updated(children, generation)
        for at, child in enumerate(updated):
            self.trace(Event("update scores", generation, at, score=child.score))
        return [*elite, *updated]

    def _related(self, parent: Chromosome, rng: np.random.Generator) -> tuple[str, ...]:
        """Return the w weight sets of a chromosome: those it has, and new ones."""
        new = self.settings.sets - len(parent.sets)
        seed = int(rng.integers(1 << 31))
        more = self.parameters.begin([parent.network] * new, seed=seed) if new > 0 else ()
        return (*parent.sets, *more)

    def _child(
        self,
        first: Chromosome,
        second: Chromosome,
        sets: tuple[str, ...],
        rng: np.random.Generator,
    ) -> _Child:
        """Return a child of two parents, with the hyperparameters of the first."""
        rates = first.hyperparameters
        pair: tuple[Genomes, Genomes] = (first.genome[None], second.genome[None])
        points = cut(np.array([rates.crossover_rate]), pair[0].shape[1], rng)
        crossed = cross(*pair, points)
        genome = invert(crossed, np.array([rates.mutation_rate]), rng)
        [network] = self.settings.limits.space.decode(genome)
        made = Chromosome(genome[0], network, rates, sets, (inf,) * len(sets))
        if (crossed == pair[0]).all():
            second = first  # nothing of the second is in it
        descent = descent_of(
            genome[0],
            (first.genome, second.genome),
            (first.network.id, second.network.id),
            int(points[0]),
        )
        same = homologies(self.settings.limits.space, descent)
        others = second.sets if len(same) > 1 else ()
        parents = [
            (one, others[at % len(others)]) if others and at < len(first.sets) else (one,)
            for at, one in enumerate(sets)
        ]
        return _Child(made, tuple(parents), same)

    def _updated(self, bred: list[_Child], generation: int) -> list[Chromosome]:
        """Return the children with weight sets of their own, trained and scored."""
        limits = self.settings.limits
        children = [one.chromosome for one in bred]
        fit = [
            at
            for at, one in enumerate(children)
            if not limits.space.violation(one.genome[None]).item() and limits.allow(one.network)
        ]
        if not fit:
            return children
        each = [children[at] for at in fit for _ in children[at].sets]
        inherited = self.parameters.cross(
            [one.network for one in each],
            [sets for at in fit for sets in bred[at].parents],
            [bred[at].homologies[: len(sets)] for at in fit for sets in bred[at].parents],
        )
        trained, scores = self._train_and_score(
            [one.network for one in each],
            inherited,
            [one.hyperparameters for one in each],
            (_EVOLUTION, generation),
        )
        updated, start = list(children), 0
        for at in fit:
            part = slice(start, start := start + len(children[at].sets))
            updated[at] = replace(
                children[at], sets=tuple(trained[part]), scores=tuple(scores[part])
            )
        return updated

    def _train_and_score(
        self,
        networks: Sequence[LayerGraph],
        weights: Sequence[str],
        hyperparameters: Sequence[Hyperparameters],
        place: tuple[int, int],
    ) -> tuple[Sequence[str], Sequence[float]]:
        seed = int(stream(self.seed, _TRAINING, *place).integers(1 << 31))
        trained = self.parameters.train(
            networks, weights, hyperparameters, passes=self.settings.table.epochs, seed=seed
        )
        return trained, self.parameters.score(networks, trained)
