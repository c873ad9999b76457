"""Search networks by what the planner says of them, beside a search by their size alone.

Usage: EVENER_TEST_DATA=DATA python benchmarks/planner_loop.py [--seeds N] [-o FILE]

Both searches draw from one space, by NSGA-II from one seed, with the validation
error as the first objective; the second is the period of the best plan on the board, estimated by
its cost model before training, or the size of the network's file. A network that both propose is
trained once.

Of each search the network counts that is cheapest by the search's own cost among those whose
validation accuracy is at most 0.2 points below the best that both reached. The two are trained
again from three further seeds, for their test accuracy, and run over the board's simulated
processors. The ratio is of their rates. No answers are computed in these runs, and time goes slower
by a factor, so that this machine need not be idle.

Networks of dense layers and of convolutions are searched, over the digits of scikit-learn and,
where EVENER_TEST_DATA holds `mnist/mnist.npz`, over a part of MNIST at 14 x 14 pixels.
"""

import argparse
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any, Final

import numpy as np
import torch  # noqa: TID251 - rows of a population are tensors
from numpy.typing import NDArray
from record import write_record

from evener import run_on_board
from evener.artifacts.conv_stack import ConvStack
from evener.artifacts.layer_graph import LayerGraph, Recipe
from evener.artifacts.networks import Ends, Network
from evener.artifacts.project import DataSection
from evener.data.load import load_dataset
from evener.network.draft import draft_file, draft_network
from evener.search.conv_space import ConvSpace
from evener.search.evolution import Evolution
from evener.search.layer_space import LayerSpace
from evener.search.nsga2 import Nsga2
from evener.search.space import Space
from evener.train.model import standardisation
from evener.train.population.answers import answer_population
from evener.train.population.course import Course, Rows
from evener.train.population.decoded import conv_individual_of, individual_of
from evener.train.population.training import train_population
from evener.workflow.network_cost import NetworkCost, cost_on_board

BOARD: Final = "khadas-vim3"
WITHIN: Final = 0.002  # of accuracy, that a network may be behind the best
WANTED: Final = 1.15
COSTS: Final = ("period_s", "size_bytes")
CHILDREN: Final = 10
GENERATIONS: Final = 4
RECIPE: Final = Recipe(optimiser="adam", learning_rate=0.003)
AGAIN: Final = 3  # trainings, for the test accuracy
BATCH: Final = 32
MNIST_ROWS: Final = (2000, 2000, 4000)  # for training, choosing and testing
FRAMES: Final = 100
SLOWDOWN: Final = 20.0
Floats = NDArray[np.float32]
Part = tuple[Floats, NDArray[np.int64]]
"""Rows and their classes."""


@dataclass(frozen=True)
class Case:
    """Data, and a space of networks for it.

    Attributes:
        name: of both.
        train: what networks learn.
        validation: what they are chosen by.
        test: what nothing is chosen by.
        ends: what they stand between.
        space: where they are looked for.
        epochs: of each training.
    """

    name: str
    train: Part
    validation: Part
    test: Part
    ends: Ends
    space: Space[Any]
    epochs: int


@dataclass
class Trainer:
    """Trains each network once for a seed, and remembers how good it was."""

    case: Case
    accuracies: dict[tuple[str, int], float] = field(default_factory=dict)

    def __call__(self, networks: Sequence[Network], *, seed: int) -> list[float]:
        """Return the accuracy of each network on the validation rows; nan where it diverged."""
        new = [one for one in networks if (one.id, seed) not in self.accuracies]
        for one, accuracy in zip(new, self.train(new, self.case.validation, seed), strict=True):
            self.accuracies[one.id, seed] = accuracy
        return [self.accuracies[one.id, seed] for one in networks]

    def train(self, networks: Sequence[Network], on: Part, seed: int) -> list[float]:
        """Train networks together and return the accuracy of each on some rows."""
        case, ends = self.case, self.case.ends
        if not networks:
            return []
        individuals = [_individual(one, ends, seed) for one in networks]
        features, labels = case.train
        wanted = np.eye(ends.outputs, dtype=np.float32)[labels]
        rows = Rows(torch.from_numpy(features), torch.from_numpy(wanted))
        course = Course(epochs=case.epochs, batch=BATCH, schedule="one-cycle")
        states = train_population(individuals, rows, course)
        answers = answer_population(
            individuals, [one.weights for one in states], torch.from_numpy(on[0]), "cross-entropy"
        )
        return [
            float((answer.argmax(1).numpy() == on[1]).mean())
            if state.status == "trained"
            else float("nan")
            for answer, state in zip(answers, states, strict=True)
        ]


