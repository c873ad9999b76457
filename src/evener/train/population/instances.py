"""Variants of one network that are trained apart, and whose layers can take each other's place.

All begin from the same weights and learn from rows in an order of their own, so that their neurons
stay alike enough for a layer of one to be of use in another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import msgspec
import numpy as np
from numpy.typing import NDArray

from evener.errors import InputError
from evener.train.population.answers import answer_population
from evener.train.population.course import Course, Rows
from evener.train.population.individual import Individual
from evener.train.population.training import CPU, Place, train_population
from evener.train.population.weights import Array, Weights

Net = tuple["LayerInstance", ...]


@dataclass(frozen=True, slots=True, eq=False)
class LayerInstance:
    """What one network has as a layer.

    Attributes:
        links: weights of what feeds the layer, by the node that they come from.
        bias: of the layer.
        masks: which of the weights there are, likewise; all of a link that is not named.
    """

    links: Mapping[int, Array]
    bias: Array
    masks: Mapping[int, NDArray[np.bool_]]


def layers_of(weights: Weights) -> Net:
    """Return the layers that weights make up, from the one behind the input to the output."""
    return tuple(
        LayerInstance(
            links={start: one for (start, end), one in weights.links.items() if end == node},
            bias=bias,
            masks={start: one for (start, end), one in weights.masks.items() if end == node},
        )
        for node, bias in enumerate(weights.biases, 1)
    )


def weights_of(layers: Net) -> Weights:
    """Return the weights that layers make up; the inverse of `layers_of`."""
    numbered = list(enumerate(layers, 1))
    return Weights(
        links={(start, node): one for node, of in numbered for start, one in of.links.items()},
        biases=tuple(of.bias for of in layers),
        masks={(start, node): one for node, of in numbered for start, one in of.masks.items()},
    )


class Instances:
    """How the variants of a network are trained and judged: what a competition of layers asks for.

    Args:
        individual: the network that all are variants of.
        rows: what they learn from.
        judged_by: rows that the error is of.
        course: a training between two sweeps.
        place: where.
    """

    def __init__(
        self,
        individual: Individual,
        rows: Rows,
        judged_by: Rows,
        course: Course,
        *,
        place: Place = CPU,
    ) -> None:
        self._individual = individual
        self._rows, self._judged_by = rows, judged_by
        self._course, self._place = course, place

    def begin(self, weights: Weights, count: int) -> list[Net]:
        """Train variants of a network from the same weights.

        Args:
            weights: that all start from.
            count: how many, 1 or more.

        Raises:
            InputError: a count below 1, or weights of another network.
        """
        if count < 1:
            raise InputError(f"{count} variants of a network: give 1 or more")
        return self._trained([layers_of(weights)] * count, block=0)

    def train(self, batch: Sequence[Net], *, block: int) -> list[Net]:
        """Train variants for a while; one whose numbers end stays as it was."""
        return self._trained(batch, block=block + 1)

    def errors(self, batch: Sequence[Net]) -> list[float]:
        """Return the mean difference between answers and what was wanted, equation 3's error.

        Infinite where an answer is no number.
        """
        answers = answer_population(
            [self._individual] * len(batch),
            [weights_of(layers) for layers in batch],
            self._judged_by.inputs,
            self._course.loss,
            device=self._place.device,
        )
        found = [float((one - self._judged_by.wanted).abs().mean()) for one in answers]
        return [one if np.isfinite(one) else inf for one in found]

    def _trained(self, batch: Sequence[Net], *, block: int) -> list[Net]:
        seeds = [(self._individual.seed, block, number) for number in range(len(batch))]
        individuals = [
            msgspec.structs.replace(
                self._individual, seed=int(np.random.SeedSequence(one).generate_state(1)[0])
            )
            for one in seeds
        ]
        states = train_population(
            individuals,
            self._rows,
            self._course,
            starts=[weights_of(layers) for layers in batch],
            place=self._place,
        )
        return [layers_of(state.weights) for state in states]
