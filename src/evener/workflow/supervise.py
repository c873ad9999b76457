"""Give a pipeline plans to go on with when a stage fails, hangs or slows down."""

from collections.abc import Callable

import msgspec

from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.errors import InputError
from evener.plan.slowed import plan_what_is_left
from evener.run.monitor import Limits
from evener.run.pipeline import Pipeline
from evener.run.supervise import SupervisedPipeline
from evener.workflow.opened import Opened


def supervise(
    opened: Opened,
    plan: Plan,
    profile: Profile,
    open_pipeline: Callable[[Plan], Pipeline],
    *,
    limits: Limits | None = None,
) -> SupervisedPipeline:
    """Return a pipeline of a plan that goes on, by another plan, where that fails or slows down.

    Args:
        opened: the network; other plans use its processors and runtimes only.
        plan: what it begins with; other plans are best at the same.
        profile: the times that other plans are made from.
        open_pipeline: makes the pipeline of a plan, not yet open.
        limits: when a lane counts as hung, and when another plan is taken.

    Raises:
        InputError: the network keeps state from frame to frame, which another plan would not have.
    """
    if opened.network.states:
        raise InputError(
            f"{opened.network.name} keeps the state '{opened.network.states[0].input.name}' from "
            "frame to frame, and would lose it with a change of plan: run it without supervision, "
            "and begin anew where a stage fails"
        )
    names = {processor.name for processor in opened.machine.processors}
    usable = msgspec.structs.replace(
        profile,
        machine=msgspec.structs.replace(
            profile.machine,
            processors=tuple(one for one in profile.machine.processors if one.name in names),
        ),
        segments=tuple(
            one
            for one in profile.segments
            if one.processor in names and one.runtime in opened.runtimes
        ),
    )
    return SupervisedPipeline(
        plan,
        open_pipeline,
        lambda slowdowns: plan_what_is_left(usable, slowdowns, objective=plan.objective),
        limits=limits,
    )