def main() -> None:
    """Search each case by both costs, print and record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", help="the case of this name")
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    cases = [one for one in find_cases() if options.only in (None, one.name)]
    rows: list[dict[str, Any]] = []
    for case in cases:
        for seed in range(options.seeds):
            rows.append(compare(case, seed))
            print(told(rows[-1]), flush=True)
            if options.out is not None:  # after each pair, for a run that is cut short
                write_record(options.out, found_so_far(rows))
        print(f"{case.name}: {ratio_of(rows, case.name):.2f} times the rate", flush=True)
    print(f"all: {found_so_far(rows)['ratio']:.2f} times the rate, {WANTED} wanted")


def found_so_far(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the record of some pairs of searches."""
    names = dict.fromkeys(row["case"] for row in rows)
    return {
        "board": BOARD,
        "estimate": f"cost model of {BOARD}; rates are of simulated processors",
        "within": WITHIN,
        "wanted": WANTED,
        "ratio": geometric_mean(row["ratio"] for row in rows),
        "ratios": {name: ratio_of(rows, name) for name in names},
        "rows": list(rows),
    }


def compare(case: Case, seed: int) -> dict[str, Any]:
    """Search a case by both costs from one seed, and run what was chosen."""
    trainer = Trainer(case)
    cost = cost_on_board(BOARD, case.ends)
    seen = {name: search(case, trainer, cost, name, seed) for name in COSTS}
    reached = min(max(found.values()) for found in seen.values())
    row: dict[str, Any] = {"case": case.name, "seed": seed, "reached": reached}
    for name, found in seen.items():
        good = [one for one, accuracy in found.items() if accuracy >= reached - WITHIN]
        best = min(good, key=lambda one: (cost([one])[0][name], one.id))
        row[name] = {
            "network": str(best),
            "validation": found[best],
            "test": fmean(
                trainer.train([best], case.test, seed + 1000 + n)[0] for n in range(AGAIN)
            ),
            "trained": len(found),
            **cost([best])[0],
            "rate_hz": simulated_rate_hz(best, case.ends),
        }
    row["ratio"] = row["period_s"]["rate_hz"] / row["size_bytes"]["rate_hz"]
    return row


def search(
    case: Case, trainer: Trainer, cost: NetworkCost, name: str, seed: int
) -> dict[Network, float]:
    """Search by the error and one cost; return the accuracy of all networks that were trained."""
    algorithm = Nsga2(case.space, population=CHILDREN, children=CHILDREN)
    evolution: Evolution[Any] = Evolution(case.space, algorithm, seed=seed, objectives=2)
    found: dict[Network, float] = {}
    for _ in range(GENERATIONS):
        asked = evolution.ask()
        accuracies = trainer(asked, seed=seed)
        told_costs = cost(asked)
        evolution.tell(
            {
                one.id: (1 - accuracy, of[name])
                for one, accuracy, of in zip(asked, accuracies, told_costs, strict=True)
            }
        )
        found |= dict(zip(asked, accuracies, strict=True))
    return {one: accuracy for one, accuracy in found.items() if not np.isnan(accuracy)}


