"""Keep, pass on, train and score the weight sets of networks that evolve together with them.

It is the training side of the paper's Algorithm 1: one architecture has several weight sets, each
known by an id, and all that are asked for together are trained in one batch.
"""

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from math import inf
from typing import Final, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from evener.artifacts.dataset import Task
from evener.artifacts.homology import Homology
from evener.artifacts.layer_graph import LayerGraph, Recipe
from evener.data.dataset import Dataset
from evener.errors import InputError
from evener.train.population.answers import answer_population
from evener.train.population.course import Course
from evener.train.population.decoded import individual_of
from evener.train.population.individual import Individual
from evener.train.population.inherit import Parent, inherit
from evener.train.population.losses import LossName
from evener.train.population.state import State
from evener.train.population.training import Place, train_population
from evener.train.population.weights import Weights, draw_weights
from evener.train.rows import standardised_rows

Answers = NDArray[np.float64]
Fitness = Callable[[LayerGraph, Answers, Answers], float]

_LOSSES: Final[dict[Task, LossName]] = {"classes": "cross-entropy", "labels": "binary"}
_CHUNK: Final = 8  # that step together: no more and no fewer on a machine of other cores


class Rates(Protocol):
    """How a network is trained."""

    @property
    def learning_rate(self) -> float:
        """Of back-propagation."""
        ...

    @property
    def momentum(self) -> float:
        """Of back-propagation."""
        ...


class WeightSets:
    """The weight sets of a search on one dataset.

    Args:
        dataset: of classes or labels; networks learn from its training split, and are scored on
            its validation split.
        fitness: F of a network, by its answers and what they should be, (rows, outputs); less is
            better.
        weight_variance: that each network's weights are drawn with, times the inputs of their
            neuron: see `search.chaos`.
        batch: rows of an update; 1 for the paper's "per-pattern weight update".

    Raises:
        InputError: numbers are predicted.
    """

    def __init__(
        self,
        dataset: Dataset,
        fitness: Fitness,
        *,
        weight_variance: Callable[[LayerGraph], float],
        batch: int,
    ) -> None:
        if dataset.task not in _LOSSES:
            raise InputError(
                f"{dataset.name} has {dataset.task} to predict, and weight sets answer with "
                "probabilities of classes or labels: give such data"
            )
        self._ends = (dataset.features.shape[1], dataset.outputs)
        self._learned = standardised_rows(dataset, "train")
        self._judged = standardised_rows(dataset, "validation")
        self._loss = _LOSSES[dataset.task]
        self._fitness = fitness
        self._weight_variance = weight_variance
        self._batch = batch
        self._sets: dict[str, Parent | None] = {}

    def begin(self, networks: Sequence[LayerGraph], *, seed: int) -> list[str]:
        """Draw a weight set for each network.

        Args:
            networks: which; equal ones get different sets.
            seed: what all are drawn from.
        """
        individuals = [
            self._individual(one, seed=seed + index) for index, one in enumerate(networks)
        ]
        return [self._keep(one, draw_weights(one)) for one in individuals]

    def inherit(self, networks: Sequence[LayerGraph], sets: Sequence[str]) -> list[str]:
        """Make a weight set for each network from what fits of another network's.

        Hidden layers are the same in order, as far as their widths say.
        """
        return [self._passed_on(*each) for each in zip(networks, sets, strict=True)]

    def cross(
        self,
        networks: Sequence[LayerGraph],
        parents: Sequence[Sequence[str]],
        homologies: Sequence[Sequence[Homology]],
    ) -> list[str]:
        """Make a weight set for each network from what it has of its parents' sets.

        Args:
            networks: which.
            parents: one set or more of each; those whose training diverged are left out.
            homologies: of each set.
        """
        return [self._bred(*each) for each in zip(networks, parents, homologies, strict=True)]

    def train(
        self,
        networks: Sequence[LayerGraph],
        sets: Sequence[str],
        rates: Sequence[Rates],
        *,
        passes: int,
        seed: int,
    ) -> list[str]:
        """Train each network, from its weight set, for some passes over the training split.

        Args:
            networks: which.
            sets: of each.
            rates: of each.
            passes: over the rows.
            seed: of the order of rows, for all the same.

        Returns:
            The new sets. One whose training diverged scores infinity.
        """
        found: list[str] = ["" for _ in sets]
        whole: dict[int, Individual] = {}
        starts = []
        for index, (network, set_, rate) in enumerate(zip(networks, sets, rates, strict=True)):
            known = self._known(set_)
            if known is None:
                found[index] = self._keep(None)
                continue
            whole[index] = self._individual(network, seed=seed, rates=rate)
            starts.append(State(weights=known[1]))
        if whole:
            states = train_population(
                [*whole.values()],
                self._learned,
                self._course(passes),
                starts=starts,
                place=Place(chunk=_CHUNK),
            )
            for (index, one), state in zip(whole.items(), states, strict=True):
                trained = state.status == "trained"
                found[index] = self._keep(one, state.weights) if trained else self._keep(None)
        return found

    def score(self, networks: Sequence[LayerGraph], sets: Sequence[str]) -> list[float]:
        """Return F of each network with its weight set on the validation split."""
        known = [self._known(one) for one in sets]
        there = [one for one in known if one is not None]
        answers = iter(
            answer_population(
                [one for one, _ in there],
                [weights for _, weights in there],
                self._judged.inputs,
                self._loss,
            )
            if there
            else []
        )
        wanted = self._judged.wanted.numpy().astype(np.float64)
        return [
            inf
            if one is None
            else self._fitness(network, next(answers).numpy().astype(np.float64), wanted)
            for network, one in zip(networks, known, strict=True)
        ]

    def parent(self, set_: str) -> Parent:
        """Return what a weight set is: the individual that it was made for, and its weights.

        Raises:
            InputError: there is no such set, or its training diverged.
        """
        known = self._known(set_)
        if known is None:
            raise InputError(f"the training of weight set '{set_}' diverged: take another one")
        return known

    def _individual(
        self, network: LayerGraph, *, seed: int, rates: Rates | None = None
    ) -> Individual:
        recipe = None
        if rates is not None:
            recipe = Recipe(learning_rate=rates.learning_rate, momentum=rates.momentum)
        return individual_of(
            network,
            *self._ends,
            seed=seed,
            recipe=recipe,
            weight_variance=self._weight_variance(network),
        )

    def _course(self, passes: int) -> Course:
        return Course(epochs=passes, batch=self._batch, loss=self._loss)

    def _passed_on(self, network: LayerGraph, set_: str) -> str:
        parent = self._known(set_)
        if parent is None:
            return self._keep(None)
        # What is new is drawn from the parent's seed and its own place.
        child = self._individual(network, seed=parent[0].seed)
        aligned = align(child, parent)
        begun = draw_weights(child) if aligned is None else inherit(child, [aligned])
        return self._keep(child, begun)

    def _bred(
        self, network: LayerGraph, sets: Sequence[str], homologies: Sequence[Homology]
    ) -> str:
        known = [(self._known(set_), one) for set_, one in zip(sets, homologies, strict=True)]
        bred = cross(lambda seed: self._individual(network, seed=seed), known)
        return self._keep(None) if bred is None else self._keep(*bred)

    def _keep(self, individual: Individual | None, weights: Weights | None = None) -> str:
        """Return the id of a new set; one without weights came to nothing."""
        name = str(len(self._sets))
        self._sets[name] = None
        if individual is not None and weights is not None:
            self._sets[name] = (individual, weights)
        return name

    def _known(self, set_: str) -> Parent | None:
        if set_ not in self._sets:
            raise InputError(
                f"no weight set is called '{set_}', among {len(self._sets)}: give ids that came "
                "from the same weight sets"
            )
        return self._sets[set_]


