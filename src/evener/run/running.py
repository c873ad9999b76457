"""A pipeline that is open, and what its plan was made for."""

import msgspec

from evener.artifacts.plan import Plan
from evener.run.condition import Slowdowns
from evener.run.pipeline import Pipeline


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """A pipeline that is open.

    Attributes:
        plan: its plan.
        pipeline: itself.
        planned_under: what was lost or slow when the plan was made.
        ready: whether it was held ready before it was needed.
    """

    plan: Plan
    pipeline: Pipeline
    planned_under: Slowdowns
    ready: bool = False
