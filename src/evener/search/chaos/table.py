"""Find the edge of chaos of a dataset in a table of hyperparameters.

This is the paper's own reading of λ: a state is a setting of all hyperparameters, and it is latent,
or quiescent, when a search that is set so does not get on. Every state is probed for a few steps.
From the corner of least values, where nothing happens, boxes grow over the table; their λ rises,
and λ is critical where a box learns most on average: smaller boxes are too quiet, larger ones hold
too many states that diverge. What that value is depends on the dataset, on the grid and on how
long is probed; no value is universal.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from evener.errors import InputError
from evener.search.chaos.activation import Floats
from evener.search.chaos.langton import Lambda, Reading, count_states

Class = Literal["quiescent", "active", "divergent"]
CLASSES: Final[tuple[Class, ...]] = get_args(Class)


@dataclass(frozen=True, slots=True)
class Axis:
    """A hyperparameter and its levels.

    Attributes:
        name: such as "learning rate".
        levels: its values, rising: the least makes a search the quietest.
    """

    name: str
    levels: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """All settings of some hyperparameters of equally many levels.

    Attributes:
        axes: the hyperparameters.
    """

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        lengths = {len(axis.levels) for axis in self.axes}
        if len(lengths) != 1 or any(
            list(axis.levels) != sorted(set(axis.levels)) for axis in self.axes
        ):
            raise InputError(
                f"a table of {', '.join(axis.name for axis in self.axes) or 'no hyperparameter'} "
                f"with {sorted(lengths)} levels: give each as many, rising"
            )

    @property
    def levels(self) -> int:
        """d, how many values each hyperparameter has."""
        return len(self.axes[0].levels)

    def states(self) -> Floats:
        """Return every state, the last hyperparameter changing first: [states, hyperparameters]."""
        return np.array(list(product(*(axis.levels for axis in self.axes))), dtype=np.float64)

    def boxes(self) -> Iterator[tuple[int, ...]]:
        """Grow a box from the corner of least values, by a level of one hyperparameter at a time.

        Yields:
            How many levels of each hyperparameter are in it.
        """
        sizes = [1] * len(self.axes)
        yield tuple(sizes)
        for _ in range(self.levels - 1):
            for at in range(len(sizes)):
                sizes[at] += 1
                yield tuple(sizes)


# The ranges of the paper's table I, in five levels as its λ suggests.
PAPER: Final = Grid(
    (
        Axis("learning rate", (1e-4, 1e-3, 1e-2, 1e-1, 1.0)),
        Axis("momentum", (0.0, 0.225, 0.45, 0.675, 0.9)),
        Axis("mutation rate", (0.0, 0.25, 0.5, 0.75, 1.0)),
        Axis("crossover rate", (0.001, 0.25, 0.5, 0.75, 1.0)),
    )
)


class Probe(Protocol):
    """Try every state for a few steps, all in one batch."""

    def __call__(self, states: Floats) -> Floats:
        """Return the loss of each state over time.

        Args:
            states: [states, hyperparameters].

        Returns:
            [states, looks], the loss before the first step in front, all on the same rows; NaN or
            infinity from where a state diverged.
        """
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What makes a state quiescent or divergent.

    Attributes:
        still: share of its first loss by which a quiescent state's last differs at most.
        burst: how many times its first loss a divergent state's loss comes to.
    """

    still: float = 0.02
    burst: float = 2.0


@dataclass(frozen=True, slots=True)
class Box:
    """A box of the table.

    Attributes:
        levels: of each hyperparameter, from the least.
        states: its λ.
        learned: order parameter: mean share of the first loss that is gone at the end; none of it
            where a state diverged.
    """

    levels: tuple[int, ...]
    states: Lambda
    learned: float


