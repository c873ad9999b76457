"""Run a network over frames by its plan, and hold every answer against the unsplit network."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import ceil
from pathlib import Path
from typing import Final

import msgspec

from evener.artifacts.files import load
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.artifacts.tensor import Tensor
from evener.artifacts.trace import Trace
from evener.errors import FrameFailedError, InputError
from evener.network.frames import load_frames, random_frames, save_outputs
from evener.network.split import whole_model
from evener.run.equality import Answers, Unsplit, run_unsplit
from evener.run.live import Policy
from evener.runtime.session import Array, Optimisation
from evener.workflow.check_plan import check_plan
from evener.workflow.manner import Manner
from evener.workflow.opened import (
    Fixed,
    Opened,
    Progress,
    Shapes,
    States,
    find_processors,
    open_network,
)
from evener.workflow.pipeline import make_pipeline
from evener.workflow.plan import plan_opened
from evener.workflow.profile import load_profile, profile_opened
from evener.workflow.stand_in import StandIns
from evener.workflow.supervise import check_can_be_supervised, supervised
from evener.workflow.wish import Wish, decide

OnAnswer = Callable[[int, tuple[Array, ...]], None]
_TOLD: Final = 20  # how often a run tells its progress; telling takes a lane's time
POOL: Final = 64  # distinct random frames; longer runs go round


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to.

    Attributes:
        trace: rate, latency, equality and how busy each lane was.
        plan: the plan that ran.
        tolerance: largest `trace.max_error` that splitting may cause: 0 at the level "extended",
            1e-6 of the largest output at "all", 1e-4 where several runtimes may differ or frames
            go through in batches.
        unsplit_rate_hz: frames per second of the unsplit network alone on one core, timed on the
            same frames just before the run; of simulated processors, predicted for the best one
            of them, and None where none can run it alone.
        not_finite: numbers of the distinct frames whose answers hold NaN or infinity.
        board: the board whose processors were simulated; None if they are this machine's own.
        slowdown: how many times as long those were let take.
    """

    trace: Trace
    plan: Plan
    tolerance: float
    unsplit_rate_hz: float | None
    not_finite: tuple[int, ...] = ()
    board: str | None = None
    slowdown: float = 1.0

    @property
    def holds(self) -> bool:
        """Whether every answer was close enough to the unsplit network's."""
        error = self.trace.max_error
        return error is None or error <= self.tolerance


def run_network(
    net: str,
    *,
    frames: int | Path,
    plan: Path | None = None,
    profile: Path | None = None,
    stages: int | None = None,
    out: Path | None = None,
    optimisation: Optimisation = "all",
    credits: int | None = None,
    shapes: Shapes | None = None,
    fixed: Fixed | None = None,
    states: States | None = None,
    processors: Sequence[str] | None = None,
    runtimes: Sequence[str] | None = None,
    transport: str = "threads",
    policy: Policy = "block",
    source_rate_hz: float | None = None,
    batch: int = 1,
    supervise: bool = False,
    progress: Progress | None = None,
) -> RunResult:
    """Run a network over frames, split as planned, and compare every answer with the whole.

    Args:
        net: path of an ONNX file, or name of a built-in network.
        frames: how many random frames (64 distinct ones, again and again), or an NPZ file with
            one array per input, first axis = frames.
        plan: a plan file; None plans first.
        profile: a profile file to plan by; None profiles this machine.
        stages: how many stages the plan must have; None for the best.
        out: an NPZ file for the outputs, one array per output, same order as the frames.
        optimisation: "extended" makes every answer equal to the bit where each lane is one core,
            as the unsplit network has; "all" may be faster and differs by rounding.
        credits: frames in flight at once; None for the plan's own.
        shapes: static shapes of the inputs that leave some size open, by input name.
        fixed: a number for each input that is to be constant, by input name.
        states: for each output that is an input of the next frame, the input, by output name.
        processors: names of the processors to use; None for all.
        runtimes: names of the runtimes to use; None for all that suit the optimisation level.
        transport: where the lanes live: "threads" of this process, "processes" of their own, or
            the "ranks" of MPI that this process is the first of.
        policy: what to do with a frame for which there is no credit: "block" makes the source wait,
            "drop_oldest", "drop_newest" and "latest_only" leave some out.
        source_rate_hz: how many frames come a second; None for as many as are taken.
        batch: how many frames go through the stages at once, where the network can.
        supervise: whether to go on by another plan where a stage fails, hangs or slows down.
        progress: told what is being done.

    Raises:
        InputError: the network, the frames, the plan or the profile cannot be used.
        InfeasibleError: no plan meets the limits.
        StageFailedError: a stage raised.
    """
    if out is not None:
        check_writable(out)
    manner = Manner(
        transport=transport,
        policy=policy,
        source_rate_hz=source_rate_hz,
        batch=batch,
        supervise=supervise,
    )
    manner.check(out)
    if plan is not None and (stages is not None or profile is not None):
        raise InputError("a plan file already fixes its stages: give --plan, or --stages/--profile")
    given = load(plan, Plan).value if plan is not None else None
    opened = open_network(
        net,
        granularity=given.granularity if given is not None else "paper",
        max_live=given.max_live if given is not None else None,
        shapes=shapes,
        fixed=fixed,
        states=states,
        processors=processors,
        runtimes=runtimes,
        optimisation=optimisation,
        batch=batch,
    )
    pool, count = take_frames(opened, frames)
    if supervise:
        check_can_be_supervised(opened)
    times: Profile | None = None
    if given is None:
        chosen, times = _plan(opened, stages, profile, processors, progress)
    else:
        chosen = check_plan(given, opened)
        if supervise:
            times = profile_opened(opened, progress=progress).value
    with answers_for(opened, frames, out) as keep:
        return run_opened(
            opened,
            chosen,
            pool,
            count=count,
            on_answer=keep,
            credits=credits,
            manner=manner,
            profile=times,
            progress=progress,
        )


