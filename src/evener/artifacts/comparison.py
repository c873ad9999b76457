"""Plans, baselines and peers measured against each other in one interleaved run."""

from typing import ClassVar, Literal

import msgspec

from evener.artifacts.lowering import Deviation


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One plan or peer of one network, over all rounds.

    Attributes:
        network: name of the network.
        name: the plan in short, such as "copies 2 x 1 core"; of a peer, its name.
        kind: what it is.
        rate_hz: median over the rounds, by the wall clock.
        rate_low_hz: lower quartile.
        rate_high_hz: upper quartile.
        latency_p50_s: median over the rounds of the median latency.
        latency_p99_s: median over the rounds of the 99th percentile.
        predicted_rate_hz: what the planner predicted.
        energy_j: median over the rounds of the energy per frame, that of the idle machine
            included, of a simulated board as planned; None where nobody knows it.
        deviation: how far off its answers are, of a row in lower precision; None in f32.
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
    energy_j: float | None = None
    deviation: Deviation | None = None


class Ratio(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rate of the plan over another row of the same network, paired by round.

    Attributes:
        network: name of the network.
        over: kind of the other row; of a peer, its name.
        median: median of the ratios.
        low: lower quartile.
        high: upper quartile.
    """

    network: str
    over: str
    median: float
    low: float
    high: float


class Limit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a plan kept the latency that it was to keep.

    Attributes:
        network: name of the network.
        max_latency_s: the limit.
        copies_p99_s: 99th percentile of the copies' latency, measured before planning, where the
            limit is a share of it.
        latency_p99_s: what the plan reached: the median over the rounds.
        over_best: the plan over the quickest other row that kept the limit as well; None where none
            did.
    """

    network: str
    max_latency_s: float
    latency_p99_s: float
    copies_p99_s: float | None = None
    over_best: Ratio | None = None

    @property
    def holds(self) -> bool:
        """Whether it was kept."""
        return self.latency_p99_s <= self.max_latency_s


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What could not take part.

    Attributes:
        network: name of the network.
        name: of the baseline or peer.
        reason: why.
    """

    network: str
    name: str
    reason: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows and ratios of one interleaved run.

    Attributes:
        rows: every plan and peer of every network.
        ratios: over the best other row, one per network.
        ratio_best: geometric mean of the ratios' medians.
        rounds: how often each ran.
        ratios_each: over each other row of each network.
        ratio_means: geometric mean over the networks of the ratios' medians, by what they are over;
            only what every network has.
        limits: how the latency limit was kept, one per network where there is one.
        left_out: what could not take part.
        little: share of the little cores' time that could be used, where some were throttled.
        energy_meter: what metered the energy, where something does.
        simulated: whether nothing ran and every figure comes from the simulator.
        board: the board whose processors were simulated while the real pipeline ran on this
            machine; None if they are this machine's own.
        slowdown: how many times as long those were let take; the figures are as without it.
        computed: whether answers were computed meanwhile; if not, only times were kept to.
    """

    kind: ClassVar[str] = "comparison"
    schema: ClassVar[int] = 1

    rows: tuple[Row, ...]
    ratios: tuple[Ratio, ...]
    ratio_best: float
    rounds: int
    ratios_each: tuple[Ratio, ...] = ()
    ratio_means: dict[str, float] = {}
    limits: tuple[Limit, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    little: float | None = None
    energy_meter: str | None = None
    simulated: bool = False
    board: str | None = None
    slowdown: float = 1.0
    computed: bool = True

    @property
    def holds(self) -> bool:
        """Whether each plan kept its latency limit."""
        return all(limit.holds for limit in self.limits)
