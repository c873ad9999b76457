r"""Say by mean-field theory whether a random network is ordered, critical or chaotic.

In a wide network whose weights have the variance σ_w² / fan-in and of whose links a share λ is
there, the variance of a layer's sums follows q' = λσ_w² E[φ(√q z)²] + σ_b², z standard normal, and
settles at q*. There two rows of data that differ a little come to differ, per layer, by the factor
χ₁ = λσ_w² E[φ'(√q* z)²] in their squared distance: they merge where it is below 1 (ordered), part
where it is above (chaotic). So λ_c = 1 / (σ_w² E[φ'(√q* z)²]). Distances change e-fold in
ξ_c = 1 / |ln χ₁| layers, and networks much deeper than that cannot be trained.

B. Poole et al., Exponential expressivity in deep neural networks through transient chaos (NeurIPS
2016); S. S. Schoenholz et al., Deep information propagation (ICLR 2017). Only the product λσ_w²
matters, which is called the gain here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import exp, inf, log
from types import MappingProxyType
from typing import Final

import numpy as np

from evener.errors import InfeasibleError, InputError
from evener.search.chaos.activation import ACTIVATIONS, Floats, Name

# The bias variance that each activation is critical at unless told otherwise. With little bias the
# variance of gelu's sums settles nowhere near χ₁ = 1: from about 0.17 it does.
BIAS_VARIANCE: Final[Mapping[Name, float]] = MappingProxyType(
    {"tanh": 0.05, "relu": 0.0, "gelu": 0.2, "sigmoid": 0.0}
)
_VARIANCES: Final[Floats] = np.geomspace(1e-9, 1e3, 241)  # where fixed points are looked for
_HALVINGS: Final = 60
_REACH: Final = 9.0  # standard deviations, beyond which lies less than 1e-18
_NODES: Final = 1440  # so near one another that sums of variance 1000 are met every 0.4


@dataclass(frozen=True, slots=True)
class Regime:
    """What a random network of some gain settles to.

    Attributes:
        variance: q*, of the sums of a deep layer; 0 where they die out, infinity where they grow
            without end.
        chi: χ₁, by how much the squared distance of two near rows of data grows per layer.
    """

    variance: float
    chi: float

    @property
    def depth_scale(self) -> float:
        """ξ_c, in how many layers distances change e-fold; infinity at χ₁ = 1, 0 at χ₁ = 0."""
        if self.chi == 0:
            return 0.0
        return inf if self.chi == 1 else 1 / abs(log(self.chi))


def regime(activation: Name, gain: float, bias_variance: float) -> Regime:
    """Find where random layers settle that are given sums of variance 1.

    Args:
        activation: "tanh", "relu", "gelu" or "sigmoid".
        gain: λσ_w², above 0.
        bias_variance: σ_b², at least 0.

    Raises:
        InputError: the gain or the variance is out of range.

    Example:
        >>> found = regime("relu", 1.0, 0.25)
        >>> round(found.variance, 6), found.chi, round(found.depth_scale, 3)
        (0.5, 0.5, 1.443)
    """
    if not 0 < gain < inf or not 0 <= bias_variance < inf:
        raise InputError(
            f"a random network of gain {gain:g} and bias variance {bias_variance:g}: give a gain "
            "above 0 and a variance from 0 up"
        )
    rule = ACTIVATIONS[activation]

    def surplus(variance: Floats) -> Floats:
        return gain * _mean_square(rule.value, variance) + bias_variance - variance

    settled = _settled(activation, gain, surplus)
    if settled == inf or rule.homogeneous:
        return Regime(settled, gain * rule.far_slope)
    return Regime(settled, gain * float(_mean_square(rule.slope, np.array([settled]))[0]))


def gain_for(activation: Name, chi: float, bias_variance: float | None = None) -> float:
    """Find the gain λσ_w² at which a random network has a χ₁.

    Args:
        activation: "tanh", "relu", "gelu" or "sigmoid".
        chi: 1 for critical; below it ordered, above it chaotic.
        bias_variance: σ_b²; None takes `BIAS_VARIANCE`.

    Raises:
        InputError: χ₁ or the variance is out of range.
        InfeasibleError: layers that have this χ₁ settle at no variance.

    Example:
        >>> gain_for("relu", 1.0), round(gain_for("tanh", 1.0, 0.05), 3)
        (2.0, 1.761)
    """
    bias = BIAS_VARIANCE[activation] if bias_variance is None else bias_variance
    if not 0 < chi < inf or not 0 <= bias < inf:
        raise InputError(
            f"χ₁ of {chi:g} with bias variance {bias:g}: give a χ₁ above 0 and a variance from 0 up"
        )
    return _gain_for(activation, chi, bias)


def critical_density(
    activation: Name, weight_variance: float, bias_variance: float | None = None
) -> float:
    """Find λ_c, the density of links at which random networks are critical; above 1 there is none.

    Args:
        activation: "tanh", "relu", "gelu" or "sigmoid".
        weight_variance: σ_w², of a weight times the inputs that a neuron might have.
        bias_variance: σ_b²; None takes `BIAS_VARIANCE`.

    Raises:
        InputError: a variance is out of range.
        InfeasibleError: see `gain_for`.

    Example:
        The paper's two values are points of this law, as any other two are:

        >>> [round(critical_density("tanh", one, 0.05), 3) for one in (2.240, 1.999)]
        [0.786, 0.881]
        >>> [round(critical_density("relu", one), 3) for one in (2.545, 2.270)]
        [0.786, 0.881]
    """
    if not 0 < weight_variance < inf:
        raise InputError(f"a weight variance of {weight_variance:g}: give one above 0")
    return gain_for(activation, 1.0, bias_variance) / weight_variance


def critical_variance(
    activation: Name, density: float, bias_variance: float | None = None
) -> float:
    """Find the σ_w² that makes a network critical whatever its density: critical compensation.

    For relu this is He's 2, divided by the share of links that are there.

    Args:
        activation: "tanh", "relu", "gelu" or "sigmoid".
        density: λ of the network, above 0 and up to 1.
        bias_variance: σ_b²; None takes `BIAS_VARIANCE`.

    Raises:
        InputError: the density or the variance is out of range.
        InfeasibleError: see `gain_for`.

    Example:
        >>> critical_variance("relu", 0.5)
        4.0
    """
    if not 0 < density <= 1:
        raise InputError(
            f"a density of {density:g}: a network without links has no critical weights; give one "
            "above 0 and up to 1"
        )
    return gain_for(activation, 1.0, bias_variance) / density


@cache
def _gain_for(activation: Name, chi: float, bias: float) -> float:
    """Go along all variances at which layers could settle, to the one with this bias."""
    rule = ACTIVATIONS[activation]
    if rule.homogeneous:
        return chi / rule.far_slope

    def gain(variance: Floats) -> Floats:
        return chi / _mean_square(rule.slope, variance)

    def missing(variance: Floats) -> Floats:  # bias variance that the fixed point needs, less ours
        return variance - gain(variance) * _mean_square(rule.value, variance) - bias

    found: list[float] = []
    signs = np.sign(missing(_VARIANCES))
    for at in np.flatnonzero(signs[1:] * signs[:-1] < 0):
        root = _root(
            missing, float(_VARIANCES[at]), float(_VARIANCES[at + 1]), rising=bool(signs[at] < 0)
        )
        found.append(float(gain(np.array([root]))[0]))
    found += [chi / slope for slope in (rule.slope(np.zeros(1))[0] ** 2, rule.far_slope) if slope]
    # A fixed point may repel: then layers end elsewhere, and have another χ₁ there.
    for one in found:
        if abs(regime(activation, one, bias).chi / chi - 1) < 1e-6:
            return one
    raise InfeasibleError(
        f"layers of {activation} with bias variance {bias:g} settle at no variance where χ₁ is "
        f"{chi:g}. Take a larger bias variance, such as "
        f"{max(2 * bias, BIAS_VARIANCE[activation]):g}, or another activation.",
        needed=chi,
    )


def _settled(activation: Name, gain: float, surplus: Callable[[Floats], Floats]) -> float:
    """Follow the variance from 1 to the next fixed point: the map rises, so it cannot jump over."""
    start = surplus(np.ones(1))[0]
    rule = ACTIVATIONS[activation]
    if abs(start) < 1e-12:
        return 1.0
    if start > 0:
        above = np.append(1.0, _VARIANCES[_VARIANCES > 1])
        turned = np.flatnonzero(surplus(above) <= 0)
        if not len(turned):
            if rule.far_slope:
                return inf
            raise InfeasibleError(
                f"a gain of {gain:g} gives sums a variance above {_VARIANCES[-1]:g}, where every "
                f"neuron of {activation} is saturated. Take a smaller weight variance.",
                needed=gain,
            )
        return _root(surplus, float(above[turned[0] - 1]), float(above[turned[0]]), rising=False)
    # Below, where nothing turns it, the variance dies out.
    below = np.append(1.0, _VARIANCES[_VARIANCES < 1][::-1])
    turned = np.flatnonzero(surplus(below) >= 0)
    if not len(turned):
        return 0.0
    return _root(surplus, float(below[turned[0]]), float(below[turned[0] - 1]), rising=False)


def _root(of: Callable[[Floats], Floats], low: float, high: float, *, rising: bool) -> float:
    """Halve, on a logarithmic scale, an interval at whose ends the signs differ.

    Which way is for the caller to say: where an end is a root, its sign is that of rounding, which
    differs between one value and many.
    """
    left, right = log(low), log(high)
    for _ in range(_HALVINGS):
        middle = (left + right) / 2
        if (of(np.array([exp(middle)]))[0] < 0) == rising:
            left = middle
        else:
            right = middle
    return exp((left + right) / 2)


def _mean_square(of: Callable[[Floats], Floats], variance: Floats) -> Floats:
    """Return E[f(√q z)²] for each variance q, by the trapezoidal rule.

    For smooth functions that die out at both ends it converges as quickly as Gauss-Hermite
    quadrature, whose few nodes in the middle miss the slope of tanh where sums vary much: 256 of
    them are 14 % off at q = 50.
    """
    nodes, weights = _quadrature()
    means: Floats = of(np.sqrt(variance)[:, None] * nodes) ** 2 @ weights
    return means


@cache
def _quadrature() -> tuple[Floats, Floats]:
    """Return an even number of nodes, none of them 0, where relu has its kink."""
    step = 2 * _REACH / _NODES
    nodes = np.asarray(step * (np.arange(_NODES) + 0.5) - _REACH, np.float64)
    densities = np.exp(-0.5 * nodes * nodes)
    return nodes, densities / densities.sum()
