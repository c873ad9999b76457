"""Strike the processes of a supervised pipeline at random, and check every answer.

Usage: python benchmarks/faults.py [--network squeezenet] [--frames 1000] [--strikes 6] [--seeds 3]
    [--no-standby]

A network is cut into two stages, each a process on a core of its own, and answers frames while its
processes are killed (SIGKILL), stopped (SIGSTOP) and slowed down by a busy neighbour on their core,
at moments drawn from the seed. Every frame must be answered once, in order, and to the bit as the
whole network answers it, and no process and no shared memory may be left behind.

Each seed is lived twice, with what the failure of a process needs held ready, and without. At the
end the gaps at the sink are listed by what was struck: the whole gap, and how much of it went by
before the supervisor knew, which of a stopped process is what it is allowed to take.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Final

import msgspec
import numpy as np
import psutil
from record import exit_with, write_record

from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.artifacts.trace import Switch, Trace
from evener.errors import InputError
from evener.network.frames import random_frames
from evener.network.split import whole_model
from evener.run.entry import Frame
from evener.run.equality import run_unsplit
from evener.run.monitor import Limits
from evener.run.supervise import SupervisedPipeline
from evener.runtime.session import Array
from evener.workflow.opened import Opened
from evener.workflow.opening import open_network
from evener.workflow.pipeline import make_pipeline
from evener.workflow.plan import settle_profile
from evener.workflow.supervise import supervised
from evener.workflow.wish import Wish, decide

KINDS: Final = ("kill", "stop", "slow")
LIMITS: Final = Limits(look_s=0.05, hang_floor_s=1.0, window=16, cooldown_s=1.0, parole_s=2.0)
SLOW_FOR: Final = 100  # frames that a busy neighbour stays
LATEST_S: Final = 0.05  # between the answer to the frame of a strike, and the strike
BUSY: Final = "import os, sys\nos.sched_setaffinity(0, [int(sys.argv[1])])\nwhile True: pass"
SHARED_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - where Linux keeps it; only listed


class Strike(msgspec.Struct, kw_only=True):
    """One blow.

    Attributes:
        kind: "kill", "stop" or "slow".
        frame: it comes just after the answer to this one.
        delay_s: so much after.
        place: what was struck; "" if no process was there between two plans.
    """

    kind: str
    frame: int
    delay_s: float
    place: str = ""


class Life(msgspec.Struct, kw_only=True):
    """One run and what became of it.

    Attributes:
        seed: what the strikes were drawn from.
        standby: whether pipelines were held ready.
        strikes: the blows.
        switches: what the supervisor did.
        replayed: frames that were run again.
        elapsed_s: how long it took.
        faults: what must not be; empty if all held.
    """

    seed: int
    standby: bool
    strikes: list[Strike]
    switches: tuple[Switch, ...]
    replayed: int
    elapsed_s: float
    faults: list[str]


class Gaps(msgspec.Struct, kw_only=True):
    """How long no answer came at changes of plan of one kind.

    Attributes:
        standby: whether pipelines were held ready.
        cause: "failed", "hung", "drifted" or "recovered".
        ready: whether the new plan was held ready when it was needed.
        switches: how many there were.
        gap_median_s: median time between two answers.
        gap_worst_s: the longest.
        noticing_median_s: median of how much of it went by before it was decided.
        rest_median_s: median of what is left without that.
        rest_worst_s: the longest.
    """

    standby: bool
    cause: str
    ready: bool
    switches: int
    gap_median_s: float
    gap_worst_s: float
    noticing_median_s: float
    rest_median_s: float
    rest_worst_s: float


class Saboteur:
    """Strikes the lanes of a pipeline as its answers come."""

    def __init__(
        self, pipeline: SupervisedPipeline, strikes: Sequence[Strike], rng: np.random.Generator
    ) -> None:
        self._pipeline = pipeline
        self._due = {strike.frame: strike for strike in strikes}
        self._choices = {strike.frame: rng.random() for strike in strikes}
        self._timers: list[threading.Timer] = []
        self._busy: list[tuple[int, subprocess.Popen[bytes]]] = []

    def answered(self, frame: int) -> None:
        """Take note of an answer, and strike if it is time."""
        for until, neighbour in self._busy:
            if frame >= until:
                neighbour.kill()
        strike = self._due.get(frame)
        if strike is not None:
            timer = threading.Timer(strike.delay_s, self._strike, [strike])
            self._timers.append(timer)
            timer.start()

    def end(self) -> None:
        """Let nothing of it be left."""
        for timer in self._timers:
            timer.join()
        for _, neighbour in self._busy:
            neighbour.kill()
            neighbour.wait()

    def _strike(self, strike: Strike) -> None:
        lanes = self._pipeline.progress()
        if not lanes:
            return
        struck = lanes[int(self._choices[strike.frame] * len(lanes))]
        if strike.kind == "slow":
            command = [sys.executable, "-c", BUSY, str(struck.lane.cores[0])]
            neighbour = subprocess.Popen(command)
            self._busy.append((strike.frame + SLOW_FOR, neighbour))
        elif struck.process is not None:
            try:
                os.kill(struck.process, signal.SIGKILL if strike.kind == "kill" else signal.SIGSTOP)
            except ProcessLookupError:
                return  # its plan was being left just then
        strike.place = f"stage {struck.stage} on {struck.lane.place}"


def draw(rng: np.random.Generator, strikes: int, frames: int) -> list[Strike]:
    """Draw strikes of every kind in turn, in an order and at moments of their own."""
    kinds = rng.permutation([KINDS[index % len(KINDS)] for index in range(strikes)])
    at = sorted(rng.choice(np.arange(10, frames - 10), size=strikes, replace=False))
    return [
        Strike(kind=str(kind), frame=int(frame), delay_s=float(rng.uniform(0, LATEST_S)))
        for kind, frame in zip(kinds, at, strict=True)
    ]


def live(
    opened: Opened,
    plan: Plan,
    profile: Profile,
    pool: Sequence[Frame],
    expected: Sequence[Sequence[Array]],
    *,
    frames: int,
    strikes: int,
    seed: int,
    standby: bool,
) -> Life:
    """Run frames under strikes, and hold every answer against the expected one."""
    rng = np.random.default_rng(seed)
    blows = draw(rng, strikes, frames)
    faults: list[str] = []
    seen: list[int] = []
    shared = set(SHARED_MEMORY.iterdir())

    def emit(frame: int, answer: tuple[Array, ...]) -> None:
        seen.append(frame)
        wanted = expected[frame % len(pool)]
        if not all(map(np.array_equal, answer, wanted)):
            faults.append(f"the answer to frame {frame} differs")
        saboteur.answered(frame)

    def source() -> Iterator[Frame]:
        return (pool[number % len(pool)] for number in range(frames))

    pipelines = partial(make_pipeline, opened, transport="processes")
    with supervised(opened, plan, profile, pipelines, limits=LIMITS, standby=standby) as pipeline:
        saboteur = Saboteur(pipeline, blows, rng)
        try:
            trace: Trace = pipeline.run(source(), emit)
        finally:
            saboteur.end()
    if seen != list(range(frames)):
        faults.append(f"{len(seen)} answers, {len(set(seen))} of them different, not in order")
    left = psutil.Process().children(recursive=True)
    faults += [f"left behind: process {one.pid} {one.name()}" for one in left]
    faults += [f"left behind: {one}" for one in set(SHARED_MEMORY.iterdir()) - shared]
    return Life(
        seed=seed,
        standby=standby,
        strikes=blows,
        switches=trace.switches,
        replayed=trace.replayed,
        elapsed_s=trace.elapsed_s,
        faults=faults,
    )


def tell(life: Life) -> None:
    """Print a life as it went."""
    for strike in life.strikes:
        print(f"  after frame {strike.frame}: {strike.kind} {strike.place or '(nobody there)'}")
    for switch in life.switches:
        print(
            f"  from frame {switch.frame} on: {switch.after} ({switch.cause}: {switch.reason}); "
            f"{switch.replayed} replayed, {switch.pause_s:.2f} s between two answers, of which "
            f"{switch.noticing_s:.2f} s until it was noticed{', held ready' * switch.ready}"
        )
    print("\n".join(f"  FAULT: {fault}" for fault in life.faults) or "  no fault")


def gaps(lives: Sequence[Life]) -> list[Gaps]:
    """Sum up the pauses at changes of plan, by their cause and whether one was held ready."""
    found = []
    kinds = {
        (life.standby, switch.cause, switch.ready) for life in lives for switch in life.switches
    }
    for standby, cause, ready in sorted(kinds):
        switches = [
            switch
            for life in lives
            if life.standby == standby
            for switch in life.switches
            if (switch.cause, switch.ready) == (cause, ready)
        ]
        rests_s = [switch.pause_s - switch.noticing_s for switch in switches]
        found.append(
            Gaps(
                standby=standby,
                cause=cause,
                ready=ready,
                switches=len(switches),
                gap_median_s=median(switch.pause_s for switch in switches),
                gap_worst_s=max(switch.pause_s for switch in switches),
                noticing_median_s=median(switch.noticing_s for switch in switches),
                rest_median_s=median(rests_s),
                rest_worst_s=max(rests_s),
            )
        )
    return found


def main() -> int:
    """Run the experiment and say what it found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--network", default="squeezenet")
    parser.add_argument("--frames", type=int, default=1000)
    parser.add_argument("--strikes", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--no-standby", action="store_true", help="live each seed only without")
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    opened = open_network(options.network, optimisation="extended", runtimes=["onnxruntime"])
    if sum(one.units for one in opened.machine.processors) < 2:
        raise InputError("two stages need two cores")
    wish = Wish(stages=2)
    profile = settle_profile(opened, wish).value
    plan = decide(profile, wish)
    pool = random_frames(opened.network.inputs, 16, seed=0)
    unsplit = run_unsplit(
        whole_model(opened.network),
        pool,
        inputs=opened.network.inputs,
        outputs=opened.network.outputs,
        runtime=opened.runtimes["onnxruntime"],
        core=opened.machine.cpu.cores[0],
        optimisation=opened.optimisation,
    )
    print(f"{opened.network.name} in {plan.outline}, {options.frames} frames a seed")
    lives = []
    ways = (False,) if options.no_standby else (False, True)
    for seed, standby in product(range(options.seeds), ways):
        print(f"seed {seed}, {'with' if standby else 'without'} standby")
        lives.append(
            live(
                opened,
                plan,
                profile,
                pool,
                unsplit.answers,
                frames=options.frames,
                strikes=options.strikes,
                seed=seed,
                standby=standby,
            )
        )
        tell(lives[-1])
    struck = Counter(one.kind for life in lives for one in life.strikes if one.place)
    causes = Counter(one.cause for life in lives for one in life.switches)
    replayed = sum(life.replayed for life in lives)
    print(f"struck: {dict(struck)}; switches: {dict(causes)}; frames replayed: {replayed}")
    summed = gaps(lives)
    for one in summed:
        print(
            f"{'with' if one.standby else 'without'} standby, {one.cause}, "
            f"{'held ready' if one.ready else 'opened first'}: {one.switches} times; "
            f"gap {one.gap_median_s:.3f} s (worst {one.gap_worst_s:.3f}), "
            f"of which {one.noticing_median_s:.3f} s until noticed; the rest "
            f"{one.rest_median_s:.3f} s (worst {one.rest_worst_s:.3f})"
        )
    if options.out is not None:
        found = {
            "network": opened.network.name,
            "frames": options.frames,
            "gaps": summed,
            "lives": lives,
        }
        write_record(options.out, found)
    return 1 if any(life.faults for life in lives) else 0


if __name__ == "__main__":
    exit_with(main)
