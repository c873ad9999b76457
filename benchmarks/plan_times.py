"""Time the planner on random problems, and hold it against trying every plan.

Usage: python benchmarks/plan_times.py [--seeds 5] [--instances 1000] [-o FILE]

A problem is a profile of random times: each block takes 1 to 10 ms on one core of each processor,
drawn for every pair anew, k cores take it to the power of 0.8 quicker, and a segment takes the sum
of its blocks. Where processors have clocks, from 30 to 100 % of the highest, a lower one makes a
block longer to a power of 0.8 to 1, and what it draws less to the power of 2.2, plus 0.2 W. Times
are of one thread, by the clock of the wall; each is of one call, because a plan is made once.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import isclose
from pathlib import Path
from statistics import median
from typing import Final

# Before numpy: its threads would be what is timed.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402 -- as above
from numpy.typing import NDArray  # noqa: E402
from record import write_record  # noqa: E402

from evener.artifacts.processors import Machine, Processor  # noqa: E402
from evener.artifacts.profile import (  # noqa: E402
    Block,
    HandOff,
    Profile,
    SegmentTime,
    Transfer,
)
from evener.plan import candidates, exhaustive, find_bound, make_plan, pareto  # noqa: E402
from evener.plan.problem import make_problem  # noqa: E402
from evener.plan.steps import Chain  # noqa: E402

SPEED_UP: Final = 0.8  # k cores are k**0.8 times as quick as one
BLOCK_MS: Final = (1.0, 10.0)
TRANSFER_MS: Final = (0.1, 5.0)
CANDIDATES: Final = 8
ROUNDING: Final = 1e-9


@dataclass(frozen=True)
class Case:
    """A kind of problem to time.

    Attributes:
        blocks: of the network.
        cores: of each processor.
        transfers: whether moving a frame between two processors costs the sender.
        levels: how many clocks each processor has; energies are known then. None if they are not.
    """

    blocks: int
    cores: tuple[int, ...]
    transfers: bool = False
    levels: tuple[int, ...] | None = None

    def __str__(self) -> str:
        moved = ", transfers charged" if self.transfers else ""
        clocks = f" at {'+'.join(map(str, self.levels))} clocks" if self.levels else ""
        cores = "+".join(map(str, self.cores))
        return f"{self.blocks} blocks, processors of {cores} cores{clocks}{moved}"


CASES: Final = (
    Case(100, (1,) * 4),
    Case(100, (1,) * 4, transfers=True),
    Case(100, (1,) * 8),
    Case(60, (4, 4)),
)
ONE_CLOCK: Final = (1, 1, 1, 1)
LEVELS: Final = (8, 5, 6, 1)  # those of an RK3399Pro: big cores, GPU, LITTLE cores, NPU
FRONTS: Final = tuple(
    Case(blocks, (1,) * 4, transfers, levels)
    for blocks in (18, 50, 100)
    for levels in (ONE_CLOCK, LEVELS)
    for transfers in (False, True)
)
IDLE_W: Final = 3.0
POWER_W: Final = (0.5, 4.0)  # beyond that, at the highest clock
LEAKAGE_W: Final = 0.2
LOWEST_CLOCK: Final = 0.3  # of the highest
HIGHEST_HZ: Final = 2e9


def main() -> int:
    """Time every case and compare the two methods."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--instances", type=int, default=1000)
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    find_bound(make_problem(random_profile(Case(2, (1, 1)), seed=0)))  # imports the solver
    cases = [timed(case, range(options.seeds)) for case in CASES]
    fronts = [timed_front(case, range(options.seeds)) for case in FRONTS]
    twins = compare(options.instances)
    twin_fronts = compare_fronts(options.instances)
    if options.out:
        record = {
            "cases": cases,
            "fronts": fronts,
            "dp_and_exhaustive": twins,
            "fronts_of_dp_and_exhaustive": twin_fronts,
        }
        write_record(options.out, record)
    return int(twins["different"] > 0 or twin_fronts["different"] > 0)


