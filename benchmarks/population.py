"""Time the training of 64 networks in one batch beside training them one by one.

Usage: python benchmarks/population.py [--rounds R] [--device cuda] [-o FILE]

Each network has its own weights, learning rate, momentum, weight decay, order of rows, and masks
that cut a fifth of its weights. One by one is plain PyTorch: `nn.Sequential`, autograd and
`torch.optim.SGD` at the same rates, without masks, its networks and optimisers made beforehand,
with one thread and with two; the better counts. Together is one call of `train_population`, laying
out weights and drawing orders included. The ways take turns in one process over the same rows, so
many steps of each network a turn; a ratio is of one round, and given as median with quartiles. A
turn is a pass over all rows: of 40 steps of 32 over as many as digits has, of 400 over a fifth of
MNIST. What a training costs before its first step and after its last counts for less then.

On a GPU there are 256 networks, and figures are steps of a model a second: together as a CUDA
graph, and one by one as launched from Python. The machine should be idle.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import numpy as np
import torch  # noqa: TID251 - what is measured
from record import write_record
from torch import nn  # noqa: TID251 - likewise

from evener.train.draw import row_order
from evener.train.population.course import Course, Rows
from evener.train.population.individual import Individual
from evener.train.population.training import Place, train_population
from evener.train.population.weights import Weights, draw_weights

CASES: Final = [  # widths, rows of a batch, steps of a turn, what the ratio on cores should be
    ((784, 64, 32, 10), 32, 40, 6.0),
    ((784, 64, 32, 10), 32, 400, 6.0),
    ((64, 64, 32, 10), 64, 40, 10.0),
    ((784, 256, 128, 10), 128, 20, 1.3),
]
ON_CPU: Final = 64
ON_GPU: Final = 256
EPOCHS_ON_GPU: Final = 200  # of a turn together, which captures its graph anew
WANTED_ON_GPU: Final = 150_000  # steps of a model a second, for the last case
DENSITY: Final = 0.8
THREADS: Final = 2
Act = Callable[[], object]


def main() -> None:
    """Time each case, print and record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    rows = []
    for widths, batch, steps, wanted in CASES:
        networks = ON_CPU if options.device == "cpu" else ON_GPU
        case = Case(widths, batch, steps, options.device, networks=networks)
        row = measure(case, options.rounds, wanted if options.device == "cpu" else None)
        print(line(row), flush=True)
        rows.append(row)
    if options.device != "cpu":
        print(f"wanted of the last: {WANTED_ON_GPU:,} model-steps/s together")
    if options.out is not None:
        found = {"torch": str(torch.__version__), "rounds": options.rounds, "rows": rows}
        write_record(options.out, found)


class Case:
    """Networks of one shape, and rows for so many steps of each.

    Args:
        widths: of their nodes.
        batch: rows of a step.
        steps: of a turn.
        device: that computes.
        networks: how many.

    Attributes:
        population: the networks.
        rows: what all learn from.
        epochs: of a turn together; one by one it is one.
        alone: each network and its optimiser, as PyTorch has them.
    """

    def __init__(
        self, widths: tuple[int, ...], batch: int, steps: int, device: str, *, networks: int
    ) -> None:
        self.widths, self.batch, self.steps, self.device = widths, batch, steps, device
        self.epochs = 1 if device == "cpu" else EPOCHS_ON_GPU
        self.population = population(widths, networks)
        self.starts = [masked(one) for one in self.population]
        rng = np.random.default_rng(0)
        x = rng.standard_normal((batch * steps, widths[0])).astype(np.float32)
        labels = rng.integers(widths[-1], size=batch * steps)
        self.rows = Rows(torch.from_numpy(x), torch.eye(widths[-1])[torch.from_numpy(labels)])
        self._x, self._labels = self.rows.inputs.to(device), torch.from_numpy(labels).to(device)
        self.alone = [alone(one, start, device) for one, start in self._pairs()]

    def together(self) -> None:
        """Take all steps of all networks in one batch."""
        course = Course(epochs=self.epochs, batch=self.batch)
        place = Place(device=self.device)
        train_population(self.population, self.rows, course, starts=self.starts, place=place)

    def one_by_one(self) -> None:
        """Take all steps of one network, then of the next."""
        compare = nn.CrossEntropyLoss()
        for individual, (model, optimiser) in zip(self.population, self.alone, strict=True):
            order = torch.from_numpy(row_order(individual.seed, 0, len(self._x))).to(self.device)
            for rows in torch.split(order, self.batch):
                optimiser.zero_grad()
                loss = compare(model(self._x[rows]), self._labels[rows])
                loss.backward()
                optimiser.step()

    def _pairs(self) -> Sequence[tuple[Individual, Weights]]:
        return list(zip(self.population, self.starts, strict=True))


