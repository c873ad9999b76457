"""What the Pipe-All paper says, and how its figures are computed.

E. Aghapour, G. Ananthanarayanan, A. Pathania: "Integrated ARM big.Little-Mali Pipeline for
High-Throughput CNN Inference", TechRxiv, 2021, doi 10.36227/techrxiv.14994885.v1. Its Table 1 and
its four averages are numbers; Figures 2, 7a and 7b are bars without any.

*Peak* is the whole network on the best one processor, *Parallel* a copy on each of them, *Pipe-All*
a pipeline of three stages on three processors. The latency of Parallel is that of its slowest copy;
that of Pipe-All is the sum of its stages' times, as its programs print it, so that no frame ever
waits between stages.
"""

from collections.abc import Callable, Iterable, Sequence
from statistics import mean
from typing import Final, Literal, NamedTuple

import msgspec

from evener.artifacts.plan import Plan

PEAK: Final = "Peak"
PARALLEL: Final = "Parallel"
PIPE_ALL: Final = "Pipe-All"
BEST: Final = "Evener"  # the best plan of all, of whatever stages and copies

Basis = Literal["predicted", "simulated", "computed"]


class Searched(NamedTuple):
    """A row of Table 1."""

    layers: int
    points: int
    configurations: int
    hours: float


TABLE_1: Final = {
    "alexnet": Searched(11, 7, 126, 2),
    "googlenet": Searched(58, 12, 396, 5),
    "mobilenet": Searched(28, 27, 2106, 11),
    "resnet50": Searched(54, 17, 816, 8),
    "squeezenet": Searched(26, 18, 918, 7),
}
AVERAGES: Final = {
    "rate of Pipe-All over Peak": 0.7588,
    "rate of Pipe-All over Parallel": 0.0542,
    "latency of Pipe-All over Peak": 0.5559,
    "latency of Parallel over Peak": 4.1987,
}
BELOW_HZ: Final = 30.0  # no single processor reached it with any of the networks


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """One way to run a network.

    Attributes:
        name: what the paper calls it; of one processor, the processor's.
        outline: the plan in a few words.
        rate_hz: frames per second; where it ran, by the wall clock at the sink.
        latency_s: as the paper computes it.
        latency_p50_s: median from credit to in-order emission; None where nothing ran.
        latency_p99_s: 99th percentile of the same.
    """

    name: str
    outline: str
    rate_hz: float
    latency_s: float
    latency_p50_s: float | None = None
    latency_p99_s: float | None = None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of one network in one place.

    Attributes:
        network: its name.
        basis: whether figures are predicted, of simulated processors, or of real computing.
        place: name of the board, or what was done to this machine.
        processors: the whole network on each processor: a group of bars of Figure 2.
        ways: Peak, Parallel, Pipe-All and the best plan: those of Figure 7.
        estimate: what the times are where the board was not timed with this very network.
        counts: whether it counts in the averages: not if all times are a cost model's.
        slowdown: how many times as long simulated processors were let take at most.
        max_error: largest difference from the unsplit network; None where nothing was compared.
        load: mean number of processes that wanted to run while it was measured, this one included.
    """

    network: str
    basis: Basis
    place: str
    processors: tuple[Way, ...]
    ways: tuple[Way, ...]
    estimate: str | None = None
    counts: bool = True
    slowdown: float = 1.0
    max_error: float | None = None
    load: float | None = None

    def __getitem__(self, name: str) -> Way:
        return next(way for way in self.ways if way.name == name)


def latency_as_the_paper(plan: Plan, times_s: Callable[[int, int], float]) -> float:
    """Return the sum over the stages of the time of each one's slowest lane.

    Args:
        plan: the plan.
        times_s: time per frame of a lane, by the numbers of its stage and of the lane in it.

    Example:
        >>> from evener.testing.plans import chain
        >>> times_s = {(0, 0): 2.0, (0, 1): 5.0, (1, 0): 1.0}
        >>> latency_as_the_paper(chain((2, [(), ()]), (1, [()])), lambda *at: times_s[at])
        6.0
    """
    return sum(
        max(times_s(number, place) for place in range(len(stage.lanes)))
        for number, stage in enumerate(plan.stages)
    )


def averages(found: Iterable[Found]) -> dict[str, float]:
    """Average the improvements over networks, as the paper does: 0.5 is 50 % more.

    Where networks ran, latencies by the wall clock follow: medians and 99th percentiles.

    Args:
        found: of one place and basis; those that do not count are left out.
    """
    counted = [one for one in found if one.counts]
    if not counted:
        return {}
    made = {
        "rate of Pipe-All over Peak": _more(counted, PIPE_ALL, PEAK, lambda way: way.rate_hz),
        "rate of Pipe-All over Parallel": _more(
            counted, PIPE_ALL, PARALLEL, lambda way: way.rate_hz
        ),
        "latency of Pipe-All over Peak": _more(counted, PIPE_ALL, PEAK, lambda way: way.latency_s),
        "latency of Parallel over Peak": _more(counted, PARALLEL, PEAK, lambda way: way.latency_s),
        "rate of Evener over Peak": _more(counted, BEST, PEAK, lambda way: way.rate_hz),
        "rate of Evener over Parallel": _more(counted, BEST, PARALLEL, lambda way: way.rate_hz),
    }
    if all(way.latency_p99_s is not None for one in counted for way in one.ways):
        for way in (PIPE_ALL, PARALLEL):
            made[f"median latency of {way} over Peak"] = _more(
                counted, way, PEAK, lambda way: way.latency_p50_s or 0.0
            )
            made[f"99th percentile of latency of {way} over Peak"] = _more(
                counted, way, PEAK, lambda way: way.latency_p99_s or 0.0
            )
    return made


def _more(found: Sequence[Found], name: str, over: str, figure: Callable[[Way], float]) -> float:
    return mean(figure(one[name]) / figure(one[over]) - 1 for one in found)
