"""Pipelines of scripted sessions, whose answers are known beforehand."""

import time
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from evener.artifacts.plan import Plan
from evener.run.entry import Frame
from evener.run.pipeline import Pipeline
from evener.testing import plans
from evener.testing.scripted_runtime import SHAPE, ScriptedRuntime, do_nothing, vector

DEVICE: Final[plans.Cores] = ()
TWO_BY_TWO: Final = ((1, [DEVICE, DEVICE]), (1, [DEVICE, DEVICE]))
TWO: Final = plans.chain((1, [DEVICE]), (1, [DEVICE]), runtime="scripted", credits=3)


def frame(value: float) -> Frame:
    """Make a frame of one number, to which each block adds one."""
    return (np.full(SHAPE, value, np.float32),)


def numbered(count: int) -> list[Frame]:
    """Make frames of the numbers from 0 on."""
    return [frame(value) for value in range(count)]


def texts(blocks: int) -> Callable[[int, int], bytes]:
    """Return what makes the model from one block to another of a chain."""
    names = ["x", *(f"h{index}" for index in range(1, blocks)), "y"]
    return lambda first, last: f"{names[first]}>{names[last + 1]}".encode()


def scripted(plan: Plan, script: Callable[[str, float], None] = do_nothing) -> Pipeline:
    """Make a pipeline of a chain, whose sessions call a script before they compute."""
    runtime = ScriptedRuntime(script)
    blocks = plan.stages[-1].last_block + 1
    return Pipeline(plan, texts(blocks), inputs=[vector("x")], runtimes={"scripted": runtime})


def chain(*stages: tuple[int, list[plans.Cores]], credits: int | None = None) -> Plan:
    """Plan a chain for the scripted runtime."""
    return plans.chain(*stages, runtime="scripted", credits=credits)


def emitted(pipeline: Pipeline, frames: Iterable[Frame]) -> list[tuple[int, float]]:
    """Run frames, and return the number and the first element of each answer."""
    seen: list[tuple[int, float]] = []
    pipeline.run(frames, lambda number, answer: seen.append((number, float(answer[0][0]))))
    return seen


def pipelines(
    script: Callable[[str, float], None] = do_nothing,
    plan: Plan = TWO,
    transport: str = "threads",
    clock: Callable[[], float] = time.perf_counter,
) -> Callable[[], Pipeline]:
    """Return what makes pipelines of a chain, one after the other."""
    blocks = plan.stages[-1].last_block + 1
    return lambda: Pipeline(
        plan,
        texts(blocks),
        inputs=[vector("x")],
        runtimes={"scripted": ScriptedRuntime(script)},
        transport=transport,
        clock=clock,
    )
