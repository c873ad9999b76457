"""Search tables of networks that others trained, so that a whole search takes a moment.

Usage: python benchmarks/nasbench.py [--repeats 200] [--tables cifar10,...] [--only paper,...]
       [--what both] [--workers 1] [-o FILE]

An evaluation is the mean validation accuracy of a cell's three trainings (see `nasbench_tables`);
it is charged once for each cell. Every algorithm has the same settings on all tables, those of
`ALGORITHMS`, and the same seeds; its best after each of `MARKS` evaluations is compared with that
of random search and of regularized evolution by Wilcoxon's signed-rank test, seed by seed.

With two objectives, error and size, it is the hypervolume below `REFERENCE` of all that was
evaluated, over that of the table's front. A network's size is known without training it, and the
screened algorithm is told it before it asks. The table is noiseless: what evaluates by training
once may rank the algorithms in another way.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import nullcontext
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from nasbench_tables import SPACE, TABLES, Table, load_table
from numpy.typing import NDArray
from record import circumstances, write_record
from scipy.stats import wilcoxon

from evener.search.algorithm import Algorithm
from evener.search.algorithms import make_algorithm
from evener.search.bandit import LEARNED
from evener.search.breeding import FREE
from evener.search.evolution import Evolution
from evener.search.fronts import hypervolume
from evener.search.islands import Islands
from evener.search.nsga2 import Nsga2
from evener.search.paper import Paper
from evener.search.random_search import RandomSearch
from evener.search.regularized import Regularized

BARS: Final = {"cifar10": 91.572, "cifar100": 73.417, "imagenet": 46.650}  # mean best accuracy, %
REFERENCE: Final = np.array([20.0, 2.0])  # error in %, size in MB
HYPERVOLUME_BAR: Final = 0.99
Marks = tuple[int, ...]
MARKS: Final[Marks] = (50, 100, 200, 400)  # evaluations after which a search is looked at
AT: Final = 200  # of them, that bars and tests are of
RIVALS: Final = ("random", "regularized")
_RESAMPLES: Final = 10_000  # of the bootstrap

ALGORITHMS: Final[Mapping[str, Algorithm]] = {
    "random": RandomSearch(SPACE),
    "regularized": Regularized(SPACE),
    "paper literal": Paper(SPACE, elite=0, band=FREE),
    "paper elite": Paper(SPACE, band=FREE),
    "paper": Paper(SPACE, population=20, parents=8),
    "paper bandit": Paper(SPACE, population=20, parents=8, arms=LEARNED),
    "island": Islands(Paper(SPACE, population=10, parents=4), count=2),
    "nsga2": Nsga2(SPACE),
    "screened": make_algorithm("screened", SPACE, children=10),
}


def several(table: Table) -> Mapping[str, Algorithm]:
    """Return the algorithms for two objectives."""
    screened = partial(
        make_algorithm, "screened", SPACE, children=10, objectives=2, costs=table.sizes
    )
    return {
        "random": RandomSearch(SPACE),
        "nsga2": Nsga2(SPACE),
        "island": Islands(Nsga2(SPACE, population=10, children=10), count=2),
        "screened": screened(reference=tuple(REFERENCE.tolist())),
        "screened without reference": screened(),
    }


def search(
    algorithm: Algorithm,
    evaluate: Callable[[int], Sequence[float]],
    *,
    objectives: int,
    budget: int,
    seed: int,
) -> tuple[NDArray[np.float64], list[float]]:
    """Search until the budget is spent.

    Args:
        algorithm: how.
        evaluate: tells the objectives of a cell by its number.
        objectives: how many.
        budget: evaluations of different cells.
        seed: of the search.

    Returns:
        The objectives in the order of evaluation, and lambda after each.
    """
    evolution = Evolution(SPACE, algorithm, seed=seed, objectives=objectives)
    told: list[Sequence[float]] = []
    lambdas: list[float] = []
    while len(told) < budget:
        cells = evolution.ask()[: budget - len(told)]
        if not cells:
            break  # it repeats itself
        results = {cell.id: evaluate(cell.number) for cell in cells}
        told += results.values()
        evolution.tell(results)
        lambdas += [evolution.lambda_ or 0.0] * len(results)
    return np.array(told), lambdas


def best_accuracies(name: str, table: str, marks: Marks, seed: int) -> tuple[list[float], float]:
    """Return the best accuracy of a search after each mark, and lambda at `AT`."""
    accuracy = _loaded(table).accuracy
    told, lambdas = search(
        ALGORITHMS[name],
        lambda cell: (-accuracy[cell],),
        objectives=1,
        budget=max(marks),
        seed=seed,
    )
    return [float(-told[:mark].min()) for mark in marks], lambdas[:AT][-1]


def volume_ratios(name: str, table: str, marks: Marks, seed: int) -> list[float]:
    """Return the hypervolume over that of the table's front after each mark."""
    objectives = _loaded(table).objectives
    whole = hypervolume(objectives, REFERENCE)
    told, _ = search(
        several(_loaded(table))[name],
        lambda cell: objectives[cell].tolist(),
        objectives=2,
        budget=max(marks),
        seed=seed,
    )
    return [hypervolume(told[:mark], REFERENCE) / whole for mark in marks]


