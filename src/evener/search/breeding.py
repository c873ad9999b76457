"""What the algorithms share: first genomes, children of parents, what a generation taught."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evener.search.algorithm import Brood, Memory
from evener.search.bandit import learn, pull
from evener.search.control import Control
from evener.search.genes import Genomes
from evener.search.judged import Judged
from evener.search.space import Space
from evener.search.variation import cross, cut, invert

Band = tuple[float, float]
BAND: Band = (0.2, 0.6)
FREE: Band = (0.0, 1.0)


def begin_control(space: Space[Any], mutation: float | None, band: Band) -> Control:
    """Return the control of a rate of mutation; None begins with one bit per genome."""
    low, high = band
    return Control(rate=1 / space.length if mutation is None else mutation, low=low, high=high)


def first_brood(
    space: Space[Any], count: int, seeds: Genomes | None, rng: np.random.Generator
) -> Brood:
    """Return what a search begins with: given genomes, filled up with drawn ones."""
    drawn = space.draw(count, rng)
    if seeds is not None:
        drawn = np.concatenate([seeds, drawn])[: max(count, len(seeds))]
    return Brood(drawn)


def breed_pairs(
    parents: Judged,
    pairs: NDArray[np.int64],
    memory: Memory,
    rng: np.random.Generator,
) -> Brood:
    """Return a child of each pair of parents, crossed over and mutated as an arm each says.

    Args:
        parents: to choose from.
        pairs: indices of two parents for each child, (children, 2).
        memory: rate of mutation and arms.
        rng: draws.
    """
    pulled = pull(memory.arms, len(pairs), rng)
    crossover = np.array([arm.crossover for arm in memory.arms])[pulled]
    factors = np.array([arm.mutation for arm in memory.arms])[pulled]
    first, second = parents.genomes[pairs[:, 0]], parents.genomes[pairs[:, 1]]
    points = cut(crossover, first.shape[1], rng)
    crossed = cross(first, second, points)
    children = invert(crossed, np.minimum(memory.control.rate * factors, 0.5), rng)
    alone = (crossed == first).all(axis=1)  # nothing of the second is in it
    bred = np.stack([first, np.where(alone[:, None], first, second)], axis=1)
    bars = parents.objectives[pairs, 0].min(axis=1)
    return Brood(children, pulled, bars, parents=bred, points=points)


def learned(memory: Memory, brood: Brood, judged: Judged, population: Judged | None) -> Memory:
    """Return what is known after a generation: the rates corrected, and the population.

    Args:
        memory: what was known.
        brood: the generation.
        judged: the same, judged.
        population: what the next generation is bred from.
    """
    arms = memory.arms
    if len(brood.pulled):
        arms = learn(arms, brood.pulled, judged.fresh & (judged.objectives[:, 0] < brood.bars))
    return replace(
        memory,
        control=memory.control.after(len(judged), int(judged.fresh.sum())),
        arms=arms,
        generation=memory.generation + 1,
        population=population,
    )
