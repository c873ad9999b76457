"""How much better than random search are searches of a few dozen real trainings?

Usage: python benchmarks/few_evaluations.py [--set digits|california] [--seeds 12] [--marks 20,30]
                                            [--epochs 6] [--ways NAME;...] [--costs macs]
                                            [--board khadas-vim3] [-o RESULTS.json]

Searches networks of layers as `evener search` does, by error and the costs of `search.cost`, those
of plans as the board's cost model has them, in several ways, each from several seeds, and stops
after each mark of evaluations. All ways and seeds share what a training came to, which depends on
the network alone: each network is trained once. Prints for each mark, beside random search with as
many evaluations from the same seeds: the mean best error on the validation rows, the share of seeds
with a lower one, and the mean hypervolume of the front; and the probability of such differences by
chance (Wilcoxon's signed ranks, paired by seed).

digits ships with scikit-learn; california needs the folder EVENER_TEST_DATA.
"""

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray
from record import write_record
from scipy.stats import wilcoxon

from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import macs
from evener.artifacts.project import DataSection
from evener.artifacts.search_section import CostName, SearchSection
from evener.data.dataset import Dataset
from evener.data.load import load_dataset
from evener.search.algorithm import Algorithm
from evener.search.algorithms import make_algorithm
from evener.search.evolution import Evolution
from evener.search.fronts import first_front, hypervolume
from evener.search.layer_space import LayerSpace
from evener.search.space import costs_of
from evener.train.fit import ends_of
from evener.train.trials import Terms, Trial, score_together
from evener.workflow.network_cost import cost_on_board
from evener.workflow.search_setup import prices_of, space_of, spread_of

Told = NDArray[np.float64]  # (evaluations, objectives): error, costs
NOTHING: Final = 1.0  # error of what diverged
_TOGETHER: Final = 8
WAYS: Final[Mapping[str, Mapping[str, Any]]] = {
    "random": {"name": "random", "children": 10},
    "screened": {"name": "screened", "children": 10},
    "screened, 10 first": {"name": "screened", "children": 10, "first": 10},
    "screened, 5 a generation": {"name": "screened", "children": 5},
    "screened, 5, 6 first": {"name": "screened", "children": 5, "first": 6},
    "screened, 3 a generation": {"name": "screened", "children": 3, "first": 8},
    "nsga2": {"name": "nsga2", "children": 10},
    "nsga2, 5 a generation": {"name": "nsga2", "children": 5},
    "regularized": {"name": "regularized", "children": 5},
}


class Trainings:
    """What short trainings of networks came to, each made once.

    Args:
        dataset: what networks learn.
        section: epochs, rows to learn from, and costs.
        board: on which plans cost what they cost.
    """

    def __init__(self, dataset: Dataset, section: SearchSection, board: str) -> None:
        self._dataset, self._section = dataset, section
        self.ends = ends_of(dataset)
        self.prices = prices_of(section, self.ends, cost_on_board(board, self.ends))
        self._terms = Terms(
            epochs=section.epochs, batch=32, learning_rate=0.003, seed=0, rows=section.rows
        )
        self._known: dict[str, float | None] = {}
        self.cpu_s = 0.0

    def __call__(self, graphs: Sequence[LayerGraph]) -> list[tuple[float, ...] | None]:
        """Return error and costs of each; None where it diverged."""
        begun = time.process_time()
        new = [one for one in {one.id: one for one in graphs}.values() if one.id not in self._known]
        new.sort(key=lambda one: macs(one, self.ends))
        for first in range(0, len(new), _TOGETHER):
            trials = [
                Trial(network=one, spread=spread_of(one, self._section))
                for one in new[first : first + _TOGETHER]
            ]
            for score in score_together(trials, self._dataset, self._terms):
                self._known[score.id] = score.quality
        self.cpu_s += time.process_time() - begun
        qualities = [self._known[one.id] for one in graphs]
        return [
            None if quality is None else (1 - quality, *costs)
            for quality, costs in zip(qualities, self.prices(graphs), strict=True)
        ]

    @property
    def count(self) -> int:
        """How many networks were trained."""
        return len(self._known)


def searched(
    algorithm: Algorithm,
    space: LayerSpace,
    evaluate: Callable[[Sequence[LayerGraph]], list[tuple[float, ...] | None]],
    *,
    objectives: int,
    most: int,
    seed: int,
) -> Told:
    """Return what a search was told, in order; what diverged has the error `NOTHING`."""
    evolution = Evolution(space, algorithm, seed=seed, objectives=objectives)
    nothing = (NOTHING, *[np.inf] * (objectives - 1))
    told: list[tuple[float, ...]] = []
    while len(told) < most:
        graphs = evolution.ask()[: most - len(told)]
        if not graphs:
            break
        found = evaluate(graphs)
        told += [nothing if one is None else one for one in found]
        evolution.tell({one.id: result for one, result in zip(graphs, found, strict=True)})
    return np.array(told)


