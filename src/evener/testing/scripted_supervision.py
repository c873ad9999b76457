"""Supervised pipelines of scripted sessions, whose faults happen where a test says."""

import threading
from collections.abc import Callable, Iterable
from math import inf
from typing import Final

import msgspec

from evener.artifacts.plan import Lane, Part, Plan, Stage
from evener.artifacts.trace import Trace
from evener.run.condition import Slowdowns
from evener.run.entry import Frame
from evener.run.monitor import Limits
from evener.run.pipeline import Pipeline
from evener.run.supervise import SupervisedPipeline
from evener.runtime.session import Array
from evener.testing.plans import Cores, of_stages
from evener.testing.scripted_runtime import ScriptedRuntime, vector

BY_HAND: Final = Limits(look_s=None, hang_floor_s=5.0, window=4, cooldown_s=10.0, parole_s=60.0)
NAMES: Final = ("x", "h1", "y")
Script = Callable[[str, str, float], None]
"""Called with the processor, the model and the first number of a lane's input."""


def lane(processor: str, first: int, last: int, time_s: float, cores: Cores) -> Lane:
    """Let a processor run some blocks, each as a part of its own."""
    parts = tuple(
        Part(first_block=block, last_block=block, runtime="scripted")
        for block in range(first, last + 1)
    )
    return Lane(processor=processor, cores=cores, parts=parts, time_s=time_s)


def stage(first: int, last: int, *lanes: Lane) -> Stage:
    """Make a stage of lanes that run the same blocks."""
    inputs, outputs = (NAMES[first],), (NAMES[last + 1],)
    return Stage(first_block=first, last_block=last, inputs=inputs, outputs=outputs, lanes=lanes)


def two_stages(*, credits: int | None = None) -> Plan:
    """Plan two blocks, a second each, one on `big` and one on `little`."""
    first, second = lane("big", 0, 0, 1.0, ()), lane("little", 1, 1, 1.0, ())
    return of_stages(stage(0, 0, first), stage(1, 1, second), credits=credits)


def alone(processor: str, time_s: float = 2.0, cores: Cores = ()) -> Plan:
    """Plan both blocks on one processor."""
    plan = of_stages(stage(0, 1, lane(processor, 0, 1, time_s, cores)))
    return msgspec.structs.replace(plan, rate_hz=1 / time_s)


def replan(slowdowns: Slowdowns) -> Plan | None:
    """Run all on the processor that is not lost and least slow."""
    factors = {name: slowdowns.get((name, None), 1.0) for name in ("big", "little")}
    best = min(factors, key=lambda name: factors[name])
    return None if factors[best] == inf else alone(best, 2.0 * factors[best])


class Machine:
    """Opens scripted pipelines, whose lanes know the processor they are on; keeps a clock."""

    def __init__(
        self,
        script: Script = lambda *_: None,
        *,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.now_s = 0.0
        self.clock = clock or (lambda: self.now_s)
        self.opened: list[str] = []
        self.sessions = ScriptedRuntime(lambda model, value: script(processor(), model, value))

    def open_pipeline(self, plan: Plan, *, refused: bool = False) -> Pipeline:
        """Make a pipeline of a plan, and note it; its sessions may be refused when it opens."""
        self.opened.append(plan.outline)
        return Pipeline(
            plan,
            lambda *span: b"refuse" if refused else _between(*span),
            inputs=[vector("x")],
            runtimes={"scripted": self.sessions},
            clock=self.clock,
        )

    def supervised(
        self,
        plan: Plan | None = None,
        *,
        replan: Callable[[Slowdowns], Plan | None] = replan,
        limits: Limits = BY_HAND,
        may_hold: Callable[[Plan], bool] | None = None,
    ) -> SupervisedPipeline:
        """Supervise pipelines that this machine opens."""
        return SupervisedPipeline(
            plan or two_stages(),
            self.open_pipeline,
            replan,
            limits=limits,
            may_hold=may_hold,
            clock=self.clock,
        )


def _between(first: int, last: int) -> bytes:
    return f"{NAMES[first]}>{NAMES[last + 1]}".encode()


def processor() -> str:
    """Name the processor of the lane whose thread this is."""
    return threading.current_thread().name.rsplit(" ", 1)[-1]


def answered(
    pipeline: SupervisedPipeline, frames: Iterable[Frame]
) -> tuple[Trace, list[tuple[int, float]]]:
    """Run frames, and return the trace with the number and the first element of each answer."""
    seen: list[tuple[int, float]] = []
    trace = pipeline.run(frames, lambda number, answer: seen.append((number, answer[0][0])))
    return trace, seen


def all_of(count: int) -> list[tuple[int, float]]:
    """Return what plans of any shape answer: two blocks add one each."""
    return [(number, number + 2.0) for number in range(count)]


def frame_of(model: str, value: float) -> int:
    """Return which frame of `numbered` a block reads: each block before it has added one."""
    reads, _ = model.split(">")
    return round(value) - NAMES.index(reads)


class Once:
    """A script that raises at the given processor and frame, once each."""

    def __init__(self, *faults: tuple[str, int]) -> None:
        self.faults = set(faults)
        self.happened: list[tuple[str, int]] = []

    def __call__(self, processor: str, model: str, value: float) -> None:
        """Raise where there is a fault that has not happened yet."""
        fault = processor, frame_of(model, value)
        if fault in self.faults:
            self.faults.discard(fault)
            self.happened.append(fault)
            raise OSError("device gone")


def answered_with_looks(
    pipeline: SupervisedPipeline, frames: list[Frame]
) -> tuple[Trace, list[tuple[int, float]]]:
    """Run frames, and look for drift after each answer."""
    seen: list[tuple[int, float]] = []

    def emit(number: int, answer: tuple[Array, ...]) -> None:
        seen.append((number, answer[0][0]))
        pipeline.look_for_drift()

    return pipeline.run(frames, emit), seen


def refuse(machine: Machine, plan: Plan) -> Callable[[Plan], Pipeline]:
    """Let the machine's runtime refuse the segments of a plan, as a driver that is gone does."""
    return lambda asked: machine.open_pipeline(asked, refused=asked == plan)