def simulated_rate_hz(network: Network, ends: Ends) -> float:
    """Return the frames per second of a network's best plan, run over simulated processors."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.onnx"
        path.write_bytes(draft_file(draft_network(network, ends)))
        result = run_on_board(
            str(path),
            board=BOARD,
            frames=FRAMES,
            compute=False,
            slowdown=SLOWDOWN,
            shapes={"features": (1, ends.features)},
        )
    return result.trace.rate_hz * SLOWDOWN


def find_cases() -> list[Case]:
    """Return the digits, and MNIST where it is, each with dense layers and with convolutions."""
    cases = []
    for name, parts, picture, epochs in _data():
        (features, _), *_ = parts
        mean, scale = standardisation(features)
        train, validation, test = (
            (((one - mean) * scale).astype(np.float32), labels) for one, labels in parts
        )
        ends = Ends(features=features.shape[1], outputs=10, picture=picture)
        spaces: tuple[tuple[str, Space[Any]], ...] = (
            ("dense", LayerSpace(depth=4, widths=(16, 32, 64, 128))),
            ("convolutions", ConvSpace(stages=2, blocks=3, channels=(4, 8, 16, 32))),
        )
        cases += [
            Case(f"{name}, {kind}", train, validation, test, ends, space, epochs)
            for kind, space in spaces
        ]
    return cases


def _data() -> list[tuple[str, tuple[Part, Part, Part], tuple[int, int, int], int]]:
    digits = load_dataset(DataSection(source="digits"), Path())
    found = [
        (
            "digits",
            (digits.rows("train"), digits.rows("validation"), digits.rows("test")),
            (1, 8, 8),
            10,
        )
    ]
    path = Path(os.environ.get("EVENER_TEST_DATA", ".")) / "mnist/mnist.npz"
    if not path.exists():
        print("no MNIST: EVENER_TEST_DATA names no folder that holds mnist/mnist.npz")
        return found
    with np.load(path) as file:
        pictures = file["x_train"][: sum(MNIST_ROWS)].reshape(-1, 14, 2, 14, 2)
        labels = file["y_train"].astype(np.int64)
    features = pictures.mean(axis=(2, 4), dtype=np.float32).reshape(-1, 196)
    bounds = np.cumsum([0, *MNIST_ROWS])
    parts = [(features[a:b], labels[a:b]) for a, b in pairwise(bounds)]
    return [*found, ("MNIST", (parts[0], parts[1], parts[2]), (1, 14, 14), 5)]


def ratio_of(rows: Sequence[Mapping[str, Any]], case: str) -> float:
    """Return the geometric mean of the ratios of a case."""
    return geometric_mean(row["ratio"] for row in rows if row["case"] == case)


def told(row: Mapping[str, Any]) -> str:
    """Say in lines what a pair of searches came to."""
    lines = [f"{row['case']}, seed {row['seed']}: {row['ratio']:.2f} times the rate"]
    for name in COSTS:
        of = row[name]
        lines.append(
            f"  by {name}: {of['network']}; validation {of['validation']:.4f}, test "
            f"{of['test']:.4f}, {of['size_bytes'] / 1e3:.1f} kB, {of['rate_hz']:.0f} /s simulated, "
            f"{1 / of['period_s']:.0f} /s estimated"
        )
    return "\n".join(lines)


def _individual(network: Network, ends: Ends, seed: int) -> Any:  # noqa: ANN401 - of either kind
    own = int(np.random.SeedSequence([seed, int(network.id, 16)]).generate_state(1)[0])
    if isinstance(network, LayerGraph):
        return individual_of(network, ends.features, ends.outputs, seed=own, recipe=RECIPE)
    if not isinstance(network, ConvStack) or ends.picture is None:
        raise TypeError(f"{network} is not of the spaces that are searched here")
    return conv_individual_of(network, ends.picture, ends.outputs, seed=own, recipe=RECIPE)


if __name__ == "__main__":
    main()
