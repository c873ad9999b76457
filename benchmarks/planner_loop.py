"""Search networks by what the planner says of them, beside a search by their size alone.

Usage: EVENER_TEST_DATA=DATA python benchmarks/planner_loop.py [--seeds 3] [--minutes 15] [--fresh]
       [--only "MNIST"] [-o FILE]

Two searches of one space of convolutional networks, by the algorithm that `evener search` takes
("screened"), from one seed and with as many evaluations, have the validation error as the first
objective. The second is known before a training: the period of the best plan on the board,
estimated by its cost model, or the size of the network's file. What is less accurate than a floor
is of no use to either. A network that both propose is trained once.

The networks of a search's front, by its own cost, are trained again from further seeds, and run
over the board's simulated processors. At each accuracy on the validation rows the search offers
what lies between two neighbours of its front (by the means of the new trainings), one a little
worse and one a little better, at the rate between theirs; below the least accurate of the front,
that one. The ratio is that of the rates which both searches offer at equal accuracy: the geometric
mean over accuracies from the best that both reach to two points below. What the same networks come
to on the test rows stands beside it, and the ratio where these are held equal. No answers are
computed in these runs, and time goes slower by a factor, so that this machine need not be idle.

The data are the digits of scikit-learn and, where EVENER_TEST_DATA holds `mnist/mnist.npz`, a part
of MNIST at 14 x 14 pixels. Every piece is kept in `.cache/planner_loop`; none is begun after
`--minutes`, and the same command goes on where it was.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import msgspec
import numpy as np
import torch  # noqa: TID251 - rows of a population are tensors
from numpy.typing import NDArray
from pieces import Pieces
from planner_fronts import BOARD, COSTS, Offer, compare, found_so_far, summary, told
from record import write_record

from evener import run_on_board
from evener.artifacts.conv_stack import ConvStack
from evener.artifacts.files import digest, file_sha256
from evener.artifacts.layer_graph import Recipe
from evener.artifacts.networks import Ends
from evener.artifacts.project import DataSection
from evener.data.load import load_dataset
from evener.network.draft import draft_file, draft_network
from evener.search.algorithms import make_algorithm
from evener.search.conv_space import ConvSpace
from evener.search.evolution import Evolution
from evener.search.fronts import first_front
from evener.search.space import costs_of
from evener.train.model import standardisation
from evener.train.population.answers import answer_population
from evener.train.population.course import Course, Rows
from evener.train.population.decoded import conv_individual_of
from evener.train.population.training import Place, train_population
from evener.workflow.network_cost import NetworkCost, cost_on_board
from evener.workflow.steps import code_version

HERE: Final = Path(__file__).parent
KEPT: Final = HERE.parent / ".cache" / "planner_loop"
CHILDREN: Final = 10  # of a generation
EVALUATIONS: Final = 160  # of a search
FRONT: Final = 6  # most networks of a front that are trained again
AGAIN: Final = 4  # trainings of each
RECIPE: Final = Recipe(optimiser="adam", learning_rate=0.01)
BATCH: Final = 64
MNIST_ROWS: Final = (3000, 2000, 4000)  # for training, choosing and testing
FRAMES: Final = 60
SLOWDOWN: Final = 40.0
Floats = NDArray[np.float32]
Part = tuple[Floats, NDArray[np.int64]]
"""Rows and their classes."""
_PACKAGES: Final = ("artifacts", "network", "plan", "run", "runtime", "search", "train", "workflow")


@dataclass(frozen=True)
class Case:
    """Data, and a space of networks for it.

    Attributes:
        name: of the data.
        train: what networks learn.
        validation: what they are chosen by.
        test: what nothing is chosen by.
        picture: channels, height and width of a row.
        space: where networks are looked for.
        epochs: of each training.
        floor: accuracy below which a network is of no use.
    """

    name: str
    train: Part
    validation: Part
    test: Part
    picture: tuple[int, int, int]
    space: ConvSpace
    epochs: int
    floor: float

    @property
    def ends(self) -> Ends:
        """What networks stand between."""
        return Ends(features=self.train[0].shape[1], outputs=10, picture=self.picture)


class Found(msgspec.Struct, frozen=True):
    """A network that a search trained.

    Attributes:
        network: which.
        accuracy: on the validation rows.
        cost: the search's own.
    """

    network: ConvStack
    accuracy: float
    cost: float


class Searched(msgspec.Struct, frozen=True):
    """What two searches from one seed found, by their cost, and how many networks they trained."""

    found: dict[str, list[Found]]
    trained: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Search each case by both costs, print and record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=15.0, help="begin no piece later")
    parser.add_argument("--fresh", action="store_true", help="do again what is kept")
    parser.add_argument("--only", help="the case of this name")
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS, help="of a search")
    parser.add_argument("--kept", type=Path, default=KEPT, help="folder of pieces that are done")
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args(arguments)
    own = [file_sha256(HERE / name) for name in ("planner_loop.py", "planner_fronts.py")]
    code = digest([code_version(*_PACKAGES), *own])
    until_s = time.monotonic() + 60 * options.minutes
    pieces = Pieces(options.kept, until_s, fresh=options.fresh, code=code)
    cases = [one for one in find_cases() if options.only in (None, one.name)]
    torch.set_num_threads(len(os.sched_getaffinity(0)))  # networks are trained side by side
    rows: list[dict[str, Any]] = []
    for seed in range(options.seeds):
        for case in cases:
            row = pair(pieces, case, seed, options.evaluations)
            if row is not None:
                rows.append(row)
                print(told(row), flush=True)
                if options.out is not None:  # after each pair, for a run that is cut short
                    write_record(options.out, found_so_far(rows))
    for line in (*pieces.missing, *summary(rows)):
        print(line)
    return int(pieces.out_of_time)


def pair(pieces: Pieces, case: Case, seed: int, evaluations: int) -> dict[str, Any] | None:
    """Search a case by both costs from one seed, and compare their fronts; None without time."""
    cost = cost_on_board(BOARD, case.ends)
    name = f"{case.name}, seed {seed}"
    searched = pieces.get(
        f"search {name}",
        Searched,
        partial(search_both, case, cost, seed, evaluations),
        evaluations=evaluations,
    )
    if searched is None:
        return None
    offers = {}
    for by in COSTS:
        front = front_of(searched.found[by])
        kept = pieces.get(
            f"front {name} {by}",
            list[Offer],
            partial(offers_of, case, cost, front, seed),
            evaluations=evaluations,
        )
        if kept is None:
            return None
        offers[by] = kept
    return {
        "case": case.name,
        "seed": seed,
        "evaluations": evaluations,
        "trained": searched.trained,
        **compare(offers),
    }


def search_both(case: Case, cost: NetworkCost, seed: int, evaluations: int) -> Searched:
    """Search by either cost; what both propose is trained once."""
    known: dict[str, float] = {}
    found = {by: search(case, cost, by, seed, evaluations, known) for by in COSTS}
    return Searched(found, len(known))


def search(
    case: Case, cost: NetworkCost, by: str, seed: int, evaluations: int, known: dict[str, float]
) -> list[Found]:
    """Search by the error and one cost; return the networks that are good enough to be of use."""

    def costs(networks: Sequence[ConvStack]) -> list[tuple[float]]:
        return [(one[by],) for one in cost(networks)]

    algorithm = make_algorithm(
        "screened",
        case.space,
        children=CHILDREN,
        objectives=2,
        costs=costs_of(case.space, costs),
        reference=(1 - case.floor, None),
    )
    evolution: Evolution[ConvStack] = Evolution(case.space, algorithm, seed=seed, objectives=2)
    found = []
    while evolution.evaluated < evaluations:
        asked = evolution.ask()[: evaluations - evolution.evaluated]
        if not asked:  # nothing is new any more
            break
        new = [one for one in asked if one.id not in known]
        known |= zip(
            (one.id for one in new), accuracies(case, new, seed, case.validation), strict=True
        )
        for one, (own,) in zip(asked, costs(asked), strict=True):
            accuracy = known[one.id]
            evolution.tell({one.id: None if np.isnan(accuracy) else (1 - accuracy, own)})
            if accuracy >= case.floor:
                found.append(Found(one, accuracy, own))
    return found


def accuracies(case: Case, networks: Sequence[ConvStack], seed: int, *parts: Part) -> list[Any]:
    """Train networks, and return the accuracy of each on some rows; nan where it diverged.

    Returns:
        A number for each network, or a tuple of them where there are several parts.
    """
    if not networks:
        return []
    individuals = [
        conv_individual_of(
            one,
            case.picture,
            case.ends.outputs,
            seed=int(np.random.SeedSequence([seed, int(one.id, 16)]).generate_state(1)[0]),
            recipe=RECIPE,
        )
        for one in networks
    ]
    features, labels = case.train
    wanted = np.eye(case.ends.outputs, dtype=np.float32)[labels]
    rows = Rows(torch.from_numpy(features), torch.from_numpy(wanted))
    course = Course(epochs=case.epochs, batch=BATCH, schedule="one-cycle")
    states = train_population(individuals, rows, course, place=Place(chunk=1))
    trained = np.array([one.status == "trained" for one in states])
    found = []
    for inputs, classes in parts:
        answers = answer_population(
            individuals, [one.weights for one in states], torch.from_numpy(inputs), course.loss
        )
        right = np.array([(one.argmax(1).numpy() == classes).mean() for one in answers])
        found.append(np.where(trained, right, np.nan).tolist())
    return list(found[0]) if len(parts) == 1 else list(zip(*found, strict=True))


def front_of(found: Sequence[Found]) -> list[Found]:
    """Return the networks that none beats in accuracy and cost: the most accurate few of them."""
    objectives = np.array([(1 - one.accuracy, one.cost) for one in found])
    front = [found[index] for index in first_front(objectives)]
    return sorted(front, key=lambda one: (-one.accuracy, one.cost))[:FRONT]


def offers_of(case: Case, cost: NetworkCost, front: Sequence[Found], seed: int) -> list[Offer]:
    """Train networks again from further seeds, and run them over simulated processors."""
    networks = [one.network for one in front]
    again = [
        accuracies(case, networks, 1000 * (seed + 1) + number, case.validation, case.test)
        for number in range(AGAIN)
    ]
    return [
        Offer(
            network=str(one.network),
            validation=fmean(run[index][0] for run in again),
            test=fmean(run[index][1] for run in again),
            cost=one.cost,
            period_s=costs["period_s"],
            size_bytes=costs["size_bytes"],
            rate_hz=simulated_rate_hz(one.network, case.ends),
        )
        for index, (one, costs) in enumerate(zip(front, cost(networks), strict=True))
    ]


def simulated_rate_hz(network: ConvStack, ends: Ends) -> float:
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
    """Return the digits, and MNIST where it is."""
    cases = []
    for name, parts, picture, epochs, floor in _data():
        (features, _), *_ = parts
        mean, scale = standardisation(features)
        train, validation, test = (
            (((one - mean) * scale).astype(np.float32), labels) for one, labels in parts
        )
        space = ConvSpace(stages=3, blocks=2, channels=(4, 8, 16, 32))
        cases.append(Case(name, train, validation, test, picture, space, epochs, floor))
    return cases


def _data() -> list[tuple[str, tuple[Part, Part, Part], tuple[int, int, int], int, float]]:
    digits = load_dataset(DataSection(source="digits"), Path())
    parts = (digits.rows("train"), digits.rows("validation"), digits.rows("test"))
    found = [("digits", parts, (1, 8, 8), 8, 0.9)]
    path = Path(os.environ.get("EVENER_TEST_DATA", ".")) / "mnist/mnist.npz"
    if not path.exists():
        print("no MNIST: EVENER_TEST_DATA names no folder that holds mnist/mnist.npz")
        return found
    with np.load(path) as file:
        pictures = file["x_train"][: sum(MNIST_ROWS)].reshape(-1, 14, 2, 14, 2)
        labels = file["y_train"].astype(np.int64)
    features = pictures.mean(axis=(2, 4), dtype=np.float32).reshape(-1, 196)
    bounds = np.cumsum([0, *MNIST_ROWS])
    mnist = [(features[a:b], labels[a:b]) for a, b in pairwise(bounds)]
    return [*found, ("MNIST", (mnist[0], mnist[1], mnist[2]), (1, 14, 14), 8, 0.9)]


if __name__ == "__main__":
    sys.exit(main())
