"""Numbers of several networks side by side, an array for each link; what optimisers move."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from evener.train.population.individual import Link


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """Numbers of several individuals, such as their weights.

    A link has an array of its own: products of a batch are quick only into one without gaps.

    Attributes:
        links: (P, I, O) of each link; of a convolution (P x O, I, height, width).
        biases: (P, 1, O) of each node, parts of one array; the input's has no neurons.
        blocks: (P, K) of each link in order, and of all biases last: the same memory.
    """

    links: Mapping[Link, Tensor]
    biases: tuple[Tensor, ...]
    blocks: tuple[Tensor, ...]
