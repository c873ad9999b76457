"""Switch off one part of the paper's Algorithm 1 at a time: what does each add, on digits?

Usage: python benchmarks/ablation.py [--seeds 8] [--only whole,...] [-o FILE]

Every run has the same settings, a shortened Table I, but for the part that `PARTS` names, and the
same seeds. It ends with the network and weight set of the least F (equation 3, on the validation
split), of which the error on the test split is told. Hyperparameters are the same for all, so that
they do not hide the rest; two parts draw them, from the edge of chaos of a table that is probed on
the training split, and evenly from Table I. Differences from the whole algorithm are of equal
seeds; intervals are Student's. A part whose interval holds 0 was not seen to make a difference.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np
from edge_of_chaos_table import CoEvolution
from record import write_record
from scipy.stats import t

from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.project import DataSection
from evener.artifacts.table1 import TABLE_1
from evener.data.dataset import Dataset
from evener.data.load import load_dataset
from evener.search.chaos.table import PAPER, Probed, probe_table
from evener.search.coevolution.algorithm import coevolve
from evener.search.coevolution.hyperparameters import Hyperparameters, draw_at_edge
from evener.search.coevolution.sparsify import Terms
from evener.train.population.answers import answer_population
from evener.train.rows import standardised_rows
from evener.train.weight_sets import Rates, WeightSets
from evener.workflow.coevolution import Course, settings_of, weight_sets_of

TABLE: Final = msgspec.structs.replace(
    TABLE_1,
    population=6,
    generations=5,
    epochs=2,
    back_propagation_cycles=4,
    maximum_nodes=160,
    rows_per_update=16,
)
WHOLE: Final = Course(TABLE, widths=(16, 32, 64), sets=2)
SAME: Final = Hyperparameters(
    learning_rate=0.03, momentum=0.5, mutation_rate=0.03, crossover_rate=0.9
)
PROBE_STEPS: Final = 60


@dataclass(frozen=True, slots=True)
class Part:
    """What is different when a part is switched off.

    Attributes:
        course: the terms.
        inherits: whether a changed network goes on with weights of the one before.
        drawn: where hyperparameters are drawn from: nowhere, but the same for all; the edge of
            chaos; or evenly from the ranges of Table I.
    """

    course: Course = WHOLE
    inherits: bool = True
    drawn: Literal["same", "edge", "anywhere"] = "same"


def _with(**rows: int) -> Course:
    return replace(WHOLE, table=msgspec.structs.replace(TABLE, **rows))


PARTS: Final[Mapping[str, Part]] = {
    "whole": Part(),
    "weights start ordered": Part(replace(WHOLE, start="ordered")),
    "weights start chaotic": Part(replace(WHOLE, start="chaotic")),
    "hyperparameters at the edge": Part(drawn="edge"),
    "hyperparameters from anywhere": Part(drawn="anywhere"),
    "no inheritance of weights": Part(inherits=False),
    "one weight set each": Part(replace(WHOLE, sets=1)),
    "no evolution": Part(_with(generations=0)),
    "no pruning": Part(replace(WHOLE, terms=Terms(error_threshold=0.0))),
    "pruning confirmed by the chain": Part(replace(WHOLE, terms=Terms(sure=0.95))),
}


@dataclass(frozen=True, slots=True)
class Forgetful:
    """Weight sets that nothing is passed on from: whatever changes is drawn anew.

    Attributes:
        sets: that keep, train and score.
        rng: what new ones are drawn from.
    """

    sets: WeightSets
    rng: np.random.Generator

    def begin(self, networks: Sequence[LayerGraph], *, seed: int) -> list[str]:
        """Draw a weight set for each network."""
        return self.sets.begin(networks, seed=seed)

    def inherit(self, networks: Sequence[LayerGraph], sets: Sequence[str]) -> list[str]:
        """Draw a weight set for each network, whatever there was."""
        seeds = self.rng.integers(1 << 31, size=len(sets)).tolist()
        return [
            self.sets.begin([one], seed=seed)[0] for one, seed in zip(networks, seeds, strict=True)
        ]

    def train(
        self,
        networks: Sequence[LayerGraph],
        sets: Sequence[str],
        hyperparameters: Sequence[Rates],
        *,
        passes: int,
        seed: int,
    ) -> list[str]:
        """Train each network."""
        return self.sets.train(networks, sets, hyperparameters, passes=passes, seed=seed)

    def score(self, networks: Sequence[LayerGraph], sets: Sequence[str]) -> list[float]:
        """Return F of each network."""
        return self.sets.score(networks, sets)


def anywhere(rng: np.random.Generator) -> Hyperparameters:
    """Draw hyperparameters from the ranges of Table I, the learning rate on a logarithmic scale."""
    low, high = np.log(TABLE.learning_rate)
    return Hyperparameters(
        learning_rate=float(np.exp(rng.uniform(low, high))),
        momentum=rng.uniform(*TABLE.momentum),
        mutation_rate=rng.uniform(*TABLE.mutation_rate),
        crossover_rate=rng.uniform(*TABLE.crossover_rate),
    )


def run(part: Part, dataset: Dataset, probed: Probed, seed: int) -> dict[str, float]:
    """Carry out the algorithm once.

    Returns:
        F and the error on the test split of the best network, and its multiply-accumulates.
    """
    sets = weight_sets_of(dataset, part.course)
    draw: Mapping[str, Callable[[np.random.Generator], Hyperparameters]] = {
        "same": lambda _: SAME,
        "edge": partial(draw_at_edge, probed),
        "anywhere": anywhere,
    }
    found = coevolve(
        settings_of(dataset, part.course),
        sets if part.inherits else Forgetful(sets, np.random.default_rng([seed, 1])),
        draw[part.drawn],
        seed=seed,
    )
    individual, weights = sets.parent(found.best.best)
    rows = standardised_rows(dataset, "test")
    [answers] = answer_population([individual], [weights], rows.inputs, "cross-entropy")
    wrong = answers.argmax(dim=1) != rows.wanted.argmax(dim=1)
    return {
        "fitness": found.best.score,
        "test_error": float(wrong.double().mean()),
        "macs": individual.macs,
    }


def interval(values: Sequence[float]) -> dict[str, float]:
    """Return the mean and Student's interval that holds it with 95 %.

    Example:
        >>> interval([1.0, 2.0, 3.0])["mean"]
        2.0
    """
    mean, count = float(np.mean(values)), len(values)
    wide = float(t.ppf(0.975, count - 1) * np.std(values, ddof=1) / np.sqrt(count))
    return {"mean": mean, "low": mean - wide, "high": mean + wide}


def main() -> int:
    """Run the whole algorithm and each without a part, and print what it came to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--only", help="parts, separated by commas; all if left out")
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(PARTS)
    dataset = load_dataset(DataSection(source="digits"), Path())
    learned = standardised_rows(dataset, "train").inputs.numpy().astype(np.float32)
    _, classes = dataset.rows("train")
    probed = probe_table(PAPER, CoEvolution(learned, classes, PROBE_STEPS, seed=0))
    found: dict[str, Any] = {}
    runs: dict[str, list[dict[str, float]]] = {}
    for name in dict.fromkeys(["whole", *names]):
        runs[name] = [run(PARTS[name], dataset, probed, seed) for seed in range(options.seeds)]
        errors = [one["test_error"] for one in runs[name]]
        apart = [one - two["test_error"] for one, two in zip(errors, runs["whole"], strict=True)]
        found[name] = {
            "test_error": interval(errors),
            "more_than_whole": interval(apart),
            "fitness": interval([one["fitness"] for one in runs[name]]),
            "macs": interval([one["macs"] for one in runs[name]]),
        }
        error, more = found[name]["test_error"], found[name]["more_than_whole"]
        print(
            f"{name:32} test error {error['mean']:.4f}, {more['mean']:+.4f} "
            f"({more['low']:+.4f} to {more['high']:+.4f}), {found[name]['macs']['mean']:.0f} MACs",
            flush=True,
        )
    if options.out:
        table = msgspec.to_builtins(TABLE)
        write_record(options.out, {"seeds": options.seeds, "table": table, "parts": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
