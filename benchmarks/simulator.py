"""Hold the simulator of a plan's pipeline against the real pipeline over simulated processors.

Usage: python benchmarks/simulator.py [--frames 60] [--rounds 5] [--board khadas-vim3]
       [--networks alexnet,...] [--only waiting|computing] [-o FILE]

Both get the same plan, the same times for each lane's first, second, ... frame, and as many frames.
What differs is that the pipeline is real: threads, locks, hand-offs, wake-ups and, in the second
part, the computing of every answer. A ratio is what was measured over what was simulated, of one
round; all cases of a network take turns in an order drawn anew each round, after one to warm up.

Each case is also held against the planner's prediction: the rate, and the 99th percentile of the
latency over that of as many periods as the pipe has stages and as it has credits.

In the part "waiting" nothing is computed, so that only the pipeline itself can cost time. In the
part "computing" every answer is, slowed down by `SLOWDOWN`, for the stages of a board are computed
side by side on the cores of this machine; computations longer than their time are counted.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from onnx import helper
from record import write_record

from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.artifacts.tensor import Tensor
from evener.network.frames import random_frames
from evener.network.split import segment_model
from evener.plan import make_baseline, make_plan, simulate
from evener.plan.service import lognormal
from evener.run.pipeline import Pipeline
from evener.runtime import get_runtime
from evener.testing import tiny
from evener.workflow.board import OnBoard, open_on_board
from evener.workflow.stand_in import StandIns, slowed, stand_in

JITTERS: Final = (0.05, 0.2)  # standard deviation of the logarithm of a time
CREDITS: Final = (-1, 1, 3)  # more than the plan's own
SLOWDOWN: Final = 4.0
GOAL: Final = 0.03
FIGURES: Final = ("rate_hz", "latency_p50_s", "latency_p99_s")
PREDICTED: Final = ("rate_hz", "latency_p99_s by stages", "latency_p99_s by credits")
Segments = Callable[[int, int], bytes]


class Restartable:
    """An endless iterator of times that can begin anew with others."""

    def __init__(self) -> None:
        self.times_s: Iterator[float] = iter(())

    def __iter__(self) -> Iterator[float]:
        return self

    def __next__(self) -> float:
        return next(self.times_s)


@dataclass
class Case:
    """A plan with some credits and some jitter, and what its rounds came to.

    Attributes:
        network: name of the network.
        name: what kind of plan it is.
        plan: the plan, slowed down if answers are computed.
        segments: the models of its segments.
        inputs: what a frame holds.
        computed: whether answers are computed.
        jitter: of every lane, as in `JITTERS`.
        clocks: the times of every lane, to begin anew each round.
        ratios: by figure, measured over simulated of each round.
        kept: by figure, measured over what the planner says of each round.
        overruns: computations that took longer than their time, over all rounds.
    """

    network: str
    name: str
    plan: Plan
    segments: Segments
    inputs: Sequence[Tensor]
    computed: bool
    jitter: float = 0.0
    clocks: list[list[Restartable]] = field(init=False)
    ratios: dict[str, list[float]] = field(default_factory=lambda: {one: [] for one in FIGURES})
    kept: dict[str, list[float]] = field(default_factory=lambda: {one: [] for one in PREDICTED})
    overruns: int = 0

    def __post_init__(self) -> None:
        """Make an iterator of times for each lane."""
        self.clocks = [[Restartable() for _ in stage.lanes] for stage in self.plan.stages]

    def play(self, pipeline: Pipeline, stand_ins: StandIns, frames: int, *, seed: int) -> None:
        """Simulate and run a round with the same times, and take note of the ratios."""
        spreads = [[self.jitter] * len(stage.lanes) for stage in self.plan.stages]
        drawn, same = (lognormal(self.plan, spreads, np.random.default_rng(seed)) for _ in range(2))
        for stage, of in zip(self.clocks, same, strict=True):
            for lane, times_s in zip(stage, of, strict=True):
                lane.times_s = times_s
        found = simulate(self.plan, frames=frames, service=drawn)
        stand_ins.begin()
        pool = random_frames(self.inputs, 4, seed=0)
        trace = pipeline.run(islice(cycle(pool), frames), lambda *_: None)
        for name in FIGURES:
            self.ratios[name].append(getattr(trace, name) / getattr(found, name))
        periods = trace.latency_p99_s * self.plan.rate_hz
        held = (trace.rate_hz / self.plan.rate_hz, periods / len(self.plan.stages))
        for name, ratio in zip(PREDICTED, (*held, periods / self.plan.credits), strict=True):
            self.kept[name].append(ratio)
        self.overruns += stand_ins.overruns

    def forget(self) -> None:
        """Leave out the rounds so far: they were to warm up."""
        self.overruns = 0
        for ratios in (*self.ratios.values(), *self.kept.values()):
            ratios.clear()

    def row(self) -> dict[str, object]:
        """Return what a record shows of it: medians over the rounds with their quartiles."""
        return {
            "network": self.network,
            "plan": self.name,
            "lanes_s": [
                {lane.processor: lane.time_s for lane in stage.lanes} for stage in self.plan.stages
            ],
            "credits": self.plan.credits,
            "jitter": self.jitter,
            "computed": self.computed,
            "overruns": self.overruns,
            "measured_over_simulated": spread(self.ratios),
            "measured_over_predicted": spread(self.kept),
        }

    def __str__(self) -> str:
        found = (quartiles(ratios) for ratios in self.ratios.values())
        ratios = "  ".join(f"{median:.4f} ({low:.4f}-{high:.4f})" for low, median, high in found)
        what = "computing" if self.computed else "waiting"
        return (
            f"{self.network:10} {self.name:14} {what:9} credits {self.plan.credits} jitter "
            f"{self.jitter:4.2f}  {ratios}  {self.overruns} overruns; over the prediction: rate "
            f"{quartiles(self.kept[PREDICTED[0]])[1]:.4f}, p99 by stages "
            f"{quartiles(self.kept[PREDICTED[1]])[1]:.3f}, by credits "
            f"{quartiles(self.kept[PREDICTED[2]])[1]:.3f}"
        )


def main() -> int:
    """Run every case and say how far the simulator is off."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--board", default="khadas-vim3")
    parser.add_argument("--networks", default="alexnet,googlenet,mobilenet,resnet50")
    parser.add_argument("--only", choices=["waiting", "computing"])
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    done: list[Case] = []
    print("measured over simulated: rate, latency p50, latency p99; median (quartiles) of rounds")
    for name in options.networks.split(","):
        found = open_on_board(name, options.board)
        groups = []
        if options.only != "computing":
            groups.append(waiting(name, found.profile))
        if options.only != "waiting":
            groups.append(computing(name, found))
        for cases in groups:
            measure(cases, options.frames, options.rounds)
            for case in cases:
                print(case, flush=True)
            done += cases
    summary = summarise(done)
    print(msgspec.json.format(msgspec.json.encode(summary), indent=1).decode())
    if options.out:
        record = {
            "frames": options.frames,
            "rounds": options.rounds,
            "board": options.board,
            "cores": os.cpu_count(),
            "load_over_15_minutes": os.getloadavg()[2],
            "summary": summary,
            "cases": [case.row() for case in done],
        }
        write_record(options.out, record)
    return int(any(off > GOAL for part in summary.values() for off in part.values()))


