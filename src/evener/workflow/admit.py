"""Admit a plan whose stages compute in several precisions only if its answers are near enough.

Each precision is within the limits as a whole; what a mixture of stages answers is found out by
running it, stage after stage on one core, over the frames that judge.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import msgspec

from evener.artifacts.lowering import Deviation
from evener.artifacts.plan import Lane, Plan
from evener.artifacts.processors import Processor
from evener.artifacts.profile import Profile
from evener.network.frames import Frame
from evener.run.accuracy import judge, worst_of
from evener.runtime import get_runtime
from evener.runtime.pinning import pinned
from evener.runtime.session import Array, Session, empty
from evener.workflow.opened import Opened, find_processors
from evener.workflow.profile import only_precisions
from evener.workflow.variants import CONVERTER, Judge

_Values = Mapping[str, Array]


class _Piece(NamedTuple):
    first_block: int
    last_block: int
    runtime: str
    precision: str


def admitted(opened: Opened, plans: Iterable[Plan]) -> tuple[Plan, ...]:
    """Leave out the plans whose answers are not near enough, and say of the others how near.

    Args:
        opened: the network; without a judge every plan is returned as it is.
        plans: plans of it.
    """
    judge_, known = opened.variants.judge, opened.variants.lowering
    if judge_ is None or known is None:
        return tuple(plans)
    result = []
    for plan in plans:
        used = precisions_of(plan)
        networks = {name: opened.variants.keys[name] for name in used if name != "f32"}
        found = deviation_of(opened, plan, judge_) if networks else None
        if found is None or found.admitted:
            lowering = msgspec.structs.replace(known, networks=networks, deviation=found)
            result.append(msgspec.structs.replace(plan, lowering=lowering))
    return tuple(result)


def decide_admitted(
    opened: Opened | None, profile: Profile, decide_by: Callable[[Profile], tuple[Plan, ...]]
) -> tuple[Plan, ...]:
    """Make plans from a profile, and again from its times in f32 if none of them is admitted.

    Args:
        opened: the network; None where nothing but f32 is at issue.
        profile: the times.
        decide_by: makes at least one plan from times.
    """
    plans = decide_by(profile)
    if opened is None:
        return plans
    return admitted(opened, plans) or admitted(opened, decide_by(only_precisions(profile, ())))


def precisions_of(plan: Plan) -> tuple[str, ...]:
    """List the precisions that a plan computes in, each once, in order."""
    lanes = [lane for stage in plan.stages for lane in stage.lanes]
    return tuple(dict.fromkeys(part.precision for lane in lanes for part in lane.parts))


def deviation_of(opened: Opened, plan: Plan, by: Judge) -> Deviation:
    """Run a plan's stages one after the other and say how far off its answers are.

    Lanes of one stage may compute differently, and any may get a frame: every combination of them
    answers every frame, and the worst counts.

    Args:
        opened: the network.
        plan: the plan; its processors need not be those of this machine.
        by: frames and answers in f32.

    Raises:
        RuntimeFailedError: a runtime refuses a segment.
    """
    cpu = find_processors().cpu
    stages = [
        tuple(dict.fromkeys(_pieces(opened, lane, cpu) for lane in stage.lanes))
        for stage in plan.stages
    ]
    pieces = [piece for stage in stages for lane in stage for piece in lane]
    with _sessions(opened, pieces, core=cpu.cores[0]) as sessions:
        answers = [_answers_of(opened, stages, sessions, frame) for frame in by.frames]
    precision = "+".join(precisions_of(plan))
    return worst_of(
        [
            judge(precision, by.expected, combination, allowed=by.allowed, labels=by.labels)
            for combination in zip(*answers, strict=True)
        ]
    )


def _pieces(opened: Opened, lane: Lane, cpu: Processor) -> tuple[_Piece, ...]:
    """Name what a lane runs, by runtimes that can run it on a core of this machine."""
    able = [name for name, runtime in opened.runtimes.items() if runtime.supports(cpu)]
    return tuple(
        _Piece(
            part.first_block,
            part.last_block,
            part.runtime if part.runtime in able else CONVERTER,
            part.precision,
        )
        for part in lane.parts
    )


@contextmanager
def _sessions(
    opened: Opened, pieces: Iterable[_Piece], *, core: int
) -> Iterator[Mapping[_Piece, Session]]:
    with pinned((core,)), ExitStack() as stack:
        sessions = {}
        for piece in dict.fromkeys(pieces):
            segments = opened.segments_in.get(piece.precision, opened.segments)
            runtime = opened.runtimes.get(piece.runtime) or get_runtime(piece.runtime)
            session = sessions[piece] = runtime.open(
                segments(piece.first_block, piece.last_block),
                cores=(core,),
                precision=piece.precision,
                optimisation=opened.optimisation,
            )
            stack.callback(session.close)
        yield sessions


def _answers_of(
    opened: Opened,
    stages: Sequence[Sequence[Sequence[_Piece]]],
    sessions: Mapping[_Piece, Session],
    frame: Frame,
) -> list[tuple[Array, ...]]:
    """Answer a frame by every combination of lanes."""
    inputs = opened.network.inputs
    reached: list[_Values] = [
        {tensor.name: array for tensor, array in zip(inputs, frame, strict=True)}
    ]
    for stage in stages:
        reached = [_after(lane, sessions, values) for values in reached for lane in stage]
    outputs = opened.network.outputs
    return [tuple(values[tensor.name] for tensor in outputs) for values in reached]


def _after(lane: Sequence[_Piece], sessions: Mapping[_Piece, Session], values: _Values) -> _Values:
    for piece in lane:
        session = sessions[piece]
        made = [empty(tensor) for tensor in session.outputs]
        session.run([values[tensor.name] for tensor in session.inputs], made)
        names = [tensor.name for tensor in session.outputs]
        values = {**values, **dict(zip(names, made, strict=True))}
    return values