@contextmanager
def answers_for(opened: Opened, frames: int | Path, out: Path | None) -> Iterator[OnAnswer | None]:
    """Write the answers of a run to a file once it is over, and say which frame is at fault.

    Args:
        opened: the network.
        frames: how many random frames run, or the file that they came from.
        out: an NPZ file for the answers; None to write none.

    Yields:
        What to call with each answer, if they are to be written.

    Raises:
        InputError: the network cannot answer a frame of the file.
    """
    kept: list[tuple[Array, ...]] = []
    try:
        yield (
            None if out is None else lambda _id, given: kept.append(tuple(a.copy() for a in given))
        )
    except FrameFailedError as error:
        if isinstance(frames, Path):
            raise InputError(
                f"frame {error.frame_id} of {frames} cannot be answered: {error}; look at its "
                "values, such as indices beyond a table"
            ) from error
        raise
    if out is not None:
        save_outputs(out, opened.of_frames.outputs, kept)


def run_opened(
    opened: Opened,
    plan: Plan,
    pool: Sequence[tuple[Array, ...]],
    *,
    count: int,
    on_answer: OnAnswer | None = None,
    credits: int | None = None,
    stand_ins: StandIns | None = None,
    compare: bool = True,
    manner: Manner = Manner(),  # noqa: B008 - it is frozen
    profile: Profile | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Run an opened network by a plan over the frames of a pool, again and again.

    Args:
        opened: the network.
        plan: a plan of it.
        pool: distinct frames.
        count: how many frames to run; frame i is `pool[i % len(pool)]`.
        on_answer: called in frame order with the frame's number and its outputs, which are only
            valid during the call.
        credits: frames in flight at once; None for the plan's own.
        stand_ins: what runs in the place of the plan's processors; None if they are here.
        compare: whether to hold every answer against the unsplit network's.
        manner: how the frames go through.
        profile: what other plans are made from where the run is supervised.
        progress: told what is being done.
    """
    used = pool[: min(count, len(pool))]
    running = plan if stand_ins is None else stand_ins.plan
    pipeline_of = partial(
        make_pipeline,
        opened,
        runtimes=None if stand_ins is None else stand_ins.runtimes,
        credits=credits,
        most_credits=ceil(count / manner.batch),
        transport=manner.place(running),
    )
    with (
        pipeline_of(running)
        if profile is None or not manner.supervise
        else supervised(opened, running, profile, pipeline_of)
    ) as pipeline:
        # With a state a frame's answer depends on those before it, so that each counts by itself.
        told_apart = list(_cycle(used, count)) if opened.network.states else used
        unsplit = _unsplit(opened, told_apart, pipeline.outputs, progress) if compare else None
        answers = None if unsplit is None else Answers(unsplit.answers)
        every = max(1, count // _TOLD)

        def emit(frame_id: int, outputs: tuple[Array, ...]) -> None:
            if answers is not None:
                answers.compare(frame_id, outputs)
            if on_answer is not None:
                on_answer(frame_id, outputs)
            if progress is not None and frame_id % every == 0:
                progress("running", frame_id + 1, count)

        warm_up = Manner(batch=manner.batch)
        warm_up.run(pipeline, _cycle(used, max(2 * pipeline.credits, 4) * manner.batch), _drop)
        if stand_ins is not None:
            stand_ins.begin()
        trace = manner.run(pipeline, _cycle(used, count), emit)
    if answers is not None:
        trace = msgspec.structs.replace(trace, equal=answers.equal, max_error=answers.max_error)
    if stand_ins is not None:
        trace = msgspec.structs.replace(trace, simulated=True, overruns=stand_ins.overruns)
    return RunResult(
        trace=trace,
        plan=plan,
        tolerance=_tolerance(opened, plan if stand_ins is None else None, manner, trace),
        unsplit_rate_hz=None if unsplit is None else 1 / unsplit.median_s,
        not_finite=() if unsplit is None else unsplit.not_finite,
    )


def _unsplit(
    opened: Opened,
    frames: Sequence[tuple[Array, ...]],
    outputs: Sequence[Tensor],
    progress: Progress | None,
) -> Unsplit:
    if progress is not None:
        progress("answering with the unsplit network", 0, len(frames))
    return run_unsplit(
        whole_model(opened.of_frames),
        frames,
        inputs=opened.of_frames.inputs,
        outputs=opened.of_frames.outputs if opened.single is not None else outputs,
        runtime=opened.runtimes[reference_runtime(opened)],
        core=find_processors().cpu.cores[0],
        states=opened.network.states,
        optimisation=opened.optimisation,
    )


def _plan(
    opened: Opened,
    stages: int | None,
    profile: Path | None,
    processors: Sequence[str] | None,
    progress: Progress | None,
) -> tuple[Plan, Profile]:
    """Return a plan, and the profile it rests on."""
    wish = Wish(stages=stages)
    if profile is not None:
        times = load_profile(profile, opened).value
        return check_plan(decide(times, wish, processors), opened), times
    plan, kept = plan_opened(opened, wish, progress=progress)
    return plan, kept.value


def take_frames(opened: Opened, frames: int | Path) -> tuple[Sequence[tuple[Array, ...]], int]:
    """Return distinct frames for a network, and how many are to run.

    Args:
        opened: the network.
        frames: how many random frames, or an NPZ file.

    Raises:
        InputError: no frame, or a file that does not fit the network.
    """
    if isinstance(frames, Path):
        pool = load_frames(frames, opened.of_frames.inputs)
        return pool, len(pool)
    if frames < 1:
        raise InputError(f"--frames {frames} must be at least 1")
    return random_frames(opened.of_frames.inputs, min(frames, POOL), seed=0), frames


def _cycle(pool: Sequence[tuple[Array, ...]], count: int) -> Iterator[tuple[Array, ...]]:
    return (pool[index % len(pool)] for index in range(count))


def _tolerance(opened: Opened, plan: Plan | None, manner: Manner, trace: Trace) -> float:
    """Return what splitting may cause; without a plan, where one runtime computes all.

    A batch is multiplied by other kernels than a frame, which add in another order; so may several
    threads: ONNX Runtime answers GoogLeNet on two cores 8e-7 apart from one. A
    device has kernels of its own. After a switch any runtime may have computed a stage.
    """
    lanes = [lane for stage in plan.stages for lane in stage.lanes] if plan is not None else []
    runtimes = {part.runtime for lane in lanes for part in lane.parts}
    if trace.switches:
        runtimes |= set(opened.runtimes)
    devices = any(not lane.cores for lane in lanes)
    if manner.batch > 1 or devices or runtimes - {reference_runtime(opened)}:
        return 1e-4
    several_threads = bool(trace.switches) or any(len(lane.cores) > 1 for lane in lanes)
    return 0.0 if opened.optimisation == "extended" and not several_threads else 1e-6


def reference_runtime(opened: Opened) -> str:
    """Name the runtime whose answers to the unsplit network count."""
    return next(iter(opened.runtimes))


def _drop(frame_id: int, outputs: tuple[Array, ...]) -> None:
    """Answer to nowhere: a warm-up is for the machine."""


def check_writable(path: Path) -> None:
    """Find out before the run, not after it, that the outputs cannot be written.

    Raises:
        InputError: they cannot.
    """
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or path.is_dir():
        raise InputError(f"cannot write {path}; choose a file in a folder you may write to")
