"""Measure χ₁ and the critical density in real random networks, to hold the theory against.

A row of data and a near one pass through layers whose links are there with probability λ; after
each layer the second is moved back to its first distance, so that χ₁ is measured where the theory
puts it: at small distances. Walking along densities until χ₁ passes 1 is what Langton did with
rule tables, whose λ he raised step by step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, inf, log, sqrt
from typing import Final

import numpy as np

from evener.errors import InfeasibleError, InputError
from evener.search.chaos.activation import ACTIVATIONS, Floats, Name
from evener.search.chaos.langton import Lambda

_NEAR: Final = 0.2  # of ln χ₁, which is about a parabola over the density so near to 0


@dataclass(frozen=True, slots=True)
class Probe:
    """A kind of random network, and how it is measured.

    Attributes:
        activation: of every layer.
        weight_variance: σ_w²; a weight has this variance divided by the width.
        bias_variance: σ_b².
        width: neurons of every layer.
        depth: layers.
        burn_in: layers until the variance has settled, which are not counted.
        rows: how many rows pass, each with a near one.
        variance: of the sums that they start with; best what they settle to.
        distance: of a near row, beside the norm of the row's sums.
    """

    activation: Name
    weight_variance: float
    bias_variance: float
    width: int = 400
    depth: int = 40
    burn_in: int = 10
    rows: int = 8
    variance: float = 1.0
    distance: float = 1e-5

    def __post_init__(self) -> None:
        if not 0 <= self.burn_in < self.depth or min(self.width, self.rows) < 1:
            raise InputError(
                f"a network of {self.depth} layers, {self.width} neurons wide, of which "
                f"{self.burn_in} layers are not counted, has nothing to measure: give more layers"
            )


@dataclass(frozen=True, slots=True)
class Walked:
    """What was measured on the way along the densities.

    Attributes:
        chi: χ₁ of each density, as measured.
        critical: the density at which χ₁ is 1.
    """

    chi: tuple[tuple[float, float], ...]
    critical: float


def measure_chi(probe: Probe, density: float, rng: np.random.Generator) -> tuple[float, Lambda]:
    """Measure χ₁ in one random network.

    Args:
        probe: what the network is like.
        density: the probability of each link.
        rng: what links, weights, biases and rows are drawn from.

    Returns:
        χ₁, and λ as the links came out; χ₁ is 0 where the near rows became equal, and infinite
        where the sums did.

    Example:
        >>> probe = Probe("relu", 2.0, 0.0, width=200)
        >>> chi, links = measure_chi(probe, 1.0, np.random.default_rng(0))
        >>> 0.9 < chi < 1.1, links.value
        (True, 1.0)
    """
    rule = ACTIVATIONS[probe.activation]
    sums = rng.standard_normal((probe.rows, probe.width)) * sqrt(probe.variance)
    moved = sums + _scaled(rng.standard_normal(sums.shape), probe.distance, sums)
    spread = sqrt(probe.weight_variance / probe.width)
    grown = []
    links = 0
    for layer in range(probe.depth):
        linked = rng.random((probe.width, probe.width)) < density
        links += int(np.count_nonzero(linked))
        weights = np.where(linked, rng.standard_normal(linked.shape) * spread, 0.0)
        biases = rng.standard_normal(probe.width) * sqrt(probe.bias_variance)
        before = np.linalg.norm(moved - sums, axis=1)
        sums = rule.value(sums) @ weights + biases
        apart = rule.value(moved) @ weights + biases - sums
        ratios = np.linalg.norm(apart, axis=1) / before
        counted = Lambda(linked.size * (layer + 1), linked.size * (layer + 1) - links)
        if not np.all(np.isfinite(ratios)):
            return inf, counted
        if not np.all(ratios > 0):
            return 0.0, counted
        if layer >= probe.burn_in:
            # The mean over rows first: that of logarithms is low by some 4 / width.
            grown.append(log(float(np.mean(ratios**2))))
        moved = sums + _scaled(apart, probe.distance, sums)
    return exp(sum(grown) / len(grown)), counted


def walk(
    probe: Probe, densities: Sequence[float], networks: int, rng: np.random.Generator
) -> Walked:
    """Measure χ₁ along densities, and find where it passes 1.

    Args:
        probe: what the networks are like.
        densities: rising, at least two.
        networks: how many are measured at each; their χ₁ is averaged geometrically.
        rng: what they are drawn from.

    Raises:
        InputError: the densities do not rise, or are fewer than two.
        InfeasibleError: χ₁ does not pass 1 between the first and the last.
    """
    if len(densities) < 2 or any(one >= next_ for one, next_ in pairwise(densities)):
        raise InputError(f"densities {list(densities)}: give at least two, rising")
    logs = [
        _mean_log([measure_chi(probe, density, rng)[0] for _ in range(networks)])
        for density in densities
    ]
    chi = tuple((density, exp(one)) for density, one in zip(densities, logs, strict=True))
    if logs[0] <= 0 < logs[-1]:
        return Walked(chi, _crossing(densities, logs))
    raise InfeasibleError(
        f"χ₁ goes from {chi[0][1]:.3g} at density {densities[0]:g} to {chi[-1][1]:.3g} at "
        f"{densities[-1]:g} and does not pass 1 on the way. Take a wider range of densities, or "
        f"another weight variance than {probe.weight_variance:g}."
    )


def _crossing(densities: Sequence[float], logs: Sequence[float]) -> float:
    """Interpolate where the logarithm is 0.

    A parabola through all densities that are near averages the noise of each; a line would not do,
    since χ₁ of tanh rises less and less. Where fewer than four are near, it is a line through the
    two that enclose the first crossing.
    """
    near = [at for at, one in enumerate(logs) if abs(one) < _NEAR]
    degree = 2
    if len(near) < 4:
        above = next(at for at, (one, next_) in enumerate(pairwise(logs), 1) if one <= 0 < next_)
        if logs[above - 1] == -inf:
            return densities[above]
        near, degree = [above - 1, above], 1
    # The density over ln χ₁, so that it is read off at 0.
    found = np.polyfit([logs[at] for at in near], [densities[at] for at in near], degree)
    return float(found[-1])


def _mean_log(chi: Sequence[float]) -> float:
    return sum(log(one) if one > 0 else -inf for one in chi) / len(chi)


def _scaled(directions: Floats, distance: float, sums: Floats) -> Floats:
    """Give each direction a length that is a small share of that of its row of sums."""
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    scaled: Floats = directions * (distance * np.linalg.norm(sums, axis=1, keepdims=True) / lengths)
    return scaled
