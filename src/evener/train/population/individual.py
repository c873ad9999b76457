"""What one network of a population is, and how it wants to be trained."""

from itertools import pairwise
from typing import Literal

import msgspec

from evener.errors import InputError
from evener.train.population.trainee import RuleName as RuleName
from evener.train.population.trainee import check_numbers

Link = tuple[int, int]
ActivationName = Literal["relu", "tanh", "gelu", "sigmoid", "identity"]


class Individual(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A network of dense links between nodes, and the numbers that its training takes.

    Node 0 is the input, the last one the output. A node adds up what its links bring, each by a
    matrix of its own, and a bias; all but the output then apply the activation. Everything random
    is drawn from the seed alone: an individual comes to the same weights, to rounding, whoever is
    trained beside it.

    Attributes:
        widths: neurons of each node.
        links: (from, to), each towards a later node; a chain if None.
        activation: of the hidden nodes.
        seed: what weights, the order of rows and dropout are drawn from.
        optimiser: "sgd", or "adam" (Kingma and Ba, 2015).
        learning_rate: at its highest.
        momentum: of sgd; of adam, how slowly the mean of gradients forgets (its first beta).
        weight_decay: of weights and biases, added to the gradient as in PyTorch.
        dropout: probability with which a hidden neuron is left out of a step, to 1/65536.
        weight_variance: of a weight, times the neurons that its node's links come from; with 2 a
            relu network starts at the edge of chaos, with 2 over the density where masks cut links.
        bias_variance: of a bias.

    Example:
        >>> one = Individual(widths=(64, 32, 10))
        >>> one.edges, one.macs
        (((0, 1), (1, 2)), 2368)
    """

    widths: tuple[int, ...]
    links: tuple[Link, ...] | None = None
    activation: ActivationName = "relu"
    seed: int = 0
    optimiser: RuleName = "sgd"
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 0.0
    dropout: float = 0.0
    weight_variance: float = 2.0
    bias_variance: float = 0.0

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: nodes or links that are no network, or a number that nobody can train with.
        """
        if len(self.widths) < 2 or min(self.widths) < 1:
            raise InputError(
                f"nodes of {self.widths} neurons: give an input and an output, and 1 neuron or "
                "more for each node"
            )
        self._check_links()
        check_numbers(self)

    @property
    def edges(self) -> tuple[Link, ...]:
        """The links in order of where they end, then of where they begin."""
        if self.links is None:
            return tuple(pairwise(range(len(self.widths))))
        return tuple(sorted(self.links, key=lambda link: (link[1], link[0])))

    @property
    def ends(self) -> tuple[int, int]:
        """Neurons of the first node and of the last."""
        return self.widths[0], self.widths[-1]

    @property
    def depth(self) -> int:
        """How many nodes have weights: all but the first."""
        return len(self.widths) - 1

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one prediction."""
        return sum(self.widths[start] * self.widths[end] for start, end in self.edges)

    def _check_links(self) -> None:
        last = len(self.widths) - 1
        for start, end in self.edges:
            if not 0 <= start < end <= last:
                raise InputError(
                    f"a link from node {start} to node {end} of nodes 0 to {last}: give links "
                    "that lead to a later node"
                )
        if len(set(self.edges)) < len(self.edges):
            raise InputError(f"links {self.links}: give each once")
        if all(end != last for _, end in self.edges):
            raise InputError(f"no link leads to node {last}, the output: give one that does")