@cache
def _loaded(table: str) -> Table:
    """Return a table, which a process reads once."""
    return load_table(table)


def spread(values: NDArray[np.float64]) -> dict[str, float]:
    """Return the mean, an interval that holds it with 95 %, by bootstrap, and the deviation.

    Args:
        values: of the repeats.
    """
    drawn = np.random.default_rng(0).integers(0, len(values), (_RESAMPLES, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
    return {
        "mean": float(values.mean()),
        "low": float(low),
        "high": float(high),
        "standard_deviation": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
    }


def compare(
    values: Mapping[str, NDArray[np.float64]], name: str, rivals: Sequence[str] = RIVALS
) -> dict[str, dict[str, float]]:
    """Compare an algorithm with others seed by seed.

    Args:
        values: of the repeats, by algorithm.
        name: of the algorithm.
        rivals: those of them that took part are compared with.

    Returns:
        For each rival the mean difference, and the probability (Wilcoxon's signed-rank test, two-
        sided) of one as large if both were alike.
    """
    found = {}
    for rival in (one for one in rivals if one in values and one != name):
        apart = values[name] - values[rival]
        p = float(wilcoxon(apart).pvalue) if np.any(apart != 0) else 1.0
        found[rival] = {"difference": float(apart.mean()), "p": p}
    return found


def marked(values: NDArray[np.float64], marks: Marks) -> dict[str, dict[str, float]]:
    """Return the spread after each mark; values are (repeats, marks)."""
    return {str(mark): spread(values[:, at]) for at, mark in enumerate(marks)}


def measure_accuracies(
    names: Sequence[str], table: str, repeats: int, pool: Executor | None, marks: Marks = MARKS
) -> dict[str, dict[str, Any]]:
    """Search a table by some algorithms, over many seeds."""
    at = marks.index(AT)
    values: dict[str, NDArray[np.float64]] = {}
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        runs = list(_map(pool, partial(best_accuracies, name, table, marks), repeats))
        best = np.array([one for one, _ in runs])
        values[name] = best[:, at]
        found[name] = {
            "best": marked(best, marks),
            "hits": float(np.mean(best[:, at] == _loaded(table).accuracy.max())),
            "lambda": float(np.mean([lambda_ for _, lambda_ in runs])),
        }
        _tell(name, table, found[name]["best"], BARS[table], 3)
    return {name: {**found[name], "against": compare(values, name)} for name in names}


def measure_volumes(
    names: Sequence[str], table: str, repeats: int, pool: Executor | None, marks: Marks = MARKS
) -> dict[str, dict[str, Any]]:
    """Search a table for its front by some algorithms, over many seeds."""
    at = marks.index(AT)
    values: dict[str, NDArray[np.float64]] = {}
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        ratios = np.array(list(_map(pool, partial(volume_ratios, name, table, marks), repeats)))
        values[name] = ratios[:, at]
        found[name] = {"ratio": marked(ratios, marks)}
        _tell(name, "hypervolume", found[name]["ratio"], HYPERVOLUME_BAR, 4)
    rivals = (*RIVALS, "nsga2")
    return {name: {**found[name], "against": compare(values, name, rivals)} for name in names}


def _map(pool: Executor | None, of: Callable[[int], Any], repeats: int) -> Iterator[Any]:
    """Return what comes of each seed, by this process or some."""
    return pool.map(of, range(repeats), chunksize=5) if pool else map(of, range(repeats))


def _tell(name: str, what: str, found: Mapping[str, Any], bar: float, digits: int) -> None:
    values = ", ".join(
        f"{mark}: {one['mean']:.{digits}f} ({one['low']:.{digits}f} to {one['high']:.{digits}f})"
        for mark, one in found.items()
    )
    print(f"{name:14} {what:11} {values}; bar {bar}", flush=True)


def page(found: Mapping[str, Any]) -> str:
    """Return the record as tables for people, in Markdown."""
    lines = [
        "# Searches of NAS-Bench-201",
        "",
        (
            f"Means of {found['repeats']} searches with 95 % intervals (bootstrap); p by "
            f"Wilcoxon's signed-rank test at {AT} evaluations. Written by `{found['command']}`."
        ),
    ]
    tables = {
        f"{table}: best validation accuracy in %": {
            name: (of[table]["best"], of[table]["against"], 3)
            for name, of in found["accuracy"].items()
        }
        for table in found["tables"]
    }
    tables["cifar10: share of the front's hypervolume, error and size"] = {
        name: (of["ratio"], of["against"], 4) for name, of in found["hypervolume"].items()
    }
    for title, rows in tables.items():
        if not rows:
            continue
        marks = list(next(iter(rows.values()))[0])
        head = ["algorithm", *(f"after {mark}" for mark in marks), *(f"p, {one}" for one in RIVALS)]
        lines += ["", f"## {title}", "", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        for name, (values, against, digits) in rows.items():
            cells = [
                f"{one['mean']:.{digits}f} ({one['low']:.{digits}f} to {one['high']:.{digits}f})"
                for one in values.values()
            ]
            tests = [
                f"{'>' if against[one]['difference'] > 0 else '<'} {against[one]['p']:.1g}"
                if one in against
                else ""
                for one in RIVALS
            ]
            lines.append(f"| {' | '.join([name, *cells, *tests])} |")
    lines += ["", "`>` and `<`: above or below the rival's mean.", ""]
    return "\n".join(lines)


def main() -> int:
    """Search every table by every algorithm and say which bars were reached."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--only", help="algorithms, separated by commas; all if left out")
    parser.add_argument("--what", choices=["accuracy", "fronts", "both"], default="both")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    tables = options.tables.split(",") if options.what != "fronts" else []
    only = options.only.split(",") if options.only else None
    names = [one for one in ALGORITHMS if only is None or one in only]
    fronts = [one for one in several(_loaded("cifar10")) if only is None or one in only]
    with ProcessPoolExecutor(options.workers) if options.workers > 1 else nullcontext() as pool:
        by_table = {
            table: measure_accuracies(names, table, options.repeats, pool) for table in tables
        }
        accuracy = {name: {table: by_table[table][name] for table in tables} for name in names}
        volume = {}
        if options.what != "accuracy":
            volume = measure_volumes(fronts, "cifar10", options.repeats, pool)
    if options.out:
        record = {
            "repeats": options.repeats,
            "tables": tables,
            "bars": {**BARS, "hypervolume": HYPERVOLUME_BAR},
            "accuracy": accuracy,
            "hypervolume": volume,
        }
        write_record(options.out, record)
        options.out.with_suffix(".md").write_text(page({**circumstances(), **record}))
    at = str(AT)
    reached = not tables or any(
        all(found["best"][at]["mean"] >= BARS[table] for table, found in of.items())
        for of in accuracy.values()
    )
    widened = any(of["ratio"][at]["mean"] >= HYPERVOLUME_BAR for of in volume.values())
    return int(not (reached and (widened or not volume)))


if __name__ == "__main__":
    sys.exit(main())
