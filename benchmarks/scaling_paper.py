"""What the Blue Gene paper reports of its three networks, and the record of what stands beside it.

M. Surajiwale, R. Chowdhury, K. Fawcett, A. Giris: A Massively Parallel Artificial Deep Neural
Network Framework for IBM Blue Gene/Q, 2017. One of its ranks only gathers: 33 ranks are 32 workers.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from evener.artifacts.calibration import Link
from evener.train.activations import Activation
from evener.train.carriage import Carriage

MODELS: Final[Mapping[str, tuple[int, ...]]] = {
    "S": (3, 64, 128, 256, 64),
    "M": (2048, 4096, 4096, 4096, 2048),
    "L": (2048, 32768, 8192, 4096, 2048),
}
WEIGHTS: Final = {"S": 57_536, "M": 50_331_648, "L": 377_487_360}
"""Of a dense network, as Table I has them; fewer exist where ranks see only boundaries."""

TIMES_S: Final[Mapping[str, Mapping[int, float]]] = {
    "S": {1: 17.452, 4: 0.4905, 8: 0.0928, 16: 0.0651, 32: 0.0354},
    "M": {32: 67.499, 64: 22.276, 128: 7.167, 256: 2.52, 512: 0.802, 1024: 0.255},
    "L": {32: 2107.96, 64: 593.228, 128: 172.071, 256: 55.43, 512: 16.97, 1024: 6.44},
}
"""Tables II and III: an iteration, by workers."""

COMMUNICATION: Final[Mapping[int, tuple[float, float, float]]] = {
    32: (21.415, 7.930, 1.015),
    64: (6.305, 1.398, 1.062),
    128: (2.371, 0.634, 1.378),
    256: (1.047, 0.238, 1.890),
    512: (0.482, 0.100, 2.844),
    1024: (0.468, 0.090, 7.272),
}
"""Table IV, of L: longest and mean communication in seconds, and the longest as per cent."""

BEYOND: Final = (2048, 4096)  # workers that the paper did not have
LINKS: Final = (  # assumed, not measured: a present-day cluster, and the network of any office
    Link(name="200 Gb/s fabric", latency_s=2e-6, gap_s=5e-7, bandwidth_bytes_per_s=23e9),
    Link(name="10 Gb/s Ethernet", latency_s=3e-5, gap_s=5e-6, bandwidth_bytes_per_s=1.1e9),
)


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One network on some ranks, and how long an iteration takes.

    Attributes:
        model: S, M or L.
        halo: of the network.
        carriage: what travels between the ranks of a dense one.
        shards: of the network.
        ranks: that compute it.
        basis: whether it ran, or is a prediction.
        link: what connects the ranks; "" for one rank.
        weights: that exist and are trained.
        iteration_s: median, of what ran.
        low_s: lower quartile; the median where nothing ran.
        high_s: upper quartile.
        communication_max_s: in exchanges, on the rank that spends most there.
        communication_mean_s: mean over the ranks.
        bytes_per_iteration: what all ranks together send.
        predicted_s: the cost model's word for what ran.
    """

    model: str
    halo: int | str
    carriage: Carriage = "cheapest"
    shards: int
    ranks: int
    basis: Literal["measured", "projected"]
    link: str
    weights: int
    iteration_s: float
    low_s: float
    high_s: float
    communication_max_s: float = 0.0
    communication_mean_s: float = 0.0
    bytes_per_iteration: int | None = None
    predicted_s: float | None = None

    @property
    def share(self) -> float:
        """Longest communication over the iteration."""
        return self.communication_max_s / self.iteration_s


def workers(model: str) -> Sequence[int]:
    """Return the numbers of workers to look at: the paper's, then more of L and M."""
    return [*TIMES_S[model], *(BEYOND if model != "S" else ())]


def sigmoids(widths: Sequence[int]) -> tuple[Activation, ...]:
    """Return the activations of the paper's networks."""
    each: list[Activation] = ["sigmoid"] * (len(widths) - 1)
    return tuple(each)