def population(widths: tuple[int, ...], count: int) -> list[Individual]:
    """Return networks of one shape, each with its own rates and seed."""
    rng = np.random.default_rng(1)
    return [
        Individual(
            widths=widths,
            seed=seed,
            learning_rate=float(10 ** rng.uniform(-3, -2)),
            momentum=float(rng.uniform(0.5, 0.95)),
            weight_decay=float(10 ** rng.uniform(-5, -3)),
            weight_variance=2 / DENSITY,
        )
        for seed in range(count)
    ]


def masked(individual: Individual) -> Weights:
    """Draw the weights of a network, a fifth of them cut."""
    rng = np.random.default_rng(individual.seed)
    widths = individual.widths
    masks = {
        (start, end): rng.random((widths[start], widths[end])) < DENSITY
        for start, end in individual.edges
    }
    return draw_weights(individual, masks)


def alone(
    individual: Individual, start: Weights, device: str
) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return the same network, without masks, and its optimiser as PyTorch has them."""
    layers: list[nn.Module] = []
    for node, (one, next_) in enumerate(pairwise(individual.widths)):
        layer = nn.Linear(one, next_)
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(start.links[node, node + 1].T))
            layer.bias.copy_(torch.from_numpy(start.biases[node]))
        layers += [layer, nn.ReLU()]
    model = nn.Sequential(*layers[:-1]).to(device)
    optimiser = torch.optim.SGD(
        model.parameters(),
        lr=individual.learning_rate,
        momentum=individual.momentum,
        weight_decay=individual.weight_decay,
    )
    return model, optimiser


def measure(case: Case, rounds: int, wanted: float | None) -> dict[str, Any]:
    """Time the ways in turns, and return what was found."""
    on_gpu = case.device != "cpu"
    ways: dict[str, tuple[int, Act]] = {"together": (THREADS, case.together)}
    for threads in (1,) if on_gpu else (1, THREADS):
        ways[f"one by one, {threads} thread{'s' * (threads > 1)}"] = (threads, case.one_by_one)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, (threads, act) in ways.items():
            taken = timed(act, threads, on_gpu=on_gpu)
            if number:  # the first round warms up
                times[name].append(taken)
    others = [name for name in ways if name != "together"]
    best = min(others, key=lambda name: median(times[name]))
    ratios = [
        one / ours * case.epochs for one, ours in zip(times[best], times["together"], strict=True)
    ]
    steps = len(case.population) * case.steps
    rates = {name: steps / median(one) for name, one in times.items()}
    rates["together"] *= case.epochs
    return {
        "widths": case.widths,
        "batch": case.batch,
        "networks": len(case.population),
        "steps": case.steps,
        "device": case.device,
        "best_alone": best,
        "ratio": median(ratios),
        "ratio_low": quantiles(ratios)[0],
        "ratio_high": quantiles(ratios)[2],
        "wanted": wanted,
        "model_steps_per_s": rates,
        "seconds": times,
    }


def timed(act: Act, threads: int, *, on_gpu: bool) -> float:
    """Return the seconds that an act takes with so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        began = time.perf_counter()
        act()
        if on_gpu:
            torch.cuda.synchronize()
        return time.perf_counter() - began
    finally:
        torch.set_num_threads(before)


def line(row: dict[str, Any]) -> str:
    """Return what a person reads of a case."""
    rates = row["model_steps_per_s"]
    wanted = "" if row["wanted"] is None else f"; wanted {row['wanted']:g}"
    return (
        f"{'-'.join(map(str, row['widths']))}, batch {row['batch']}, {row['networks']} networks on "
        f"{row['device']}, {row['steps']} steps: {rates['together']:,.0f} model-steps/s together, "
        f"{rates[row['best_alone']]:,.0f} {row['best_alone']}: {row['ratio']:.2f} times "
        f"({row['ratio_low']:.2f} to {row['ratio_high']:.2f}{wanted})"
    )


if __name__ == "__main__":
    main()
