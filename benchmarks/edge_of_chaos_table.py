"""Probe a table of hyperparameters on a dataset, and evolve hyperparameters over it."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.search.chaos.table import Grid, Probed, deviations

Array = NDArray[np.float32]
NETWORKS: Final = 4  # of a state, which exchange links and mutate
HIDDEN: Final = 16
SIZE: Final = 32  # rows of a step
JUDGED: Final = 64  # rows of a look
GENERATION: Final = 10  # steps between two
VARIANTS: Final = 10  # the paper's


class CoEvolution:
    """A short co-evolution in every state at once: networks of one hidden layer, in NumPy.

    All networks of all states take the same steps on the same rows. After every tenth step the
    better half of a state's networks are parents of all of the next: children take their hidden
    neurons, links and weights alike, from two parents on either side of a point, with the state's
    crossover rate, and turn over each link with its mutation rate. A state's loss is the mean of
    its networks', on rows that are the same for all looks: before the first step, after every
    generation.
    """

    def __init__(self, inputs: Array, labels: NDArray[np.int64], steps: int, seed: int) -> None:
        self.inputs = inputs
        self.wanted: Array = np.eye(int(labels.max()) + 1, dtype=np.float32)[labels]
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
        links = np.ones(first.shape, dtype=bool)
        fast, slow = np.zeros_like(first), np.zeros_like(second)
        judged = rng.choice(len(self.inputs), JUDGED, replace=False)
        found = []
        with np.errstate(over="ignore", invalid="ignore"):
            for step in range(self.steps + 1):
                if step % GENERATION == 0:
                    _, shares = _shares(self.inputs[judged], first * links, second)
                    found.append(_losses(shares, self.wanted[judged]).mean(axis=1))
                if step == self.steps:
                    break
                chosen = rng.choice(len(self.inputs), SIZE, replace=False)
                rows, wanted = self.inputs[chosen], self.wanted[chosen]
                hidden, shares = _shares(rows, first * links, second)
                down = (shares - wanted) / np.float32(SIZE)
                back = (down @ second.swapaxes(-1, -2)) * (1 - hidden * hidden)
                slow = momentum * slow - rate * (hidden.swapaxes(-1, -2) @ down)
                fast = momentum * fast - rate * (rows.T @ back) * links
                first, second = first + fast, second + slow
                if step % GENERATION == GENERATION - 1:
                    parents = _parents(_losses(shares, wanted), rng)
                    first, links, second = _children(
                        (first, links, second), parents, crossover, rng
                    )
                    links = links ^ (rng.random(links.shape, dtype=np.float32) < mutation)
                    fast, slow = np.zeros_like(first), np.zeros_like(second)
        return np.stack(found, axis=1).astype(np.float64)


def _shares(rows: Array, first: Array, second: Array) -> tuple[Array, Array]:
    """Return the hidden values and the share of each class."""
    hidden: Array = np.tanh(rows @ first)
    scores = hidden @ second
    scores -= scores.max(axis=-1, keepdims=True)
    shares: Array = np.exp(scores)
    shares /= shares.sum(axis=-1, keepdims=True)
    return hidden, shares


def _losses(shares: Array, wanted: Array) -> Array:
    """Return the mean cross-entropy of each network."""
    found: Array = -np.log((shares * wanted).sum(axis=-1) + np.float32(1e-12)).mean(axis=-1)
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


def evolve(
    probed: Probed, starts: NDArray[np.intp], iterations: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Evolve ten variants of the hyperparameters by the rates that they themselves hold.

    Parents are the better half, by what their states learned; a child mates with its mother's
    crossover rate, at one point of the four hyperparameters, and each of its hyperparameters is
    drawn anew with its mother's mutation rate. Children replace everyone.

    Args:
        probed: the table.
        starts: states that variants are drawn from.
        iterations: generations.
        rng: what is drawn from.

    Returns:
        Signed deviations from the best state at the start and at the end: [variants, 4].
    """
    grid = probed.grid
    shape = (grid.levels,) * len(grid.axes)
    truth = best(probed)
    levels = np.stack(np.unravel_index(rng.choice(starts, VARIANTS), shape), axis=1)
    begun = deviations(_values(grid, levels), truth, grid)
    for _ in range(iterations):
        fitness = probed.learned[np.ravel_multi_index(tuple(levels.T), shape)]
        better = levels[np.argsort(-fitness, kind="stable")[: VARIANTS // 2]]
        mothers, fathers = (better[rng.integers(len(better), size=VARIANTS)] for _ in range(2))
        rates = _values(grid, mothers)
        point = rng.integers(1, len(shape), size=(VARIANTS, 1))
        mated = rng.random((VARIANTS, 1)) < rates[:, 3:4]
        levels = np.where((np.arange(len(shape)) < point) | ~mated, mothers, fathers)
        turned = rng.random(levels.shape) < rates[:, 2:3]
        levels = np.where(turned, rng.integers(grid.levels, size=levels.shape), levels)
    return begun, deviations(_values(grid, levels), truth, grid)


def best(probed: Probed) -> list[float]:
    """Return the state that learned most."""
    found: list[float] = probed.grid.states()[int(np.argmax(probed.learned))].tolist()
    return found


def _values(grid: Grid, levels: NDArray[np.intp]) -> NDArray[np.float64]:
    return np.stack(
        [np.array(axis.levels)[levels[:, at]] for at, axis in enumerate(grid.axes)], axis=1
    )