def plans_of(profile: Profile) -> dict[str, Plan]:
    """Return plans of every kind: of three stages, of two, of unequal lanes, of the best rate."""
    return {
        "paper": make_plan(profile, space="paper"),
        "best": make_plan(profile),
        "two stages": make_plan(profile, stages=2),
        "copies": make_baseline(profile, "copies"),
    }


def waiting(network: str, profile: Profile) -> list[Case]:
    """Make the cases in which nothing is computed, with a small network in the real one's place."""
    plans = {name: named(plan) for name, plan in plans_of(profile).items()}

    def case(name: str, plan: Plan, jitter: float = 0.0) -> Case:
        segments = partial(relu, plan)
        inputs = [Tensor(name="t0", shape=(1, 4), dtype="float32")]
        return Case(network, name, plan, segments, inputs, computed=False, jitter=jitter)

    cases = [case(name, plan) for name, plan in plans.items()]
    three = plans["paper"]
    cases += [
        case("paper", msgspec.structs.replace(three, credits=three.credits + more))
        for more in CREDITS
    ]
    for jitter in JITTERS:
        cases += [case(name, plans[name], jitter) for name in ("paper", "best")]
    return cases


def computing(network: str, found: OnBoard) -> list[Case]:
    """Make the cases in which every answer is computed; none of a network that is not here."""
    if found.network is None or found.blocks is None:
        print(f"{network}: the board has its times, but there is no network to compute")
        return []
    segments = partial(segment_model, found.network, found.blocks)
    return [
        Case(
            *(network, name, slowed(plan, SLOWDOWN), segments, found.network.inputs),
            computed=True,
            jitter=jitter,
        )
        for name, plan in plans_of(found.profile).items()
        for jitter in (0.0, *JITTERS[-1:])
        if name in ("paper", "best")
    ]


