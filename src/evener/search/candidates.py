"""Propose architectures from small to large, so that their scores draw a front.

The sizes follow the data: the smallest network can just tell the classes apart, the largest has
four units for every feature. Between them the cost grows by equal factors.
"""

from itertools import product
from math import log
from typing import Final, Literal

import numpy as np

from evener.artifacts.architecture import Architecture

_NARROWEST: Final = (8, 128)  # least and most units of the smallest network
_WIDEST: Final = (64, 1024)  # least and most units of the largest
_NEAR: Final = 4  # how many networks of about the wanted cost are drawn from


def propose(features: int, classes: int, count: int, seed: int) -> tuple[Architecture, ...]:
    """Draw networks of one or two hidden layers, their costs spread evenly on a log scale.

    Args:
        features: inputs of the network.
        classes: its outputs.
        count: how many; fewer come back only where so many different ones do not exist.
        seed: what shape and activation are drawn from.

    Returns:
        Different architectures, cheapest first.

    Example:
        >>> [str(one) for one in propose(features=64, classes=10, count=3, seed=0)]
        ['mlp 16-8 gelu', 'mlp 96-48 relu', 'mlp 192-192 gelu']
    """
    rng = np.random.default_rng(seed)
    pool = _pool(features, classes)
    costs = {one: log(one.macs(features, classes)) for one in pool}
    low, high = min(costs.values()), max(costs.values())
    wanted = np.linspace(low, high, count) if count > 1 else [(low + high) / 2]
    chosen: list[Architecture] = []
    for cost in wanted:
        left = [one for one in pool if one not in chosen]
        if not left:
            break
        near = sorted(left, key=lambda one: (abs(costs[one] - cost), one.id))[:_NEAR]
        chosen.append(near[rng.integers(len(near))])
    return tuple(sorted(chosen, key=lambda one: (costs[one], one.id)))


def _pool(features: int, classes: int) -> list[Architecture]:
    """Return every network that may be proposed."""
    narrowest = _power_of_two(classes, *_NARROWEST)
    widest = max(_power_of_two(4 * features, *_WIDEST), 2 * narrowest)
    widths = []
    width = narrowest
    while width <= widest:
        widths += [width, width * 3 // 2]
        width *= 2
    shapes = [(one,) for one in widths[:-1]]
    pairs = [(one, two) for one in widths[:-1] for two in (one // 2, one)]
    activations: tuple[Literal["relu", "gelu"], ...] = ("relu", "gelu")
    return [
        Architecture(hidden=hidden, activation=activation)
        for hidden, activation in product([*shapes, *pairs], activations)
    ]


def _power_of_two(least: int, low: int, high: int) -> int:
    """Return the first power of two from `least` up, kept within `low` and `high`."""
    return min(max(1 << (least - 1).bit_length(), low), high)
