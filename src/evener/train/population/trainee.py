"""What the training of a population has to know of a network, of whatever kind it is."""

from math import inf, isfinite
from typing import Literal, Protocol

from evener.errors import InputError

RuleName = Literal["sgd", "adam"]


class Trainee(Protocol):
    """A network that wants to be trained in a way of its own; see `Individual`."""

    @property
    def ends(self) -> tuple[int, int]:
        """Numbers of a row that go in, and outputs."""

    @property
    def depth(self) -> int:
        """Layers that have weights, from the first to the output, which are numbered from 1."""

    @property
    def seed(self) -> int:
        """What everything random is drawn from."""

    @property
    def optimiser(self) -> RuleName:
        """What moves its weights."""

    @property
    def learning_rate(self) -> float:
        """At its highest."""

    @property
    def momentum(self) -> float:
        """Of sgd; of adam its first beta."""

    @property
    def weight_decay(self) -> float:
        """Added to the gradient, times weights and biases."""

    @property
    def dropout(self) -> float:
        """Probability with which a hidden neuron is left out of a step."""

    @property
    def weight_variance(self) -> float:
        """Of a weight, times the numbers that its sum adds up."""

    @property
    def bias_variance(self) -> float:
        """Of a bias."""


def check_numbers(one: Trainee) -> None:
    """Refuse numbers that nobody can train with.

    Args:
        one: the network.

    Raises:
        InputError: says which number, and what to give.
    """
    if not 0 < one.learning_rate < inf:
        raise InputError(f"a learning rate of {one.learning_rate}: give a number above 0")
    for name, share in (("momentum", one.momentum), ("dropout", one.dropout)):
        if not 0 <= share < 1:
            raise InputError(f"{name} {share}: give 0 or more, and less than 1")
    rest = (one.weight_decay, one.weight_variance, one.bias_variance)
    if min(rest) < 0 or not all(map(isfinite, rest)):
        raise InputError(
            f"weight decay {rest[0]} and variances {rest[1]} of weights, {rest[2]} of biases: "
            "give numbers of 0 or more"
        )
