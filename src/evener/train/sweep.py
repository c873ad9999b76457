"""Train networks that differ in who sees whom, and say how good each is for how many bytes.

Each is trained alike with several seeds; figures are means, with the interval that holds the true
mean with 95 % confidence if the results of seeds are normally distributed. All shards are computed
in one process, which gives the bits that any number of ranks gives with a halo.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev
from typing import Final

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import t

from evener.artifacts.topology import Topology, parse_halo
from evener.comm.alone import Alone
from evener.errors import InputError
from evener.train.loop import one_thread
from evener.train.losses import LossName
from evener.train.ranked import RankedNetwork
from evener.train.recipe import Recipe
from evener.train.shape import Shape
from evener.train.sharding import Placement, count_weights
from evener.train.traffic import VALUE_BYTES, traffic_of
from evener.train.trainer import Trainer

Rows = NDArray[np.float32]
CONFIDENCE: Final = 0.95
SWEPT: Final = ("halo", "shards", "coarse")


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Rows to learn from, and rows to judge by.

    Attributes:
        inputs_BI: to learn from.
        wanted_BO: what a network should answer to them; of classes, 1 for the right one.
        test_inputs_BI: to judge by.
        test_wanted_BO: what it should answer to those.
    """

    inputs_BI: Rows
    wanted_BO: Rows
    test_inputs_BI: Rows
    test_wanted_BO: Rows


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over seeds, and how far the true one may be from it.

    Attributes:
        mean: of the seeds.
        half_width: of the interval; None with one seed.
    """

    mean: float
    half_width: float | None

    def __str__(self) -> str:
        """Write both."""
        return f"{self.mean:.4f}" + (f" ± {self.half_width:.4f}" if self.half_width else "")


@dataclass(frozen=True, slots=True)
class Swept:
    """What one network came to.

    Attributes:
        shape: the network, with its first seed.
        weights: it has, biases left out.
        sent_bytes: what all shards receive for one row, forward and back, a shard a rank.
        train_loss: mean over the rows it learned from, at the end.
        test_loss: the same over the others.
        train_accuracy: share of rows whose largest answer is the wanted one; None if the network
            does not end in a softmax.
        test_accuracy: the same over the others.
        step_s: median time of a step, all shards in this process on one thread.
    """

    shape: Shape
    weights: int
    sent_bytes: int
    train_loss: Interval
    test_loss: Interval
    train_accuracy: Interval | None
    test_accuracy: Interval | None
    step_s: float


def parse_sweep(text: str, topology: Topology) -> list[Topology]:
    """Read which topologies to try: one setting, and its values with commas.

    Args:
        text: such as "halo=0,1,2,full" or "shards=1,4,16".
        topology: what else they have.

    Raises:
        InputError: another setting, no values, or values that are none.

    Example:
        >>> [str(one) for one in parse_sweep("halo=0,full", Topology(shards=4))]
        ['4 shards, halo 0, input replicated', '4 shards, halo full, input replicated']
    """
    name, separator, values = text.partition("=")
    if name not in SWEPT or not separator or not values:
        raise InputError(
            f"'{text}' is nothing to sweep: give {', '.join(SWEPT[:-1])} or {SWEPT[-1]}, and its "
            "values, such as halo=0,1,2,4,full"
        )
    words = [word.strip() for word in values.split(",")]
    repeated = sorted({word for word in words if words.count(word) > 1})
    if repeated:
        raise InputError(f"'{text}' names {repeated[0]} twice: give each value once")
    if name == "halo":
        return [msgspec.structs.replace(topology, halo=parse_halo(word)) for word in words]
    wrong = [word for word in words if not (word.isascii() and word.isdigit())]
    if wrong:
        raise InputError(f"'{wrong[0]}' in '{text}' is no number of {name}: give whole numbers")
    return [msgspec.structs.replace(topology, **{name: int(word)}) for word in words]


def sweep(
    shapes: Sequence[Shape],
    held: Held,
    *,
    recipe: Recipe,
    seeds: int,
    on_network: Callable[[Swept], None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Swept]:
    """Train each network from several seeds.

    Args:
        shapes: the networks.
        held: the rows.
        recipe: how each is trained.
        seeds: how many times each, from the seed of its shape on.
        on_network: told of each when it is done.
        clock: seconds that never go back.

    Raises:
        InputError: no seed.
        DivergedError: a loss stopped being a number.
    """
    if seeds < 1:
        raise InputError(f"{seeds} seeds: give 1 or more, and 3 or more for an interval")
    found = []
    for shape in shapes:
        steps_s: list[float] = []
        results = [
            _train(replace(shape, seed=shape.seed + number), held, recipe, clock, steps_s)
            for number in range(seeds)
        ]
        train_loss, test_loss, train_accuracy, test_accuracy = (
            interval(values) for values in zip(*results, strict=True)
        )
        classifies = shape.activations[-1] == "softmax"
        found.append(
            Swept(
                shape=shape,
                weights=count_weights(shape.topology, shape.widths),
                sent_bytes=sent_bytes(shape),
                train_loss=train_loss,
                test_loss=test_loss,
                train_accuracy=train_accuracy if classifies else None,
                test_accuracy=test_accuracy if classifies else None,
                step_s=median(steps_s),
            )
        )
        if on_network is not None:
            on_network(found[-1])
    return found


def sent_bytes(shape: Shape) -> int:
    """Return what all shards receive for one row, forward and back, each on a rank of its own.

    Example:
        >>> sent_bytes(Shape((4, 8, 4), ("tanh", "softmax"), Topology(shards=2, halo=1)))
        32
    """
    shards = shape.topology.shards
    layers = traffic_of(shape.topology, shape.widths, Placement.even(shards, shards))
    values = [
        int(layer.before_R.sum()) * (shards - 1)
        if layer.everything
        else sum(sum(peers.values()) for peers in layer.received)
        for layer in layers
    ]
    gradients = [  # nobody wants those of the input
        count * layer.gradient_bytes for count, layer in zip(values[1:], layers[1:], strict=True)
    ]
    return VALUE_BYTES * sum(values) + sum(gradients)


def widened(shape: Shape, weights: int) -> Shape:
    """Return the network with its hidden layers so wide that it has about as many weights.

    Args:
        shape: the network; its hidden widths keep their proportions.
        weights: how many, biases left out.

    Raises:
        InputError: a network without hidden layers, which cannot be wider.

    Example:
        >>> thin = Shape((64, 40, 40, 10), ("tanh", "tanh", "softmax"), Topology(shards=4, halo=1))
        >>> widened(thin, 8000).widths
        (64, 88, 88, 10)
    """
    if len(shape.widths) < 3:
        raise InputError("a network without hidden layers cannot be made wider")
    low, high = 1, 2
    while _weights_at(shape, high) < weights:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if _weights_at(shape, middle) < weights:
            low = middle
        else:
            high = middle
    best = min((low, high), key=lambda width: abs(_weights_at(shape, width) - weights))
    return replace(shape, widths=_scaled(shape.widths, best))


def interval(values: Sequence[float]) -> Interval:
    """Return the mean and its interval by Student's t.

    Example:
        >>> interval([1.0, 2.0, 3.0])
        Interval(mean=2.0, half_width=2.484...)
    """
    if len(values) < 2:
        return Interval(fmean(values), None)
    quantile = float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
    return Interval(fmean(values), quantile * stdev(values) / len(values) ** 0.5)


def _weights_at(shape: Shape, width: int) -> int:
    return count_weights(shape.topology, _scaled(shape.widths, width))


def _scaled(widths: tuple[int, ...], width: int) -> tuple[int, ...]:
    """Return widths whose first hidden layer is so wide."""
    hidden = [max(1, round(one * width / widths[1])) for one in widths[1:-1]]
    return (widths[0], *hidden, widths[-1])


def _train(
    shape: Shape, held: Held, recipe: Recipe, clock: Callable[[], float], steps_s: list[float]
) -> tuple[float, float, float, float]:
    """Train one network; return losses and accuracies over the rows it learned from, and others."""
    loss: LossName = "cross-entropy" if shape.activations[-1] == "softmax" else "squared"
    inputs, wanted = torch.from_numpy(held.inputs_BI), torch.from_numpy(held.wanted_BO)
    test_inputs, test_wanted = map(torch.from_numpy, (held.test_inputs_BI, held.test_wanted_BO))
    network = RankedNetwork(shape, Alone(), loss=loss)
    trainer = Trainer(network, recipe, inputs, wanted)
    with one_thread():
        while trainer.step < trainer.steps:
            begun = clock()
            trainer.advance()
            steps_s.append(clock() - begun)
        train_loss, train_accuracy = _judge(network, inputs, wanted)
        test_loss, test_accuracy = _judge(network, test_inputs, test_wanted)
    return train_loss, test_loss, train_accuracy, test_accuracy


def _judge(
    network: RankedNetwork, inputs: torch.Tensor, wanted: torch.Tensor
) -> tuple[float, float]:
    """Return the mean loss, and the share of rows whose largest answer is the wanted one."""
    right = network.forward(inputs).argmax(0) == wanted.argmax(1)
    network.compare(wanted)
    return network.loss(), right.double().mean().item()
