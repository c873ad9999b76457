"""Fit the cost models of the board files: what a block costs on a processor, by what it computes.

A part's time is taken as a sum of features (`evener.network.features`) with rates that are not
negative. The rates of a processor at a clock are those of the least squared relative error over all
parts that were timed there. How good that is for a network that was not timed is told by leaving
each network out in turn; several sets of features are tried, and the one of least error is kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from board_networks import TIMED
from numpy.typing import NDArray
from scipy.optimize import nnls

from evener.artifacts.board_file import FEATURES
from evener.network.blocks import cut_into_blocks
from evener.network.features import block_features
from evener.network.merge import merge_blocks

Floats = NDArray[np.float64]
Place = tuple[str, str | None]
"""A processor and its clock."""
Times = Mapping[Place, Mapping[str, Sequence[float]]]
"""Milliseconds of each part, by place and network."""

# Features that share a rate, if a set does not tell them apart.
_CONV: Final = ("dense_gmac", "winograd_gmac", "pointwise_gmac")
_MOVED: Final = ("conv_in_mb", "conv_out_mb")
SETS: Final[Mapping[str, Sequence[Sequence[str]]]] = {
    "one rate for all dense convolutions": (_CONV,),
    "1x1 convolutions apart": (_CONV[:2],),
    "what is read and what is written together": (_MOVED,),
    "every feature apart": (),
}


@dataclass(frozen=True)
class Networks:
    """The networks that were timed and that can be built.

    Attributes:
        features: of each part, `[part, feature]`, by network.
        blocks: how many blocks each part takes.
        macs: of each part.
    """

    features: Mapping[str, Floats]
    blocks: Mapping[str, tuple[int, ...]]
    macs: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Fitted:
    """A cost model.

    Attributes:
        name: of the set of features.
        rates: milliseconds per unit of each feature, by place.
        part_error: median and 90th percentile of |predicted / measured - 1| over parts, each
            predicted from the other networks.
        network_error: the same over whole networks.
    """

    name: str
    rates: Mapping[Place, Floats]
    part_error: tuple[float, float]
    network_error: tuple[float, float]


def timed_networks() -> Networks:
    """Build the networks that were timed, and describe their parts."""
    features, macs = {}, {}
    for name, (make, counts) in TIMED.items():
        network = make()
        parts = merge_blocks(cut_into_blocks(network, "paper"), counts)
        features[name] = block_features(network, parts)
        macs[name] = tuple(block.macs for block in parts.blocks)
    return Networks(features, {name: counts for name, (_, counts) in TIMED.items()}, macs)


def fit_sets(times: Times, networks: Networks) -> list[Fitted]:
    """Fit a cost model with each set of features, least error of parts first.

    Args:
        times: what was measured; networks that cannot be built are left out.
        networks: what the parts compute.
    """
    known = {
        place: {name: np.array(of[name]) for name in of if name in networks.features}
        for place, of in times.items()
    }
    # A place where one network alone was timed tells nothing of others.
    known = {place: of for place, of in known.items() if len(of) > 1}
    fitted = [_fit(name, shared, known, networks) for name, shared in SETS.items()]
    return sorted(fitted, key=lambda one: one.part_error)


def _fit(
    name: str,
    shared: Sequence[Sequence[str]],
    times: Mapping[Place, Mapping[str, Floats]],
    networks: Networks,
) -> Fitted:
    groups = groups_of(shared)
    parts: list[float] = []
    wholes: list[float] = []
    for of in times.values():
        for left_out, measured in of.items():
            rates = fit_rates(of, [one for one in of if one != left_out], networks, groups)
            predicted = networks.features[left_out] @ rates
            parts.extend(np.abs(predicted / measured - 1))
            wholes.append(abs(predicted.sum() / measured.sum() - 1))
    return Fitted(
        name,
        {place: fit_rates(of, of, networks, groups) for place, of in times.items()},
        _spread(parts),
        _spread(wholes),
    )


def groups_of(shared: Sequence[Sequence[str]]) -> Floats:
    """Return which feature counts in which rate, `[feature, rate]`, 0 or 1."""
    together = {name for group in shared for name in group}
    groups = [*shared, *([name] for name in FEATURES if name not in together)]
    return np.array([[float(name in group) for group in groups] for name in FEATURES])


def fit_rates(
    times: Mapping[str, Floats], names: Iterable[str], networks: Networks, groups: Floats
) -> Floats:
    """Return the rate of each feature that fits the parts of some networks best."""
    rows = [
        features / time_ms
        for name in names
        for features, time_ms in zip(networks.features[name] @ groups, times[name], strict=True)
    ]
    solved: Floats = groups @ nnls(np.array(rows), np.ones(len(rows)))[0]
    return solved


def _spread(errors: Sequence[float]) -> tuple[float, float]:
    return float(np.median(errors)), float(np.quantile(errors, 0.9))
