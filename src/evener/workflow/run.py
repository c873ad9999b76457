"""Run a network over frames by its plan, and hold every answer against the unsplit network."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Final, Unpack

import msgspec

from evener.artifacts.files import load
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.artifacts.tensor import Tensor
from evener.artifacts.timeline import save_timeline
from evener.artifacts.trace import Trace
from evener.data.frames import Frames
from evener.data.sources import Reading
from evener.errors import InputError
from evener.network.split import whole_model
from evener.run.equality import Answers, Unsplit, run_unsplit
from evener.run.glance import Observable
from evener.run.record import timeline_of
from evener.runtime.session import Array
from evener.workflow.admit import decide_admitted
from evener.workflow.check_plan import check_plan
from evener.workflow.choices import settle
from evener.workflow.cutting import Cutting
from evener.workflow.frames import (
    OnAnswer,
    Writing,
    WritingChoices,
    answers_for,
    find_card,
    take_frames,
    with_card,
)
from evener.workflow.manner import Manner, MannerChoices
from evener.workflow.near_enough import (
    allowed_agreement,
    reference_runtime,
    tolerance_of,
)
from evener.workflow.opened import Opened, Progress, find_processors
from evener.workflow.opening import Engines, OpeningChoices, open_network
from evener.workflow.pipeline import make_pipeline
from evener.workflow.plan import plan_opened
from evener.workflow.precision import with_precisions, with_precisions_of
from evener.workflow.profile import load_profile, profile_opened
from evener.workflow.stand_in import StandIns
from evener.workflow.supervise import check_can_be_supervised, supervised
from evener.workflow.wish import Wish, WishChoices, decide

Watch = Callable[[Observable], AbstractContextManager[None]]
_TOLD: Final = 20  # how often a run tells its progress; telling takes a lane's time
_TOLD_EVERY: Final = 256  # frames of a run whose length is not known


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to.

    Attributes:
        trace: rate, latency, equality and how busy each lane was.
        plan: the plan that ran.
        tolerance: largest `trace.max_error` that splitting may cause: 0 at the level "extended",
            1e-6 of the largest output at "all", 1e-4 where several runtimes may differ or frames
            go through in batches; of a plan in lower precision what that was allowed to cost.
        agreement: share of the answers whose top answer is the unsplit network's; None where
            answers name no class, or none was compared.
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
    agreement: float | None = None

    @property
    def holds(self) -> bool:
        """Whether every answer was close enough to the unsplit network's."""
        error = self.trace.max_error
        near = error is None or error <= self.tolerance
        return near and (self.agreement is None or self.agreement >= allowed_agreement(self.plan))


class RunChoices(OpeningChoices, WishChoices, MannerChoices, WritingChoices, total=False):
    """What `run_network` takes as keyword arguments."""


def run_network(
    net: str,
    *,
    frames: int | Path,
    plan: Path | None = None,
    profile: Path | None = None,
    credits: int | None = None,
    reading: Reading | None = None,
    cutting: Cutting = Cutting(),
    engines: Engines = Engines(),
    wish: Wish = Wish(),
    manner: Manner = Manner(),
    writing: Writing = Writing(),
    watch: Watch | None = None,
    progress: Progress | None = None,
    **choices: Unpack[RunChoices],
) -> RunResult:
    """Run a network over frames, split as planned, and compare every answer with the whole.

    Args:
        net: path of an ONNX file, or name of a built-in network.
        frames: how many random frames (64 distinct ones, again and again), or what to read them
            from: see `evener.data.sources.open_source`. Of what is read, the first answers are
            compared, up to 256.
        plan: a plan file, which also says how the network is cut; None plans first.
        profile: a profile file to plan by; None profiles this machine.
        credits: frames in flight at once; None for the plan's own.
        reading: how what is there becomes frames.
        cutting: how the network is read and cut; a card beside it says the shape of its input too.
        engines: what may compute it.
        wish: what the plan is to be best at, within which limits; a plan that is taken later on
            keeps to them too, as long as any does. A plan file leaves nothing to wish for.
        manner: how frames come, and where the stages live.
        writing: what is written of the answers.
        watch: given the pipeline, a context in which it runs.
        progress: told what is being done.
        choices: fields of these records, such as `batch=4` for that of `manner`.

    Raises:
        InputError: the network, the frames, the plan or the profile cannot be used.
        InfeasibleError: no plan meets the limits.
        StageFailedError: a stage raised.
    """
    cutting, engines, wish, manner, writing = settle(
        choices, cutting, engines, wish, manner, writing
    )
    writing.check()
    manner.check(writing.out, writing.timeline)
    check_plan_alone(plan, profile, wish)
    given = load(plan, Plan).value if plan is not None else None
    card = find_card(net)
    cutting = with_card(cutting if given is None else cutting.as_planned(given), card)
    opened = open_network(net, cutting, engines, batch=manner.batch)
    taken = take_frames(opened, frames, reading, card)
    if given is not None:
        opened = with_precisions_of(opened, given, engines.precision)
    else:
        opened = with_precisions(opened, engines.precision, progress=progress)
    if manner.supervise:
        check_can_be_supervised(opened)
    with answers_for(opened, taken, writing, card=card) as keep:
        times: Profile | None = None
        if given is None:
            chosen, times = choose_plan(opened, wish, profile, engines.processors, progress)
        else:
            chosen = check_plan(given, opened)
            if manner.supervise:
                times = profile_opened(opened, progress=progress).value
        return run_opened(
            opened,
            chosen,
            taken,
            on_answer=keep,
            credits=credits,
            manner=manner,
            profile=times,
            timeline=writing.timeline,
            watch=watch,
            progress=progress,
        )