def random_profile(case: Case, *, seed: int) -> Profile:
    """Draw a profile.

    Args:
        case: its size.
        seed: what the times are drawn from.
    """
    rng = np.random.default_rng(seed)
    processors = tuple(
        Processor(
            name=f"p{number}",
            kind="cpu",
            cores=tuple(range(sum(case.cores[:number]), sum(case.cores[: number + 1]))),
            core_sets=tuple(range(1, cores + 1)),
            runtimes=("drawn",),
            clocks_hz=_clocks_hz(case.levels[number]) if case.levels else (),
        )
        for number, cores in enumerate(case.cores)
    )
    segments: list[SegmentTime] = []
    for processor in processors:
        one_core_s = rng.uniform(*BLOCK_MS, case.blocks) / 1e3
        sensitivity = rng.uniform(0.8, 1.0, case.blocks)
        power_w = rng.uniform(*POWER_W) * rng.uniform(0.8, 1.2, case.blocks)
        for cores in processor.core_sets:
            for clock_hz in processor.clocks_hz or (None,):
                clock = 1.0 if clock_hz is None else clock_hz / HIGHEST_HZ
                times_s = one_core_s / cores**SPEED_UP / clock**sensitivity
                energies_j = times_s * (cores * power_w * clock**2.2 + LEAKAGE_W)
                segments += _segments(processor.name, cores, clock_hz, times_s, energies_j)
    names = [processor.name for processor in processors] if case.transfers else []
    transfers = tuple(
        Transfer(sender=sender, receiver=taker, fixed_s=float(rng.uniform(*TRANSFER_MS)) / 1e3)
        for sender in names
        for taker in names
        if sender != taker
    )
    return Profile(
        network="random",
        network_sha256=str(seed),
        granularity="table",
        blocks=tuple(_block(index) for index in range(case.blocks)),
        machine=Machine(
            host="random",
            system="",
            processors=processors,
            runtimes={},
            idle_w=IDLE_W if case.levels else None,
        ),
        segments=tuple(segments),
        hand_off=HandOff(fixed_s=0.0, transfers=transfers),
    )


def _clocks_hz(levels: int) -> tuple[float, ...]:
    return tuple((np.linspace(LOWEST_CLOCK, 1.0, levels) * HIGHEST_HZ).tolist()[-levels:])


def _segments(
    processor: str,
    cores: int,
    clock_hz: float | None,
    times_s: NDArray[np.float64],
    energies_j: NDArray[np.float64],
) -> Iterator[SegmentTime]:
    for first in range(len(times_s)):
        sums = zip(accumulate(times_s[first:].tolist()), accumulate(energies_j[first:].tolist()))  # noqa: B905 -- of one length
        for last, (time_s, energy_j) in enumerate(sums, start=first):
            yield SegmentTime(
                first_block=first,
                last_block=last,
                processor=processor,
                cores=cores,
                runtime="drawn",
                clock_hz=clock_hz,
                median_s=time_s,
                low_s=time_s,
                high_s=time_s,
                repeats=1,
                energy_j=None if clock_hz is None else energy_j,
            )


def _block(index: int) -> Block:
    return Block(name=str(index), operators={}, macs=0, weights_bytes=0, inputs=(), outputs=())


def timed(case: Case, seeds: Sequence[int]) -> dict[str, object]:
    """Time what a user waits for, once for each seed, and print it."""
    profiles = [random_profile(case, seed=seed) for seed in seeds]
    problems = [make_problem(profile) for profile in profiles]
    calls: Mapping[str, Callable[[int], object]] = {
        "make_plan": lambda seed: make_plan(profiles[seed]),
        "of which find_bound": lambda seed: find_bound(problems[seed]),
        f"candidates, best {CANDIDATES}": lambda seed: candidates(profiles[seed], best=CANDIDATES),
    }
    print(case)
    found: dict[str, object] = {"case": str(case)}
    for name, call in calls.items():
        times_s = sorted(seconds(call, seed) for seed in range(len(profiles)))
        found[name] = {
            "median_s": median(times_s),
            "least_s": times_s[0],
            "most_s": times_s[-1],
            "seeds": len(times_s),
        }
        print(f"  {name}: {median(times_s):.3f} s ({times_s[0]:.3f} - {times_s[-1]:.3f})")
    return found


