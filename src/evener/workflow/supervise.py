"""Give a pipeline plans to go on with when a stage fails, hangs or slows down."""

from collections.abc import Callable
from functools import partial

import msgspec

from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.errors import InputError
from evener.plan.slowed import plan_what_is_left
from evener.run.monitor import Limits
from evener.run.pipeline import Pipeline
from evener.run.supervise import SupervisedPipeline
from evener.workflow.memory import may_hold
from evener.workflow.opened import Opened


def check_can_be_supervised(opened: Opened) -> None:
    """Refuse a network whose other plans nobody judged.

    Raises:
        InputError: it may be computed in lower precision.
    """
    if opened.variants.networks:
        raise InputError(
            "a supervised run may go on by a plan whose answers in lower precision nobody judged; "
            "leave out --supervise, or the precision and a plan in it"
        )


def supervised(
    opened: Opened,
    plan: Plan,
    profile: Profile,
    open_pipeline: Callable[[Plan], Pipeline],
    *,
    limits: Limits | None = None,
    standby: bool = True,
) -> SupervisedPipeline:
    """Return a pipeline of a plan that goes on, by another plan, where that fails or slows down.

    Args:
        opened: the network; other plans use its processors and runtimes only.
        plan: what it begins with; other plans are best at the same, and keep to the same limits
            as long as any does.
        profile: the times that other plans are made from.
        open_pipeline: makes the pipeline of a plan, not yet open; of a network with states one
            that tells them.
        limits: when a lane counts as hung, and when another plan is taken.
        standby: whether to hold ready what is needed once a lane fails, where memory allows: up to
            half of what is free.

    Raises:
        InputError: the network may be computed in lower precision.
    """
    check_can_be_supervised(opened)
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
        lambda slowdowns: plan_what_is_left(
            usable, slowdowns, objective=plan.objective, asked=plan.asked
        ),
        limits=limits,
        may_hold=partial(may_hold, opened) if standby else None,
    )