@dataclass(frozen=True, slots=True, eq=False)
class Probed:
    """A table that was probed.

    Attributes:
        grid: which.
        classes: of each state, as an index into `CLASSES`.
        learned: share of its first loss that is gone at the end; 0 where it diverged.
        boxes: from the quiescent corner on.
    """

    grid: Grid
    classes: NDArray[np.intp]
    learned: Floats
    boxes: tuple[Box, ...]

    @property
    def peak(self) -> Box:
        """The box that learns most on average; of equal ones the smallest."""
        return max(self.boxes, key=lambda one: one.learned)

    @property
    def critical(self) -> float:
        """λ_c of this dataset, grid and length of the probe."""
        return self.peak.states.value

    @property
    def best(self) -> tuple[float, ...]:
        """The state that learned most; of equal ones the first."""
        return tuple(self.grid.states()[int(np.argmax(self.learned))].tolist())

    def edge(self) -> NDArray[np.intp]:
        """Return the states that start at the edge: those of the peak that are active."""
        inside = _inside(self.grid, self.peak.levels).ravel()
        return np.flatnonzero(inside & (self.classes == CLASSES.index("active")))

    def counted(self, reading: Reading) -> Lambda:
        """Return λ of the whole table by one of the readings of equation 1.

        The paper's n^d is not the number of states that there are; the quiescent ones are then
        given in proportion.

        Args:
            reading: see `count_states`.
        """
        states = count_states(len(self.grid.axes), self.grid.levels, reading)
        share = float((self.classes == CLASSES.index("quiescent")).mean())
        return Lambda(states, round(share * states))


def probe_table(grid: Grid, probe: Probe, limits: Limits | None = None) -> Probed:
    """Probe all states of a table, and find where its λ is critical.

    Args:
        grid: the table.
        probe: tries all states in one batch.
        limits: what makes a state quiescent or divergent.

    Raises:
        InputError: the probe does not answer for every state, or starts with no loss.
    """
    states = grid.states()
    losses = probe(states)
    if losses.ndim != 2 or len(losses) != len(states) or losses.shape[1] < 2:
        raise InputError(
            f"a probe of {len(states)} states returned losses of shape {losses.shape}: return one "
            "row for each state, with the loss before the first step and at least one later"
        )
    if not np.all(losses[:, 0] > 0) or not np.all(np.isfinite(losses[:, 0])):
        raise InputError(
            "a probe returned first losses that are no number above 0: return the loss before the "
            "first step in front"
        )
    classes = classify(losses, limits or Limits())
    gone = np.zeros(len(states))
    well = classes != CLASSES.index("divergent")
    gone[well] = 1.0 - losses[well, -1] / losses[well, 0]
    return Probed(grid, classes, gone, tuple(_grow(grid, classes, gone)))


def classify(losses: Floats, limits: Limits) -> NDArray[np.intp]:
    """Say of each state whether it is quiescent, active or divergent.

    Args:
        losses: [states, looks].
        limits: where classes end.

    Returns:
        An index into `CLASSES` for each.

    Example:
        >>> found = classify(np.array([[2, 1.99], [2, 1.5], [2, 5], [2, np.nan]]), Limits())
        >>> [CLASSES[one] for one in found]
        ['quiescent', 'active', 'divergent', 'divergent']
    """
    first = losses[:, :1]
    with np.errstate(invalid="ignore"):
        burst = ~np.all(np.isfinite(losses) & (losses <= limits.burst * first), axis=1)
        still = np.abs(losses[:, -1] - losses[:, 0]) <= limits.still * losses[:, 0]
    names = np.where(burst, "divergent", np.where(still, "quiescent", "active"))
    return np.array([CLASSES.index(name) for name in names.tolist()], dtype=np.intp)


def deviations(values: Floats, truth: Sequence[float], grid: Grid) -> Floats:
    """Say how far hyperparameters are from the best: what the paper's figures 5 and 6 show.

    Args:
        values: of networks: [networks, hyperparameters].
        truth: the best known state.
        grid: whose levels are the scale: a level apart is 1 / (levels - 1), whatever its values.

    Returns:
        From -1 to 1, in the shape of the values.

    Example:
        >>> grid = Grid((Axis("learning rate", (0.01, 0.1, 1.0)),))
        >>> deviations(np.array([[0.01], [1.0]]), [0.1], grid).tolist()
        [[-0.5], [0.5]]
    """
    scaled = [
        np.interp(np.append(values[:, at], truth[at]), axis.levels, np.linspace(0, 1, grid.levels))
        for at, axis in enumerate(grid.axes)
    ]
    return np.stack([one[:-1] - one[-1] for one in scaled], axis=1)


def _grow(grid: Grid, classes: NDArray[np.intp], gone: Floats) -> Iterator[Box]:
    for levels in grid.boxes():
        inside = _inside(grid, levels).ravel()
        quiet = int((classes[inside] == CLASSES.index("quiescent")).sum())
        yield Box(levels, Lambda(int(inside.sum()), quiet), float(gone[inside].mean()))


def _inside(grid: Grid, levels: Sequence[int]) -> NDArray[np.bool_]:
    inside = np.zeros((grid.levels,) * len(grid.axes), dtype=bool)
    inside[tuple(slice(one) for one in levels)] = True
    return inside