def named(plan: Plan) -> Plan:
    """Call the tensors between stages t0, t1, ...: those of a board's table have no names."""
    stages = tuple(
        msgspec.structs.replace(stage, inputs=(f"t{index}",), outputs=(f"t{index + 1}",))
        for index, stage in enumerate(plan.stages)
    )
    return msgspec.structs.replace(plan, stages=stages)


def relu(plan: Plan, first: int, _last: int) -> bytes:
    """Make the network of the stage that begins with a block: one that costs next to nothing."""
    (stage,) = (one for one in plan.stages if one.first_block == first)
    (source,), (target,) = stage.inputs, stage.outputs
    return tiny.network(
        [helper.make_node("Relu", [source], [target])],
        inputs=[tiny.floats(source, 1, 4)],
        outputs=[tiny.floats(target, 1, 4)],
    )


def measure(cases: Sequence[Case], frames: int, rounds: int) -> None:
    """Let the cases take turns, in an order drawn anew each round, after one to warm up."""
    rng = np.random.default_rng(0)
    runtime = get_runtime("onnxruntime")
    with ExitStack() as stack:
        opened = []
        for case in cases:
            stand_ins = stand_in(case.plan, runtime, compute=case.computed, service=case.clocks)
            pipeline = Pipeline(
                stand_ins.plan, case.segments, inputs=case.inputs, runtimes=stand_ins.runtimes
            )
            opened.append((case, stack.enter_context(pipeline), stand_ins))
        for number in range(rounds + 1):
            for index in rng.permutation(len(opened)):
                case, pipeline, stand_ins = opened[index]
                taken = frames if number else 2 * case.plan.credits  # to warm up
                case.play(pipeline, stand_ins, taken, seed=number)
            if number == 0:
                for case in cases:
                    case.forget()


def summarise(cases: Sequence[Case]) -> dict[str, dict[str, float]]:
    """Say for each part and figure by how much the worst median misses 1."""
    return {
        part: {
            name: max(abs(quartiles(case.ratios[name])[1] - 1) for case in of) for name in FIGURES
        }
        for part, of in (
            ("waiting", [case for case in cases if not case.computed]),
            ("computing", [case for case in cases if case.computed]),
        )
        if of
    }


def spread(ratios: Mapping[str, Sequence[float]]) -> dict[str, dict[str, float]]:
    """Name the quartiles of each figure."""
    return {
        name: dict(zip(("low", "median", "high"), quartiles(of), strict=True))
        for name, of in ratios.items()
    }


def quartiles(ratios: Sequence[float]) -> tuple[float, float, float]:
    """Return the lower quartile, the median and the upper quartile."""
    low, median, high = np.percentile(ratios, (25, 50, 75)).tolist()
    return low, median, high


if __name__ == "__main__":
    sys.exit(main())
