"""Draw the link density and the weight variance that a genome starts with, by domain.

`ordered`, `critical` and `chaotic` draw a density and give weights the variance at which mean-field
theory says that χ₁ is 0.5, 1 and 2, whatever the density is. `random` draws both, as who knows no
theory would; it is the paper's baseline.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from evener.errors import InputError
from evener.search.chaos.activation import Name
from evener.search.chaos.langton import of_links
from evener.search.chaos.mean_field import BIAS_VARIANCE, gain_for, regime

Domain = Literal["ordered", "critical", "chaotic", "random"]
DOMAINS: Final[tuple[Domain, ...]] = get_args(Domain)
CHI: Final[Mapping[Domain, float]] = MappingProxyType(
    {"ordered": 0.5, "critical": 1.0, "chaotic": 2.0}
)


@dataclass(frozen=True, slots=True)
class Start:
    """What random weights and links are drawn with.

    Attributes:
        density: λ, the probability of each link.
        weight_variance: σ_w²; a weight has it divided by the inputs that its neuron might have.
        bias_variance: σ_b².
        chi: χ₁ of wide networks that start so.
    """

    density: float
    weight_variance: float
    bias_variance: float
    chi: float


def draw_start(
    domain: Domain,
    activation: Name,
    rng: np.random.Generator,
    *,
    densities: tuple[float, float] = (0.5, 1.0),
) -> Start:
    """Draw where one genome starts.

    Args:
        domain: "ordered", "critical", "chaotic" or "random".
        activation: of its layers.
        rng: what it is drawn from.
        densities: least and most λ, which is drawn evenly between them.

    Raises:
        InputError: the densities are not in order, or not above 0 and up to 1.

    Example:
        >>> start = draw_start("critical", "relu", np.random.default_rng(0))
        >>> round(start.density * start.weight_variance, 6), start.chi
        (2.0, 1.0)
    """
    low, high = densities
    if not 0 < low <= high <= 1:
        raise InputError(
            f"densities from {low:g} to {high:g}: give two above 0 and up to 1, the lower first"
        )
    density = float(rng.uniform(low, high))
    if domain != "random":
        return compensate(domain, activation, density)
    # The range of the other domains: from ordered at every density to chaotic at the least.
    bias = BIAS_VARIANCE[activation]
    ends = np.log(
        [gain_for(activation, CHI["ordered"]), gain_for(activation, CHI["chaotic"]) / low]
    )
    variance = float(np.exp(rng.uniform(*ends)))
    return Start(density, variance, bias, regime(activation, density * variance, bias).chi)


def compensate(domain: Domain, activation: Name, density: float) -> Start:
    """Give weights the variance that puts a network of some density into a domain.

    Args:
        domain: "ordered", "critical" or "chaotic".
        activation: of its layers.
        density: λ of its links, above 0 and up to 1.

    Raises:
        InputError: there is no such density, or the domain has no χ₁.
    """
    if domain not in CHI or not 0 < density <= 1:
        raise InputError(
            f"weights for the domain '{domain}' at density {density:g}: take one of "
            f"{', '.join(CHI)}, and a density above 0 and up to 1"
        )
    gain = gain_for(activation, CHI[domain])
    return Start(density, gain / density, BIAS_VARIANCE[activation], CHI[domain])


def start_of(linked: NDArray[np.bool_], domain: Domain, activation: Name) -> Start:
    """Give the weights of a network whose links are known the variance of a domain.

    Args:
        linked: whether each link that there might be is there; any shape, one of them at least.
        domain: "ordered", "critical" or "chaotic".
        activation: of its layers.

    Raises:
        InputError: it has no link.

    Example:
        >>> start_of(np.array([True, False]), "critical", "relu")
        Start(density=0.5, weight_variance=4.0, bias_variance=0.0, chi=1.0)
    """
    return compensate(domain, activation, of_links(linked).value)
