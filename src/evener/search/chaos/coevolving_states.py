"""Probe settings of hyperparameters by a short co-evolution of small networks in each at once.

This is what the table of hyperparameters is probed with. It is small, so that all 625 settings of
the paper's table take some seconds; what it finds is of these networks, and of the rows.
"""

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Answer = Literal["classes", "labels", "numbers"]
NETWORKS: Final = 4  # of a state, which exchange links and mutate
HIDDEN: Final = 16
SIZE: Final = 32  # rows of a step
JUDGED: Final = 64  # rows of a look
GENERATION: Final = 10  # steps between two
_NEAR_MEAN: Final = np.float32(0.1)  # of other first answers, where these are numbers


class CoEvolution:
    """A short co-evolution in every state at once: networks of one hidden layer, in NumPy.

    All networks of all states take the same steps on the same rows. After every tenth step the
    better half of a state's networks are parents of all of the next: children take their hidden
    neurons, links and weights alike, from two parents on either side of a point, with the state's
    crossover rate, and turn over each link with its mutation rate. A state's loss is the mean of
    its networks', on rows that are the same for all looks: before the first step, after every
    generation.

    Args:
        inputs: float32 [rows, features], of a mean square of about 1.
        wanted: float32 [rows, outputs]: a 1 at the class, a 1 for each label, or numbers of a mean
            square of about 1.
        answer: which of these.
        steps: of each state.
        seed: what networks, rows, parents and mutations are drawn from.
    """

    def __init__(
        self, inputs: Array, wanted: Array, answer: Answer, steps: int, seed: int | Sequence[int]
    ) -> None:
        self.inputs = inputs
        self.wanted = wanted
        self.answer = answer
        self.steps = steps
        self.seed = seed

    def __call__(self, states: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return [states, looks] losses."""
        rng = np.random.default_rng(self.seed)
        rate, momentum, mutation, crossover = (
            states[:, at, None, None, None].astype(np.float32) for at in range(4)
        )
        shape = (len(states), NETWORKS)
        into, outputs = self.inputs.shape[1], self.wanted.shape[1]
        # Every state starts with the same networks.
        first = np.tile(_normal(rng, (1, NETWORKS, into, HIDDEN), into), (len(states), 1, 1, 1))
        second = np.tile(
            _normal(rng, (1, NETWORKS, HIDDEN, outputs), HIDDEN), (*shape[:1], 1, 1, 1)
        )
        if self.answer == "numbers":
            # Else to choose among networks that are far off would look like learning.
            second *= _NEAR_MEAN
        links = np.ones(first.shape, dtype=bool)
        fast, slow = np.zeros_like(first), np.zeros_like(second)
        rows_there = len(self.inputs)
        judged = rng.choice(rows_there, min(JUDGED, rows_there), replace=False)
        found = []
        with np.errstate(over="ignore", invalid="ignore"):
            for step in range(self.steps + 1):
                if step % GENERATION == 0:
                    _, answers = self._answers(self.inputs[judged], first * links, second)
                    found.append(self._losses(answers, self.wanted[judged]).mean(axis=1))
                if step == self.steps:
                    break
                chosen = rng.choice(rows_there, min(SIZE, rows_there), replace=False)
                rows, wanted = self.inputs[chosen], self.wanted[chosen]
                hidden, answers = self._answers(rows, first * links, second)
                down = (answers - wanted) / np.float32(len(chosen))
                back = (down @ second.swapaxes(-1, -2)) * (1 - hidden * hidden)
                slow = momentum * slow - rate * (hidden.swapaxes(-1, -2) @ down)
                fast = momentum * fast - rate * (rows.T @ back) * links
                first, second = first + fast, second + slow
                if step % GENERATION == GENERATION - 1:
                    parents = _parents(self._losses(answers, wanted), rng)
                    first, links, second = _children(
                        (first, links, second), parents, crossover, rng
                    )
                    links = links ^ (rng.random(links.shape, dtype=np.float32) < mutation)
                    fast, slow = np.zeros_like(first), np.zeros_like(second)
        return np.stack(found, axis=1).astype(np.float64)

    def _answers(self, rows: Array, first: Array, second: Array) -> tuple[Array, Array]:
        """Return the hidden values, and what the networks answer."""
        hidden: Array = np.tanh(rows @ first)
        scores: Array = hidden @ second
        if self.answer == "numbers":
            return hidden, scores
        if self.answer == "labels":
            return hidden, np.float32(0.5) * (1 + np.tanh(np.float32(0.5) * scores))
        scores -= scores.max(axis=-1, keepdims=True)
        shares: Array = np.exp(scores)
        shares /= shares.sum(axis=-1, keepdims=True)
        return hidden, shares

    def _losses(self, answers: Array, wanted: Array) -> Array:
        """Return the mean loss of each network: what `answers - wanted` is the gradient of."""
        if self.answer == "numbers":
            return _mean(np.float32(0.5) * (answers - wanted) ** 2)
        tiny = np.float32(1e-12)
        if self.answer == "labels":
            missed = np.where(wanted > 0, answers, 1 - answers)
            return _mean(-np.log(missed + tiny))
        found: Array = -np.log((answers * wanted).sum(axis=-1) + tiny).mean(axis=-1)
        return found


def _mean(losses: Array) -> Array:
    """Return the mean over rows of the sum over outputs, of each network."""
    found: Array = losses.sum(axis=-1).mean(axis=-1)
    return found


def _normal(rng: np.random.Generator, shape: tuple[int, ...], inputs: int) -> Array:
    drawn: Array = rng.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(inputs))
    return drawn


def _parents(losses: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw two of the better half for every child: [states, children, 2]."""
    better = np.argsort(losses, axis=1)[:, : NETWORKS // 2]
    drawn = rng.integers(NETWORKS // 2, size=(len(losses), NETWORKS * 2))
    return np.take_along_axis(better, drawn, axis=1).reshape(len(losses), NETWORKS, 2)


def _children(
    networks: tuple[Array, NDArray[np.bool_], Array],
    parents: NDArray[np.intp],
    crossover: Array,
    rng: np.random.Generator,
) -> tuple[Array, NDArray[np.bool_], Array]:
    """Give children the hidden neurons of one parent up to a point, and of the other behind it."""
    first, links, second = networks
    states = np.arange(len(parents))[:, None]
    point = rng.integers(1, HIDDEN, size=parents.shape[:2])
    mated = rng.random(parents.shape[:2]) < crossover[:, :, 0, 0]
    own = (np.arange(HIDDEN) < point[:, :, None]) | ~mated[:, :, None]
    mother, father = parents[..., 0], parents[..., 1]
    columns, lines = own[:, :, None, :], own[:, :, :, None]
    return (
        np.where(columns, first[states, mother], first[states, father]),
        np.where(columns, links[states, mother], links[states, father]),
        np.where(lines, second[states, mother], second[states, father]),
    )
