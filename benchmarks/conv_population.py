"""Time the training of small convolutional networks, one at a time and in groups.

Usage: python benchmarks/conv_population.py [--rounds R] [-o FILE]

Plain PyTorch is a module of `nn.Conv2d` and `nn.Linear` in PyTorch's own order of channels, with
autograd and `torch.optim.SGD`, one network after the other. The population's ways are calls of
`train_population` on the same rows: one individual at a time, whose convolutions are plain ones
with channels last, or several side by side, whose convolutions are one of groups. All run on one
thread, in turns in one process; a ratio is of one round, and given as median with quartiles.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import numpy as np
import torch  # noqa: TID251 - what is measured
from record import write_record
from torch import nn  # noqa: TID251 - likewise

from evener.artifacts.conv_stack import Block
from evener.train.draw import row_order
from evener.train.loop import one_thread
from evener.train.population.conv_individual import ConvIndividual
from evener.train.population.course import Course, Rows
from evener.train.population.training import Place, train_population

PICTURE: Final = (1, 28, 28)
OUTPUTS: Final = 10
CASES: Final = [  # channels and strides of 3x3 convolutions, rows of a batch
    (((8, 2), (16, 2)), 64),
    (((16, 2), (32, 2), (32, 1)), 64),
    (((16, 1), (32, 2), (64, 2)), 64),
]
NETWORKS: Final = 4
STEPS: Final = 10  # of each network in a turn
PLAIN: Final = "plain PyTorch"


def main() -> None:
    """Time each case, print and record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    rows = []
    for convolutions, batch in CASES:
        row = measure(Case(convolutions, batch, STEPS), options.rounds)
        for line in lines(row):
            print(line, flush=True)
        rows.append(row)
    if options.out is not None:
        found = {"torch": str(torch.__version__), "rounds": options.rounds, "rows": rows}
        write_record(options.out, found)


class Case:
    """Networks of one shape, and rows for so many steps of each.

    Args:
        convolutions: channels and stride of each.
        batch: rows of a step.
        steps: of a turn.

    Attributes:
        population: the networks.
        alone: each network and its optimiser, as PyTorch has them.
    """

    def __init__(self, convolutions: Sequence[tuple[int, int]], batch: int, steps: int) -> None:
        self.convolutions, self.batch, self.steps = convolutions, batch, steps
        blocks = tuple(
            Block(kind="conv3x3", channels=channels, stride=2 if stride == 2 else 1)
            for channels, stride in convolutions
        )
        self.population = [
            ConvIndividual(
                picture=PICTURE, blocks=blocks, outputs=OUTPUTS, seed=seed, learning_rate=0.01
            )
            for seed in range(NETWORKS)
        ]
        rng = np.random.default_rng(0)
        x = rng.standard_normal((batch * steps, 784)).astype(np.float32)
        labels = torch.from_numpy(rng.integers(OUTPUTS, size=batch * steps))
        self.rows = Rows(torch.from_numpy(x), torch.eye(OUTPUTS)[labels])
        self._labels = labels
        self.alone = [alone(convolutions) for _ in self.population]

    def plain(self) -> None:
        """Take all steps of one network, then of the next."""
        compare = nn.CrossEntropyLoss()
        pictures = self.rows.inputs.view(-1, *PICTURE)
        for individual, (model, optimiser) in zip(self.population, self.alone, strict=True):
            order = torch.from_numpy(row_order(individual.seed, 0, len(pictures)))
            for rows in torch.split(order, self.batch):
                optimiser.zero_grad()
                loss = compare(model(pictures[rows]), self._labels[rows])
                loss.backward()
                optimiser.step()

    def together(self, count: int) -> None:
        """Take all steps of so many networks side by side, then of the next."""
        train_population(
            self.population, self.rows, Course(batch=self.batch), place=Place(chunk=count)
        )


def alone(convolutions: Sequence[tuple[int, int]]) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a network and its optimiser as PyTorch has them."""
    layers: list[nn.Module] = []
    before = PICTURE[0]
    for channels, stride in convolutions:
        layers += [nn.Conv2d(before, channels, 3, stride, 1), nn.ReLU()]
        before = channels
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, OUTPUTS)]
    model = nn.Sequential(*layers)
    return model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def measure(case: Case, rounds: int) -> dict[str, Any]:
    """Time the ways in turns, and return what was found."""
    ways: dict[str, Callable[[], object]] = {
        PLAIN: case.plain,
        "one at a time": lambda: case.together(1),
        f"{NETWORKS} side by side": lambda: case.together(NETWORKS),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    with one_thread():
        for number in range(rounds + 1):
            for name, act in ways.items():
                began = time.perf_counter()
                act()
                if number:  # the first round warms up
                    times[name].append(time.perf_counter() - began)
    examples = len(case.population) * case.steps * case.batch
    return {
        "convolutions": case.convolutions,
        "batch": case.batch,
        "networks": len(case.population),
        "examples_per_s": {name: examples / median(one) for name, one in times.items()},
        "ratios": {
            name: quartiles([a / b for a, b in zip(times[PLAIN], one, strict=True)])
            for name, one in times.items()
            if name != PLAIN
        },
        "seconds": times,
    }


def quartiles(ratios: Sequence[float]) -> tuple[float, float, float]:
    """Return the lower quartile, the median and the upper quartile."""
    low, middle, high = quantiles(ratios, n=4)
    return low, middle, high


def lines(row: dict[str, Any]) -> list[str]:
    """Return what a person reads of a case."""
    shape = " ".join(f"{channels}/{stride}" for channels, stride in row["convolutions"])
    found = [f"3x3 convolutions {shape}, batch {row['batch']}, {row['networks']} networks:"]
    for name, rate in row["examples_per_s"].items():
        ratio = ""
        if name in row["ratios"]:
            low, middle, high = row["ratios"][name]
            ratio = f": {middle:.2f} times ({low:.2f} to {high:.2f})"
        found.append(f"  {name}: {rate:,.0f} pictures/s{ratio}")
    return found


if __name__ == "__main__":
    main()
