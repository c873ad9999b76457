"""Write small numbers as bits, so that one inverted bit is mostly a small change.

A gene is a choice among levels, held in a few bits by a Gray code: the codes of neighbouring levels
differ in one bit (Gray, US patent 2,632,058, 1953). Where the levels are no power of two, each has
one code or more and neighbours still touch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Genomes = NDArray[np.bool_]  # (genomes, bits)
Levels = NDArray[np.int64]  # (genomes, genes)


@dataclass(frozen=True, slots=True)
class Gene:
    """A choice among values.

    Attributes:
        name: what it decides.
        values: what there is to choose from, in an order in which neighbours are alike.
    """

    name: str
    values: tuple[Any, ...]

    @property
    def bits(self) -> int:
        """How many bits hold it; none for a single value."""
        return (len(self.values) - 1).bit_length()


def count_bits(genes: Sequence[Gene]) -> int:
    """Return how many bits hold some genes."""
    return sum(gene.bits for gene in genes)


def read_levels(genomes: Genomes, genes: Sequence[Gene]) -> Levels:
    """Return which value each gene chooses, (genomes, genes), from the bits that hold just them.

    Example:
        >>> gene = Gene("width", (16, 32, 64, 128))
        >>> codes = np.array([[0, 0], [0, 1], [1, 1], [1, 0]], bool)
        >>> read_levels(codes, [gene]).ravel().tolist()
        [0, 1, 2, 3]
    """
    levels = np.zeros((len(genomes), len(genes)), np.int64)
    start = 0
    for index, gene in enumerate(genes):
        # A bit of the number is the parity of the code's bits down to it.
        parities = np.logical_xor.accumulate(genomes[:, start : start + gene.bits], axis=1)
        number = parities @ (1 << np.arange(gene.bits)[::-1])
        levels[:, index] = number * len(gene.values) >> gene.bits
        start += gene.bits
    return levels


def write_levels(levels: Levels, genes: Sequence[Gene]) -> Genomes:
    """Return bits that choose the levels, (genomes, bits); the inverse of `read_levels`.

    Example:
        >>> write_levels(np.array([[2]]), [Gene("width", (16, 32, 64, 128))]).astype(int).tolist()
        [[1, 1]]
    """
    parts = []
    for index, gene in enumerate(genes):
        number = -(-(levels[:, index] << gene.bits) // len(gene.values))  # the first of its codes
        code = number ^ (number >> 1)
        parts.append((code[:, None] >> np.arange(gene.bits)[::-1]) & 1)
    return np.concatenate([np.empty((len(levels), 0)), *parts], axis=1).astype(bool)
