"""Plans and baselines measured against each other in one interleaved run."""

from typing import ClassVar, Literal

import msgspec


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One plan of one network, over all rounds.

    Attributes:
        network: name of the network.
        name: the plan in short, such as "copies 2 x 1 core".
        kind: what it is.
        rate_hz: median over the rounds, by the wall clock.
        rate_low_hz: lower quartile.
        rate_high_hz: upper quartile.
        latency_p50_s: median over the rounds of the median latency.
        latency_p99_s: median over the rounds of the 99th percentile.
        predicted_rate_hz: what the planner predicted.
    """

    network: str
    name: str
    kind: Literal["plan", "single", "all_cores", "copies", "peer"]
    rate_hz: float
    rate_low_hz: float
    rate_high_hz: float
    latency_p50_s: float
    latency_p99_s: float
    predicted_rate_hz: float | None = None


class Ratio(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rate of the plan over the best other row of the same network, paired by round.

    Attributes:
        network: name of the network.
        over: kind of the best other row.
        median: median of the ratios.
        low: lower quartile.
        high: upper quartile.
    """

    network: str
    over: str
    median: float
    low: float
    high: float


class Comparison(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows and ratios of one interleaved run.

    Attributes:
        rows: every plan of every network.
        ratios: one per network.
        ratio_best: geometric mean of the ratios' medians.
        rounds: how often each plan ran.
        simulated: whether nothing ran and every figure comes from the simulator.
    """

    kind: ClassVar[str] = "comparison"
    schema: ClassVar[int] = 1

    rows: tuple[Row, ...]
    ratios: tuple[Ratio, ...]
    ratio_best: float
    rounds: int
    simulated: bool = False