def cross(
    child: Callable[[int], Individual], known: Sequence[tuple[Parent | None, Homology]]
) -> Parent | None:
    """Return a child of some weight sets, and the weights that it begins from.

    Args:
        child: returns it with a seed: that of its first parent, from which, and its own place, what
            is new is drawn.
        known: its parents, None for one whose training diverged, and what it has of each.

    Returns:
        None if all diverged.
    """
    whole = [(parent, one) for parent, one in known if parent is not None]
    if not whole:
        return None
    made = child(whole[0][0][0].seed)
    return made, inherit(made, [parent for parent, _ in whole], [one for _, one in whole])


def align(child: Individual, parent: Parent) -> Parent | None:
    """Give the nodes of a parent the numbers of the child's nodes that they resemble.

    Hidden nodes are paired in order, equal widths first; a child's node without a partner has no
    links in what is returned.

    Args:
        child: whose numbers count.
        parent: with its weights.

    Returns:
        None if nothing that leads to the output is left.

    Example:
        A layer came in before the parent's:

        >>> parent = Individual(widths=(4, 3, 2))
        >>> child = Individual(widths=(4, 8, 3, 2), links=((0, 1), (1, 2), (0, 2), (2, 3)))
        >>> aligned = align(child, (parent, draw_weights(parent)))
        >>> aligned[0].widths, aligned[0].edges
        ((4, 8, 3, 2), ((0, 2), (2, 3)))
    """
    individual, weights = parent
    old, new = individual.widths[1:-1], child.widths[1:-1]
    names = {0: 0, len(individual.widths) - 1: len(child.widths) - 1}
    for _, start, end, to, until in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        pairs = zip(range(start, end), range(to, until), strict=False)
        names |= {one + 1: other + 1 for one, other in pairs}
    links = {
        link: (names[link[0]], names[link[1]])
        for link in individual.edges
        if link[0] in names and link[1] in names
    }
    last = len(child.widths) - 1
    if all(end != last for _, end in links.values()):
        return None
    back = {number: name for name, number in names.items()}
    widths = tuple(
        individual.widths[back[node]] if node in back else width
        for node, width in enumerate(child.widths)
    )
    biases = tuple(
        weights.biases[back[node] - 1] if node in back else np.zeros(widths[node])
        for node in range(1, len(widths))
    )
    masks = {links[old]: mask for old, mask in weights.masks.items() if old in links}
    renamed = {number: weights.links[name] for name, number in links.items()}
    alike = msgspec.structs.replace(individual, widths=widths, links=tuple(links.values()))
    return alike, Weights(renamed, biases, masks)
