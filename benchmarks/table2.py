"""Do the paper's Table II again: how soon do searches converge that prune by half, and by more?

Usage: python benchmarks/table2.py [SETS] [--only mnist,boston,...] [--rates 0.5,0.7] [--seeds 1]
       [--rows 800] [--generations 200] [--minutes 60] [-o benchmarks/results/table2]

A. Ravishankar et al., Pruned Genetic-NAS on GPU Accelerator Platforms with Chaos-on-Edge
Hyperparameters. The search is the paper's: 10 genomes of Table I, the best few breed, one-point
crossover, inverted bits, links drawn at its density of 0.786 (texts, tables) or 0.881 (pictures),
weights drawn at the edge of chaos. A network is trained for some passes over a part of the rows;
then the share of each hidden layer's neurons that weigh least is taken away ("vector-wise"), and
it is trained again. Its fitness is F of equation 3 on the validation rows: the mean error of an
output, of numbers in units of their spread, 0.01 times its multiply-accumulates over the most that
there may be, and 0.01 times the share that is left; less is better. "Score" is 100 (1 - F), which
the paper's own figures seem to be: they are no accuracies. A search has converged at the last
generation that lowered F by a hundredth of it or more, if 20 followed that did not.

The table has the generations to convergence with half and with seven tenths of the neurons pruned,
and the best score, on the paper's six data sets; texts are 500 words, as TF-IDF.

SETS is the folder of `real_data_sets.py`, by default that of EVENER_TEST_DATA. Rows and passes are
fewer than the paper's, so that generations can be compared in their order only. Each search is a
piece that is kept in `.cache/table2`; the same command goes on.
"""

import argparse
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import table2_page as page
from numpy.typing import NDArray
from pieces import Pieces
from real_data_sets import open_jpegs
from record import circumstances, commit, exit_with, write_record
from sections import markdown
from table2_page import Run
from table2_trial import Trial, Trials

from evener.artifacts.files import write_whole
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.project import DataSection
from evener.artifacts.table1 import TABLE_1
from evener.data.dataset import Dataset
from evener.data.load import load_dataset
from evener.data.split import Split
from evener.errors import InputError
from evener.search.evolution import Evolution
from evener.search.fitness import paper_score
from evener.search.layer_space import LayerSpace
from evener.search.paper import Paper

HERE: Final = Path(__file__).parent
KEPT: Final = HERE.parent / ".cache" / "table2"
Indices = NDArray[np.int64]
WIDTHS: Final = (32, 64, 128, 256)
PICTURES: Final = ("mnist", "cifar-10", "cifar-100")
DENSITY: Final = {"pictures": 0.881, "others": 0.786}  # the paper's
LEAST_GAIN: Final = 0.01  # of F
PATIENCE: Final = 20
_WORDS: Final = 500
_JPEGS: Final = 6000  # that are read of either part


def main(arguments: Sequence[str] | None = None) -> int:
    """Search every set at every rate, as far as there is time, and write what was found."""
    options = read_options(arguments)
    if options.sets is None:
        raise InputError("no folder of data: name it, or set EVENER_TEST_DATA")
    pieces = Pieces(options.kept, time.monotonic() + 60 * options.minutes, fresh=options.fresh)
    runs = []
    for seed in range(options.seeds):
        for name in options.only.split(","):
            for rate in map(float, options.rates.split(",")):
                terms = {"rows": options.rows, "passes": options.passes}
                run = pieces.get(
                    f"{name} pruned by {rate:g}, seed {seed}",
                    Run,
                    partial(_searched, name, rate, seed, options),
                    generations=options.generations,
                    **terms,
                )
                if run is not None:
                    runs.append(run)
                    print(page.told(run))
    record: dict[str, Any] = {"paper": page.PAPER, "runs": runs, "missing": pieces.missing}
    write_record(options.out.with_suffix(".json"), record)
    text = markdown(page.sections(runs, pieces.missing, circumstances()))
    write_whole(options.out.with_suffix(".md"), text.encode())
    print(f"wrote {options.out}.md and .json; missing: {pieces.missing or 'nothing'}")
    return int(pieces.out_of_time)


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    folder = os.environ.get("EVENER_TEST_DATA")
    add("sets", nargs="?", type=Path, default=None if folder is None else Path(folder))
    add("--only", default=",".join(page.PAPER), help="sets, separated by commas")
    add("--rates", default="0.5,0.7", help="shares of neurons that are pruned")
    add("--seeds", type=int, default=1, help="searches of each")
    add("--rows", type=int, default=800, help="to learn from; half as many to choose by")
    add("--passes", type=int, default=3, help="over them, before pruning; a third of it after")
    add("--generations", type=int, default=200, help="at most")
    add("--minutes", type=float, default=60.0, help="begin no search later")
    add("--fresh", action="store_true", help="do again what is kept")
    add("--kept", type=Path, default=KEPT, help="folder of searches that are done")
    add("-o", "--out", type=Path, default=HERE / "results" / "table2")
    return parser.parse_args(arguments)


