"""What is measured of a core and of a link, by a clock that the test holds."""

from collections.abc import Callable, Iterator
from itertools import chain, count, repeat
from time import perf_counter

import pytest

from evener.artifacts.calibration import Link, Rate
from evener.comm.alone import Alone
from evener.comm.virtual import VirtualRank, run_ranks
from evener.errors import InputError
from evener.train.calibrate import LONG_BYTES, calibrate, measure_link


def test_rates_are_sizes_over_seconds() -> None:
    ticks = count()

    found = calibrate(lambda: float(next(ticks)), processor="x", sizes=(8192,), batches=(1, 2))

    assert found.processor == "x"
    assert found.updates == (Rate(8192, 2 * 8192),)
    assert found.reads == (Rate(8192, 8192),)
    assert found.products == (Rate(1, 6 * 1024**2), Rate(2, 12 * 1024**2))
    assert found.dense_layer_s == found.sharded_layer_s == 1 / 8
    assert found.link is None


def test_a_real_clock_finds_rates_too() -> None:
    found = calibrate(perf_counter, processor="x", sizes=(4096,), batches=(1,))

    assert 0 < found.dense_layer_s < 1


def scripted(*deltas_s: Iterator[float]) -> Callable[[], float]:
    """Return a clock on which each measurement takes what the script says."""
    script = chain(*deltas_s)
    now, begun = 0.0, False

    def clock() -> float:
        nonlocal now, begun
        now += next(script) if begun else 0.0
        begun = not begun
        return now

    return clock


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_a_link_is_that_of_the_slowest_pair(ranks: int) -> None:
    def program(rank: VirtualRank) -> Link:
        slow = 1.0 if rank.rank < 2 else 0.5
        clock = scripted(
            repeat(slow, 200), repeat(3 * slow, 200), repeat(slow * (1 + LONG_BYTES), 10)
        )
        return measure_link(rank, clock, name="post")

    found = run_ranks(ranks, program)

    expected = Link(name="post", latency_s=1.0, gap_s=2.0, bandwidth_bytes_per_s=1.0, measured=True)
    assert found == [expected] * ranks


def test_a_clock_too_coarse_for_a_long_message_is_no_division_by_zero() -> None:
    (link, _) = run_ranks(2, lambda rank: measure_link(rank, scripted(repeat(1.0)), name="post"))

    assert link.bandwidth_bytes_per_s == pytest.approx(LONG_BYTES / 1e-9)


def test_one_rank_has_no_link() -> None:
    with pytest.raises(InputError, match="one rank has no link to measure: start two or more"):
        measure_link(Alone(), perf_counter, name="post")