def run_opened(
    opened: Opened,
    plan: Plan,
    frames: Frames,
    *,
    on_answer: OnAnswer | None = None,
    credits: int | None = None,
    stand_ins: StandIns | None = None,
    compare: bool = True,
    manner: Manner = Manner(),
    profile: Profile | None = None,
    timeline: Path | None = None,
    watch: Watch | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Run an opened network by a plan over frames.

    Args:
        opened: the network.
        plan: a plan of it.
        frames: the frames.
        on_answer: called in frame order with the frame's number and its outputs, which are only
            valid during the call.
        credits: frames in flight at once; None for the plan's own.
        stand_ins: what runs in the place of the plan's processors; None if they are here.
        compare: whether to hold every answer against the unsplit network's.
        manner: how the frames go through.
        profile: what other plans are made from where the run is supervised.
        timeline: a file for when each stage ran each frame.
        watch: given the pipeline, a context in which it runs.
        progress: told what is being done.
    """
    count = frames.count
    running = plan if stand_ins is None else stand_ins.plan
    pipeline_of = partial(
        make_pipeline,
        opened,
        runtimes=None if stand_ins is None else stand_ins.runtimes,
        credits=credits,
        most_credits=None if count is None else ceil(count / manner.batch),
        transport=manner.place(running),
        tell_states=manner.supervise,
    )
    with (
        pipeline_of(running)
        if profile is None or not manner.supervise
        else supervised(opened, running, profile, pipeline_of, standby=manner.standby)
    ) as pipeline:
        # With a state a frame's answer depends on those before it, so that each counts by itself.
        known, comparable = frames.to_compare(each_by_itself=bool(opened.network.states))
        unsplit = _unsplit(opened, known, pipeline.outputs, progress) if compare else None
        answers = None if unsplit is None else Answers(unsplit.answers)
        every = _TOLD_EVERY if count is None else max(1, count // _TOLD)

        def emit(frame_id: int, outputs: tuple[Array, ...]) -> None:
            if answers is not None and frame_id < comparable:
                answers.compare(frame_id, outputs)
            if on_answer is not None:
                on_answer(frame_id, outputs)
            if progress is not None and frame_id % every == 0:
                progress("running", frame_id + 1, count or 0)

        warm_up = Manner(batch=manner.batch)
        many = max(2 * pipeline.credits, 4) * manner.batch
        warm_up.run(pipeline, islice(frames.again(), many), _drop)
        if stand_ins is not None:
            stand_ins.begin()
        with watch(pipeline) if watch is not None else nullcontext():
            trace = manner.run(pipeline, frames, emit, spans=timeline is not None)
        if timeline is not None:
            save_timeline(timeline, timeline_of(pipeline.record, network=plan.network))
    if answers is not None:
        trace = msgspec.structs.replace(
            trace, equal=answers.equal, max_error=answers.max_error, checked=answers.frames
        )
    if stand_ins is not None:
        trace = msgspec.structs.replace(trace, simulated=True, overruns=stand_ins.overruns)
    agreeing = None if answers is None else answers.agreeing
    return RunResult(
        trace=trace,
        plan=plan,
        tolerance=tolerance_of(opened, plan, manner, trace, simulated=stand_ins is not None),
        agreement=None if answers is None or agreeing is None else agreeing / answers.frames,
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


def check_plan_alone(plan: Path | None, profile: Path | None, wish: Wish) -> None:
    """Refuse a plan file beside what a plan would be made from.

    Raises:
        InputError: both are given.
    """
    if plan is not None and (profile is not None or wish != Wish()):
        raise InputError(
            "a plan file already fixes its stages: give --plan, or --stages, --max-latency, "
            "--min-rate and --profile"
        )


def choose_plan(
    opened: Opened,
    wish: Wish,
    profile: Path | None,
    processors: Sequence[str] | None,
    progress: Progress | None,
) -> tuple[Plan, Profile]:
    """Plan an opened network, and say by which times.

    Args:
        opened: the network.
        wish: what the plan is to keep.
        profile: a profile file to plan by; None profiles this machine.
        processors: names of the processors to use; None for all.
        progress: told what is being done.

    Raises:
        InputError: the profile cannot be used.
        InfeasibleError: no plan meets the limits.
    """
    if profile is not None:
        times = load_profile(profile, opened).value
        plans = decide_admitted(opened, times, lambda by: (decide(by, wish, processors),))
        return check_plan(plans[0], opened), times
    plan, kept = plan_opened(opened, wish, progress=progress)
    return plan, kept.value


def _drop(frame_id: int, outputs: tuple[Array, ...]) -> None:
    """Answer to nowhere: a warm-up is for the machine."""
