"""Make the pipeline of a plan of an opened network."""

from collections.abc import Mapping

from evener.artifacts.plan import Plan
from evener.run.pipeline import Pipeline
from evener.run.transport import Transport
from evener.runtime.session import Runtime
from evener.workflow.opened import Opened


def make_pipeline(
    opened: Opened,
    plan: Plan,
    *,
    runtimes: Mapping[str, Runtime] | None = None,
    credits: int | None = None,
    most_credits: int | None = None,
    transport: str | Transport = "threads",
    tell_states: bool = False,
) -> Pipeline:
    """Make the pipeline of a plan of an opened network, not yet open.

    Args:
        opened: the network.
        plan: the plan.
        runtimes: what runs it; the network's own if None.
        credits: frames in flight at once; None for the plan's own.
        most_credits: no more than this, as slots for more than all frames only take memory.
        transport: where the lanes live; see `Pipeline`.
        tell_states: whether the states after each frame follow its answer; see `Pipeline`.
    """
    flying = plan.credits if credits is None else credits
    return Pipeline(
        plan,
        opened.segments,
        variants=opened.segments_in,
        inputs=opened.network.inputs,
        runtimes=opened.runtimes if runtimes is None else runtimes,
        states=opened.network.states,
        tell_states=tell_states,
        optimisation=opened.optimisation,
        credits=flying if most_credits is None else min(flying, most_credits),
        transport=transport,
    )