def _searched(name: str, rate: float, seed: int, options: argparse.Namespace) -> Run:
    dataset = part_of(read(name, options.sets, options.kept), options.rows)
    kind = "pictures" if name in PICTURES else "others"
    return search(
        name,
        dataset,
        rate=rate,
        seed=seed,
        density=DENSITY[kind],
        passes=options.passes,
        generations=options.generations,
    )


def search(
    name: str,
    dataset: Dataset,
    *,
    rate: float,
    seed: int,
    density: float,
    passes: int,
    generations: int,
) -> Run:
    """Search one set at one rate until it converges.

    Args:
        name: of the set.
        dataset: its rows.
        rate: share of neurons that are pruned.
        seed: what all chance is drawn from.
        density: of links in the first genomes.
        passes: over the rows before pruning.
        generations: at most.
    """
    started, load = time.perf_counter(), os.getloadavg()[0]
    space = LayerSpace(
        depth=TABLE_1.maximum_depth,
        widths=WIDTHS,
        max_nodes=TABLE_1.maximum_nodes,
        activations=("relu",),
        density=density,
    )
    evolution: Evolution[LayerGraph] = Evolution(
        space, Paper(space, population=TABLE_1.population), seed=seed, objectives=1
    )
    trials = Trials(dataset, rate=rate, passes=passes, seed=seed)
    best: Trial | None = None
    course: list[float] = []
    while len(course) < generations and not converged(course):
        asked = evolution.ask()
        if not asked:
            break  # 200 generations brought no new network
        found = trials.score(asked)
        evolution.tell(
            {
                one.id: None if (trial := found[one.id]) is None else (trial.fitness,)
                for one in asked
            }
        )
        scored = [one for one in found.values() if one is not None]
        best = min([*scored, *([best] if best else [])], key=lambda one: one.fitness, default=None)
        course.append(float("inf") if best is None else best.fitness)
    if best is None:
        raise InputError(f"no network of {name} could be trained")
    return Run(
        set=name,
        rate=rate,
        seed=seed,
        rows=dataset.row_counts,
        passes=passes,
        generations=len(course),
        converged=last_gain(course) if converged(course) else None,
        evaluations=evolution.evaluated,
        fitness=best.fitness,
        score=paper_score(best.fitness),
        network=str(best.network),
        weights=best.weights,
        test=trials.tested(best),
        course=tuple(course),
        took_s=time.perf_counter() - started,
        load=(load, os.getloadavg()[0]),
        commit=commit(),
    )


def last_gain(course: Sequence[float]) -> int:
    """Return the generation, from 1, that last lowered the best F by enough.

    Example:
        >>> last_gain([0.5, 0.5, 0.4, 0.399])
        3
    """
    lowest, at = float("inf"), 0
    for number, value in enumerate(course, 1):
        if value <= (1 - LEAST_GAIN) * lowest:
            lowest, at = value, number
    return at


def converged(course: Sequence[float]) -> bool:
    """Whether enough generations brought no gain."""
    return len(course) - last_gain(course) >= PATIENCE


def read(name: str, sets: Path, kept: Path) -> Dataset:
    """Read a set of the paper.

    Raises:
        InputError: it has none of this name, or its files cannot be read.
    """
    sections: Mapping[str, DataSection] = {
        "mnist": DataSection(source="mnist/mnist.npz"),
        "boston": DataSection(source="tabular/boston_house_prices.csv.gz", target="MEDV"),
        "imdb": DataSection(
            source="imdb/train.csv.gz",
            test_source="imdb/test.csv.gz",
            text="text",
            text_features=_WORDS,
            drop=("id", "rating"),
        ),
        "reuters": DataSection(
            source="reuters-21578/reuters21578.csv.gz",
            target="topics",
            task="classes",
            separator=" ",
            split_column="lewissplit",
            only=("topics_attr=YES",),
            text=("title", "body"),
            text_features=_WORDS,
            drop=("newid", "cgisplit", "date"),
        ),
    }
    if name in ("cifar-10", "cifar-100"):
        source = {"cifar-10": "cifar-10-jpeg.npz", "cifar-100": "cifar-100-jpeg90.npz"}[name]
        [section] = open_jpegs(sets, kept / name, source=f"{name}/{source}", first=_JPEGS)
        return load_dataset(section, sets)
    if name not in sections:
        raise InputError(f"the paper has no data set '{name}'; it has {', '.join(page.PAPER)}")
    return load_dataset(sections[name], sets)


def part_of(dataset: Dataset, rows: int) -> Dataset:
    """Return a set with so many rows to learn from, half as many to choose by and twice to test.

    Rows of a split are in the order of the file, which may be sorted: they are drawn.
    """
    rng = np.random.default_rng(0)

    def drawn(part: Indices, most: int) -> Indices:
        return np.sort(rng.permutation(part)[:most])

    split = dataset.split
    return replace(
        dataset,
        split=Split(
            drawn(split.train, rows),
            drawn(split.validation, rows // 2),
            drawn(split.test, 2 * rows),
        ),
    )


if __name__ == "__main__":
    exit_with(main)
