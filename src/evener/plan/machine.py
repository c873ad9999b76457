"""Make the profile of a network on a machine from the machine's cost model: pure sums."""

from collections.abc import Iterator
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.board_file import FEATURES
from evener.artifacts.machine_costs import CoreRates, MachineCosts
from evener.artifacts.profile import Profile, SegmentTime
from evener.network.blocks import cut_into_blocks
from evener.network.features import block_features
from evener.network.model import Network


def machine_profile(costs: MachineCosts, network: Network) -> Profile:
    """Estimate what a network costs on a machine, for `evener.plan.make_plan`.

    What lanes do to one another is not in it, so that plans come out quicker than they are.

    Args:
        costs: the machine's cost model.
        network: any.

    Raises:
        InvalidNetworkError: the cost of a node depends on the data.
    """
    blocks = cut_into_blocks(network, "paper")
    features = block_features(network, blocks)
    return Profile(
        network=network.name,
        network_sha256=network.sha256,
        granularity="paper",
        blocks=blocks.blocks,
        machine=costs.machine,
        segments=tuple(segment for rates in costs.rates for segment in _segments(rates, features)),
        hand_off=costs.hand_off,
        estimate="cost model of this machine",
        estimate_error=costs.error,
    )


def _segments(rates: CoreRates, features: NDArray[np.float64]) -> Iterator[SegmentTime]:
    per_unit = [rates.seconds.get(feature, 0.0) for feature in FEATURES]
    times_s = (features @ per_unit).tolist()
    for first in range(len(times_s)):
        for last, time_s in enumerate(accumulate(times_s[first:]), start=first):
            yield SegmentTime(
                first_block=first,
                last_block=last,
                processor=rates.processor,
                cores=rates.cores,
                runtime=rates.runtime,
                median_s=rates.fixed_s + time_s,
                low_s=rates.fixed_s + time_s,
                high_s=rates.fixed_s + time_s,
                repeats=0,
                interpolated=True,
            )
