"""Take connections away, one after another along the evaluation tree: the end of Algorithm 1.

A connection is toggled; if that lowers the score, the network is trained and the connection stays
away. As printed nothing else is asked. Given a certainty, two more have a say: the training must
leave the score lower than before, and the Markov chain must find that the population would lose the
connection anyway (see `search.markov`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final

import numpy as np

from evener.errors import InputError
from evener.search.coevolution.chromosome import Chromosome, Parameters
from evener.search.coevolution.trace import Event, Trace
from evener.search.coevolution.tree import evaluation_tree, in_order
from evener.search.layer_space import LayerSpace
from evener.search.links import link_bit
from evener.search.markov import loss_after


@dataclass(frozen=True, slots=True)
class Terms:
    """On which terms connections go.

    Attributes:
        error_threshold: score from below which a chromosome is sparsified.
        fitness_threshold: λ, the score below which everything ends.
        sure: probability of loss from which the Markov chain agrees; None asks neither the chain
            nor the training, as printed.
        temperature: difference of scores that makes networks e times as fit, for the chain.
    """

    error_threshold: float = inf
    fitness_threshold: float = -inf
    sure: float | None = None
    temperature: float = 0.01

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: a certainty beyond 0 to 1, or a temperature that is not above 0.
        """
        if not (self.sure is None or 0 <= self.sure <= 1) or not self.temperature > 0:
            raise InputError(
                f"a certainty of {self.sure} at a temperature of {self.temperature:g}: give one "
                "from 0 to 1, and a temperature above 0, in units of the score"
            )


AS_PRINTED: Final = Terms()


@dataclass(frozen=True, slots=True, eq=False)
class Sparsified:
    """Chromosomes after pruning.

    Attributes:
        chromosomes: in the order given.
        reached: whether a score fell below the fitness threshold, which ended it.
    """

    chromosomes: tuple[Chromosome, ...]
    reached: bool


def sparsify(
    chromosomes: Sequence[Chromosome],
    space: LayerSpace,
    parameters: Parameters,
    terms: Terms,
    *,
    passes: int,
    seed: int,
    trace: Trace,
) -> Sparsified:
    """Prune each chromosome that has crossed the error threshold.

    Args:
        chromosomes: a population, scored.
        space: what genomes mean.
        parameters: keeps, trains and scores weight sets.
        terms: on which connections go.
        passes: of the training once a connection was cut.
        seed: of the training.
        trace: is told of each line.
    """
    # Layers are numbered alike in all of them, so that a connection is the same bit everywhere.
    population = [replace(one, genome=space.encode(one.network)[0]) for one in chromosomes]
    for at, chromosome in enumerate(chromosomes):
        if not chromosome.score < terms.error_threshold:
            continue
        trace(Event("sparsify", 0, at, score=chromosome.score))
        tree = evaluation_tree(chromosome.network)
        trace(Event("translate", 0, at))
        for start, end in in_order(tree):
            last = end == chromosome.network.output
            bit = link_bit(space.nodes, start, space.nodes - 1 if last else end)
            now = population[at]
            toggled = _toggled(now, bit, space, parameters)
            trace(Event("toggle", 0, at, (start, end), toggled.score))
            if toggled.score < now.score:
                trained = _trained(toggled, parameters, passes, seed)
                trace(Event("back-propagate", 0, at, (start, end), trained.score))
                if _confirmed(population, bit, now, trained, terms):
                    population[at] = trained
                    trace(Event("prune", 0, at, (start, end), trained.score))
                    continue
            elif min(one.score for one in population) < terms.fitness_threshold:
                trace(Event("break", 0, at, (start, end)))
                return Sparsified(tuple(population), reached=True)
            trace(Event("continue", 0, at, (start, end)))
    return Sparsified(tuple(population), reached=False)


def _toggled(
    chromosome: Chromosome, bit: int, space: LayerSpace, parameters: Parameters
) -> Chromosome:
    """Return the chromosome without a connection, scored with the weights that are left."""
    genome = chromosome.genome.copy()
    genome[bit] ^= True
    [network] = space.decode(genome[None])
    changed = replace(chromosome, genome=genome, network=network)
    if network == chromosome.network:
        return changed  # what fed it was pruned before
    if space.violation(genome[None]).item():
        return replace(changed, scores=(inf,) * len(chromosome.sets))
    sets = parameters.inherit([network] * len(chromosome.sets), chromosome.sets)
    return replace(changed, sets=tuple(sets), scores=_scores(changed, sets, parameters))


def _trained(chromosome: Chromosome, parameters: Parameters, passes: int, seed: int) -> Chromosome:
    count = len(chromosome.sets)
    sets = parameters.train(
        [chromosome.network] * count,
        chromosome.sets,
        [chromosome.hyperparameters] * count,
        passes=passes,
        seed=seed,
    )
    return replace(chromosome, sets=tuple(sets), scores=_scores(chromosome, sets, parameters))


def _scores(
    chromosome: Chromosome, sets: Sequence[str], parameters: Parameters
) -> tuple[float, ...]:
    return tuple(parameters.score([chromosome.network] * len(sets), sets))


def _confirmed(
    population: Sequence[Chromosome],
    bit: int,
    before: Chromosome,
    after: Chromosome,
    terms: Terms,
) -> bool:
    """Say whether training and chance agree that a connection goes, if they are asked."""
    if terms.sure is None:
        return True
    copies = int(np.count_nonzero([one.genome[bit] for one in population]))
    lost = loss_after(copies, len(population), before.score, after.score, terms.temperature)
    return after.score < before.score and lost >= terms.sure
