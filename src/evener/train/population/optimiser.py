"""Move the weights of a stack by their gradients, each individual at rates of its own.

Rates, momenta and decays are columns beside the rows of a block, so that a step of all individuals
is a few operations on one array. Shapes in names: P individuals, K numbers of a block.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import torch
from torch import Tensor

from evener.train.population.stack import Stack
from evener.train.population.trainee import Trainee

_SECOND: Final = 0.999  # how slowly Adam's mean of squares forgets
_EPSILON: Final = 1e-8


class Optimiser(Protocol):
    """What moves the weights of a stack, block by block.

    Attributes:
        gradient: where a step's gradient of a block is added, between `begin` and `step`.
        memory: what it remembers of past steps; changed in place.
    """

    gradient: Stack
    memory: tuple[Stack, ...]

    def pace(self, number: int, scale: float) -> None:
        """Say which step comes; what depends on it is written where `step` reads it.

        Args:
            number: of the step, from 1.
            scale: of all learning rates at this step.
        """

    def begin(self, block: int) -> None:
        """Make room for the gradient of a block; the decay of its weights is in it already."""

    def step(self, block: int) -> None:
        """Move the weights of a block."""


def make_optimiser(
    individuals: Sequence[Trainee],
    weights: Stack,
    moves: Sequence[Tensor | None],
    memory: Sequence[Stack],
    room: Callable[[], Stack],
) -> Optimiser:
    """Make the optimiser of a stack.

    Args:
        individuals: of the stack; all have the same optimiser.
        weights: what it moves.
        moves: of each block, 0 for what it leaves where it is; None if it moves all.
        memory: of past steps, as many arrays as `memories` says; zeros before the first.
        room: makes arrays of the stack's shape, for a gradient that stands apart.
    """
    if individuals[0].optimiser == "sgd":
        return Sgd(individuals, weights, moves, memory[0])
    return Adam(individuals, weights, moves, memory, room())


def memories(individual: Trainee) -> int:
    """Return how many numbers an individual's optimiser remembers for each weight."""
    return 1 if individual.optimiser == "sgd" else 2


class Sgd:
    """Gradient descent with momentum: the velocity keeps a share of itself and gains the gradient.

    The gradient is added to the velocity where it stands and is never written apart.
    """

    def __init__(
        self,
        individuals: Sequence[Trainee],
        weights: Stack,
        moves: Sequence[Tensor | None],
        velocity: Stack,
    ) -> None:
        self._weights = weights
        self.gradient = velocity
        self.memory: tuple[Stack, ...] = (velocity,)
        self._momentum_P1 = _column([one.momentum for one in individuals], weights)
        self._decay_P1 = _decay(individuals, weights)
        self._rates = _Rates(individuals, weights, moves)

    def pace(self, number: int, scale: float) -> None:  # noqa: ARG002 - Adam needs it
        """Set the rates."""
        self._rates.pace(scale)

    def begin(self, block: int) -> None:
        """Let the velocity forget."""
        velocity_PK = self.gradient.blocks[block].mul_(self._momentum_P1)
        if self._decay_P1 is not None:
            velocity_PK.addcmul_(self._weights.blocks[block], self._decay_P1)

    def step(self, block: int) -> None:
        """Move by the velocity."""
        self._weights.blocks[block].addcmul_(self.gradient.blocks[block], self._rates.now[block])


class Adam:
    """Adam (Kingma and Ba, 2015), with a first beta of each individual's own."""

    def __init__(
        self,
        individuals: Sequence[Trainee],
        weights: Stack,
        moves: Sequence[Tensor | None],
        memory: Sequence[Stack],
        gradient: Stack,
    ) -> None:
        self._weights = weights
        first = weights.blocks[0]
        self.gradient = gradient
        self.memory = tuple(memory)
        self._first_P1 = _column([one.momentum for one in individuals], weights)
        self._forget_P1 = 1 - self._first_P1
        self._root = first.new_zeros(())
        self._decay_P1 = _decay(individuals, weights)
        self._rates = _Rates(individuals, weights, moves)

    def pace(self, number: int, scale: float) -> None:
        """Set the rates; both means begin at 0, and what they lack for that is made up for."""
        self._rates.pace(scale / (1 - self._first_P1.double() ** number))
        self._root.fill_((1 - _SECOND**number) ** 0.5)

    def begin(self, block: int) -> None:
        """Forget the last gradient."""
        gradient_PK = self.gradient.blocks[block]
        if self._decay_P1 is None:
            gradient_PK.zero_()
        else:
            torch.mul(self._weights.blocks[block], self._decay_P1, out=gradient_PK)

    def step(self, block: int) -> None:
        """Move by the mean gradient over the root of the mean square."""
        gradient_PK = self.gradient.blocks[block]
        means_PK, squares_PK = (one.blocks[block] for one in self.memory)
        means_PK.lerp_(gradient_PK, self._forget_P1)
        squares_PK.mul_(_SECOND).addcmul_(gradient_PK, gradient_PK, value=1 - _SECOND)
        direction_PK = torch.sqrt(squares_PK, out=gradient_PK)
        direction_PK.div_(self._root).add_(_EPSILON)
        torch.div(means_PK, direction_PK, out=direction_PK)
        self._weights.blocks[block].addcmul_(direction_PK, self._rates.now[block])


class _Rates:
    """How far weights move: a column, or one for each weight where some may not move.

    Attributes:
        now: of this step, by block; less than 0, for weights go down.
    """

    def __init__(
        self, individuals: Sequence[Trainee], like: Stack, moves: Sequence[Tensor | None]
    ) -> None:
        self._rates_P1 = _column([-one.learning_rate for one in individuals], like)
        self._moves = moves
        column_P1 = torch.empty_like(self._rates_P1)
        self.now = [column_P1 if one is None else torch.empty_like(one) for one in moves]
        self._scale: float | Tensor | None = None

    def pace(self, scale: float | Tensor) -> None:
        if isinstance(scale, float) and scale == self._scale:
            return
        self._scale = scale
        rates_P1 = (self._rates_P1 * scale).to(self._rates_P1.dtype)
        for moves_PK, now in zip(self._moves, self.now, strict=True):
            if moves_PK is None:
                now.copy_(rates_P1)
            else:
                torch.mul(moves_PK, rates_P1, out=now)


def _decay(individuals: Sequence[Trainee], like: Stack) -> Tensor | None:
    decays = [one.weight_decay for one in individuals]
    return _column(decays, like) if any(decays) else None


def _column(numbers: Sequence[float], like: Stack) -> Tensor:
    first = like.blocks[0]
    return torch.tensor(numbers, dtype=first.dtype, device=first.device).unsqueeze(1)
