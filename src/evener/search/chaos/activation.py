"""Activations and their slopes in NumPy, for the theory of random networks and for pruning."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Name = Literal["identity", "tanh", "relu", "gelu", "sigmoid"]
_ROOT_TWO: Final = np.sqrt(2.0)
_ROOT_TWO_PI: Final = np.sqrt(2.0 * np.pi)


@dataclass(frozen=True, slots=True)
class Activation:
    """An activation, as far as random networks and gradients need it.

    Attributes:
        value: of sums, elementwise.
        slope: its derivative, elementwise.
        far_slope: mean of the squared slope where sums are infinitely large either way.
        homogeneous: whether c times the sums give c times the values, for any c above 0.
    """

    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    far_slope: float
    homogeneous: bool = False


def _sigmoid(sums: Floats) -> Floats:
    half: Floats = 0.5 + 0.5 * np.tanh(0.5 * sums)  # never overflows
    return half


def _sigmoid_slope(sums: Floats) -> Floats:
    value = _sigmoid(sums)
    return value * (1.0 - value)


def _below(sums: Floats) -> Floats:
    """Return the share of a standard normal distribution that lies below each sum."""
    from scipy.special import erf  # only gelu needs it

    share: Floats = 0.5 * (1.0 + erf(sums / _ROOT_TWO))
    return share


def _gelu_slope(sums: Floats) -> Floats:
    density: Floats = np.exp(-0.5 * sums * sums) / _ROOT_TWO_PI
    return _below(sums) + sums * density


ACTIVATIONS: Final[Mapping[Name, Activation]] = MappingProxyType(
    {
        "identity": Activation(lambda sums: sums, np.ones_like, 1.0, homogeneous=True),
        "tanh": Activation(np.tanh, lambda sums: 1.0 - np.tanh(sums) ** 2, 0.0),
        "relu": Activation(
            lambda sums: np.maximum(sums, 0.0),
            lambda sums: (sums > 0).astype(np.float64),
            0.5,
            homogeneous=True,
        ),
        "gelu": Activation(lambda sums: sums * _below(sums), _gelu_slope, 0.5),
        "sigmoid": Activation(_sigmoid, _sigmoid_slope, 0.0),
    }
)