def volume(told: Told, low: Told, corner: Told) -> float:
    """Return the hypervolume of a front as a share of a box, costs counted by their logarithm.

    Args:
        told: error and costs of each, (evaluations, objectives).
        low: the least of each objective that anything came to.
        corner: what is worse in any objective is of no use.
    """
    points = np.array([_scaled(one) for one in (*told, low, corner)])
    box = (points[:-2] - points[-2]) / (points[-1] - points[-2])
    front = box[(box < 1).all(axis=1)]
    return hypervolume(front[first_front(front)], np.ones(len(low)))


def _scaled(objectives: Told) -> Told:
    return np.concatenate([objectives[:1], np.log10(objectives[1:])])


def compared(found: Mapping[str, Sequence[Told]], marks: Sequence[int]) -> list[dict[str, Any]]:
    """Return a row for each way and mark, held against random search from the same seeds.

    Args:
        found: what the searches of each way were told, by seed.
        marks: evaluations after which they are compared.
    """
    every = np.concatenate([told for way in found.values() for told in way])
    good = every[every[:, 0] < NOTHING]
    low, corner = good.min(axis=0), good.max(axis=0) * 1.1
    corner[0] = np.median(good[:, 0]) * 2 - low[0]
    rows = []
    for mark in marks:
        errors = {
            way: np.array([one[:mark, 0].min() for one in told]) for way, told in found.items()
        }
        volumes = {
            way: np.array([volume(one[:mark], low, corner) for one in told])
            for way, told in found.items()
        }
        for way in found:
            better = errors[way] < errors["random"]
            equal = errors[way] == errors["random"]
            rows.append(
                {
                    "way": way,
                    "evaluations": mark,
                    "error": float(errors[way].mean()),
                    "won": float((better + 0.5 * equal).mean()),
                    "error_p": _chance(errors[way] - errors["random"]),
                    "volume": float(volumes[way].mean()),
                    "volume_p": _chance(volumes["random"] - volumes[way]),
                }
            )
    return rows


def _chance(differences: NDArray[np.float64]) -> float:
    """Return how probable differences so far below 0 are by chance; 1 where all are 0."""
    if not differences.any():
        return 1.0
    return float(wilcoxon(differences, alternative="less").pvalue)


def load(name: str) -> Dataset:
    """Return the rows of a set.

    Args:
        name: of the set.
    """
    if name == "digits":
        return load_dataset(DataSection(source="digits"), Path())
    folder = Path(os.environ["EVENER_TEST_DATA"])
    source, target = "tabular/california_housing.csv.gz", "median_house_value"
    return load_dataset(DataSection(source=source, target=target), folder)


def main() -> None:
    """Search, print the comparison, and write it if a file is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", default="digits", choices=("digits", "california"))
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--marks", default="20,30")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--ways", default=";".join(WAYS), help="separated by ;")
    parser.add_argument("--costs", default="macs", help="separated by commas")
    parser.add_argument("--board", default="khadas-vim3")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    marks = [int(one) for one in options.marks.split(",")]
    names = cast("tuple[CostName, ...]", tuple(options.costs.split(",")))
    section = SearchSection(epochs=options.epochs, rows=options.rows, networks="layers", cost=names)
    trainings = Trainings(load(options.set), section, options.board)
    space = cast("LayerSpace", space_of(section, trainings.ends))
    objectives = 1 + len(names)
    costs = costs_of(space, trainings.prices)
    make = partial(make_algorithm, space=space, objectives=objectives, costs=costs)
    found = {}
    for way in dict.fromkeys(["random", *options.ways.split(";")]):
        algorithm = make(**WAYS[way])
        found[way] = [
            searched(algorithm, space, trainings, objectives=objectives, most=max(marks), seed=seed)
            for seed in range(options.seeds)
        ]
        print(f"{way}: {trainings.count} networks trained, {trainings.cpu_s:.0f} s", flush=True)
    rows = compared(found, marks)
    for row in rows:
        print(
            f"{row['evaluations']:4} {row['way']:28} error {row['error']:.4f} "
            f"(won {row['won']:.2f}, p {row['error_p']:.4f})  "
            f"volume {row['volume']:.4f} (p {row['volume_p']:.4f})"
        )
    if options.output is not None:
        facts = {"set": options.set, "seeds": options.seeds, "epochs": options.epochs}
        facts |= {"costs": names, "board": options.board}
        write_record(options.output, {**facts, "rows": options.rows, "found": rows})


if __name__ == "__main__":
    main()
