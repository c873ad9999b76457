"""What a kind of network brings to the training of a population, so that all kinds share the rest.

A kind draws weights and says which networks share a stack; a form is what the networks of one
stack have in common. `dense.py` and `convolutional.py` have one kind each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from evener.train.population.losses import LossName
from evener.train.population.optimiser import Optimiser
from evener.train.population.stack import Stack
from evener.train.population.streams import Dropout
from evener.train.population.trainee import Trainee
from evener.train.population.weights import Weights

TraineeT = TypeVar("TraineeT", bound=Trainee)
TraineeT_contra = TypeVar("TraineeT_contra", bound=Trainee, contravariant=True)


class Way(Protocol):
    """The way through a stack and back; see `evener.train.population.passes.Passes`."""

    def forward(self, x_PBI: Tensor, masks: Sequence[Tensor | None] | None = None, /) -> Tensor:
        """Return the sums (P, B, O) of the output."""

    def compare(
        self, loss: LossName, wanted_PBO: Tensor, importance_O: Tensor | None = None
    ) -> Tensor:
        """Return the loss (P,) of what went forward last, and remember which way is down."""

    def backward(
        self, optimiser: Optimiser, masks: Sequence[Tensor | None] | None = None, /
    ) -> None:
        """Move the weights by the gradient of the loss that was compared last."""

    def first_without_numbers(self) -> Tensor:
        """Return the first layer whose sums are no finite numbers, (P,); the last where all are."""


class Form(Protocol[TraineeT_contra]):
    """What the networks of one stack have in common."""

    def of(self, blocks: Sequence[Tensor]) -> Stack:
        """Return blocks (P, K) as the arrays of each layer."""

    def zeros(self, individuals: int, dtype: torch.dtype, device: torch.device) -> Stack:
        """Return arrays of zeros for so many individuals."""

    def pack(
        self,
        individuals: Sequence[TraineeT_contra],
        weights: Sequence[Weights],
        dtype: torch.dtype,
        device: torch.device,
        /,
    ) -> Stack:
        """Return weights side by side."""

    def moves(
        self,
        individuals: Sequence[TraineeT_contra],
        weights: Sequence[Weights],
        dtype: torch.dtype,
        device: torch.device,
        /,
    ) -> list[Tensor | None]:
        """Return 1 where a number may move and 0 where not, (P, K) by block; None if all may."""

    def unpack(self, stack: Stack, row: int, individual: TraineeT_contra, /) -> Weights:
        """Return what a stack holds of an individual, copied, without masks."""

    def layer_of(self, individual: TraineeT_contra, place: int, /) -> int:
        """Return which layer of an individual stands at one of the stack's."""

    def passes(self, individuals: Sequence[TraineeT_contra], weights: Stack, batch: int, /) -> Way:
        """Return the way through a stack of individuals, for batches of so many rows."""

    def dropout(
        self,
        individuals: Sequence[TraineeT_contra],
        batch: int,
        dtype: torch.dtype,
        device: torch.device,
        /,
    ) -> Dropout | None:
        """Return what leaves neurons out; None if no individual wants it."""

    def at_once(
        self,
        individuals: Sequence[TraineeT_contra],
        batch: int,
        dtype: torch.dtype,
        device: torch.device,
        /,
    ) -> int:
        """Return how many of some individuals are trained at a time, at most.

        Raises:
            MemoryError: memory does not hold one.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Group(Generic[TraineeT_contra]):
    """Individuals that are one stack.

    Attributes:
        members: their numbers, those of one activation side by side.
        form: what they have in common.
    """

    members: tuple[int, ...]
    form: Form[TraineeT_contra]


class Kind(Protocol[TraineeT]):
    """A kind of network."""

    def draw(self, individual: TraineeT) -> Weights:
        """Draw the weights that an individual starts from."""

    def check(self, individual: TraineeT, weights: Weights) -> None:
        """Check that weights are those of an individual.

        Raises:
            InputError: they are not.
        """

    def groups(self, individuals: Sequence[TraineeT]) -> list[Group[TraineeT]]:
        """Put individuals into stacks, each into one; numbers are places in the sequence."""
