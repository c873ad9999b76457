"""What the training of a population has to know of a network, of whatever kind it is."""

from typing import Literal, Protocol

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