def timed_front(case: Case, seeds: Sequence[int]) -> dict[str, object]:
    """Time the whole front of rate, latency and energy, once for each seed, and print it."""
    problems = [make_problem(random_profile(case, seed=seed)) for seed in seeds]
    points: list[int] = []

    def call(seed: int) -> None:
        points.append(len(pareto.front(problems[seed])))

    times_s = sorted(seconds(call, seed) for seed in range(len(problems)))
    print(
        f"{case}: front of {min(points)} to {max(points)} plans in {median(times_s):.3f} s "
        f"({times_s[0]:.3f} - {times_s[-1]:.3f})"
    )
    return {
        "case": str(case),
        "plans": sorted(points),
        "median_s": median(times_s),
        "least_s": times_s[0],
        "most_s": times_s[-1],
        "seeds": len(times_s),
    }


def seconds(call: Callable[[int], object], seed: int) -> float:
    """Return how long a call takes."""
    started = time.perf_counter()
    call(seed)
    return time.perf_counter() - started


def compare(instances: int) -> dict[str, float]:
    """Plan small random problems by both methods, for rate and for latency, and print the count."""
    worst = different = 0.0
    sizes = ((1,) * 3, (2, 1), (2, 1, 1), (1,) * 4)
    for seed in range(instances):
        case = Case(2 + seed % 4, sizes[seed // 4 % len(sizes)], transfers=seed % 2 == 1)
        profile = random_profile(case, seed=seed)
        for objective in ("throughput", "latency"):
            dp = make_plan(profile, objective=objective)
            every = make_plan(profile, objective=objective, method="exhaustive")
            gaps = [
                abs(dp.rate_hz / every.rate_hz - 1),
                abs(dp.latency_s / every.latency_s - 1),
            ]
            worst = max(worst, *gaps)
            different += not all(isclose(gap, 0.0, abs_tol=ROUNDING) for gap in gaps)
    print(
        f"dynamic programming against every plan: {instances} problems of 2 to 5 blocks on 2 to 4 "
        f"processors, half with transfers, each for rate and for latency: {different:.0f} differ, "
        f"worst relative difference of rate or latency {worst:.1e}"
    )
    return {"instances": instances, "different": different, "worst_relative_difference": worst}


def compare_fronts(instances: int) -> dict[str, int]:
    """Find the front of small random problems by both methods, and print how many differ."""
    sizes = (((1, 1, 1), (2, 2, 1)), ((2, 1), (2, 3)), ((1, 1), (4, 3)), ((2, 1, 1), (1, 2, 1)))
    different = points = 0
    for seed in range(instances):
        cores, levels = sizes[seed // 3 % len(sizes)]
        case = Case(2 + seed % 3, cores, transfers=seed % 2 == 1, levels=levels)
        problem = make_problem(random_profile(case, seed=seed))
        found = [_figures(chain) for chain in pareto.front(problem)]
        every = [_figures(chain) for chain in exhaustive.pareto_front(problem)]
        points += len(every)
        different += not (
            len(found) == len(every) and np.allclose(found, every, rtol=ROUNDING, atol=0)
        )
    print(
        f"fronts of rate, latency and energy by both methods: {instances} problems of 2 to 4 "
        f"blocks on 2 or 3 processors of 1 to 4 clocks, half with transfers, {points} plans: "
        f"{different} differ"
    )
    return {"instances": instances, "plans": points, "different": different}


def _figures(chain: Chain) -> tuple[float, float, float]:
    return chain.period_s, chain.latency_s, chain.energy_j


if __name__ == "__main__":
    sys.exit(main())
