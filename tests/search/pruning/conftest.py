"""Random networks in plain arrays, and gradients to train them by."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from evener.search.chaos.activation import ACTIVATIONS, Floats, Name
from evener.search.pruning.layers import Layer, Net, values
from evener.search.pruning.vectors import Gradient

ACTS: tuple[Name, ...] = ("identity", "tanh", "relu", "gelu", "sigmoid")


def random_net(seed: int, density: float) -> Net:
    """Draw layers of one to four neurons, some of which add up others, with some of their links."""
    rng = np.random.default_rng(seed)
    layers = [Layer(np.zeros(int(rng.integers(1, 4))))]
    for _ in range(int(rng.integers(1, 8))):
        activation = ACTS[rng.integers(len(ACTS))]
        alike = [
            [at for at, one in enumerate(layers) if one.width == width] for width in range(1, 5)
        ]
        pairs = [one for one in alike if len(one) > 1]
        if pairs and rng.random() < 0.4:
            pair = pairs[rng.integers(len(pairs))]
            chosen = rng.choice(pair, size=min(len(pair), int(rng.integers(2, 4))), replace=False)
            width = layers[chosen[0]].width
            layers.append(
                Layer(rng.normal(size=width), activation, tuple(int(one) for one in chosen))
            )
            continue
        width = int(rng.integers(1, 5))
        count = min(len(layers), int(rng.integers(1, 4)))
        sources = tuple(int(one) for one in rng.choice(len(layers), size=count, replace=False))
        shapes = [(layers[source].width, width) for source in sources]
        layers.append(
            Layer(
                rng.normal(size=width),
                activation,
                sources,
                tuple(rng.normal(size=shape) for shape in shapes),
                tuple(rng.random(shape) < density for shape in shapes),
            )
        )
    return Net(tuple(layers))


def gradients(net: Net, rows: Floats, wanted: Floats) -> list[Gradient]:
    """Go back through half the mean squared error of all layers."""
    found = values(net, rows)
    slopes: list[Floats] = [np.zeros_like(one) for one in found]
    slopes[-1] = (found[-1] - wanted) / len(rows)
    made: list[Gradient] = []
    for index in reversed(range(len(net.layers))):
        layer = net.layers[index]
        live = layer.live_weights()
        sums = layer.biases + sum(
            found[source] if layer.sums else found[source] @ live[place]
            for place, source in enumerate(layer.sources)
        )
        down = slopes[index] * ACTIVATIONS[layer.activation].slope(
            np.broadcast_to(sums, found[index].shape)
        )
        weights = []
        for place, source in enumerate(layer.sources):
            if layer.sums:
                slopes[source] = slopes[source] + down
            else:
                slopes[source] = slopes[source] + down @ live[place].T
                weights.append(np.where(layer.masks[place], found[source].T @ down, 0.0))
        made.append(Gradient(down.sum(axis=0), tuple(weights)))
    return made[::-1]


def trained(net: Net, rows: Floats, wanted: Floats, steps: int, rate: float) -> Net:
    """Take some steps down the gradient."""
    for _ in range(steps):
        down = gradients(net, rows, wanted)
        net = Net(
            net.layers[:1]
            + tuple(
                replace(
                    layer,
                    biases=layer.biases - rate * each.biases,
                    weights=tuple(
                        one - rate * other
                        for one, other in zip(layer.weights, each.weights, strict=True)
                    ),
                )
                for layer, each in zip(net.layers[1:], down[1:], strict=True)
            )
        )
    return net


@pytest.fixture(scope="session")
def draw() -> Callable[[int, float], Net]:
    return random_net


@pytest.fixture(scope="session")
def gradients_of() -> Callable[[Net, Floats, Floats], list[Gradient]]:
    return gradients


@pytest.fixture(scope="session")
def train() -> Callable[[Net, Floats, Floats, int, float], Net]:
    return trained
