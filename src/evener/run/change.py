"""A change of plan that was decided, and how the trace tells it."""

from typing import Literal

import msgspec

from evener.artifacts.plan import Plan
from evener.artifacts.trace import Switch
from evener.run.replay import Leg
from evener.run.running import Running


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change of plan that was decided; what it came to is known at the end of the run.

    Attributes:
        cause: as in `Switch`.
        reason: as in `Switch`.
        at_s: when it was decided, by the run's clock.
        before: the plan until then.
        to: the other one, open.
    """

    cause: Literal["failed", "hung", "drifted", "recovered"]
    reason: str
    at_s: float
    before: Plan
    to: Running

    def between(self, old: Leg, new: Leg, *, begun_s: float) -> Switch:
        """Tell it, but for its pause, which is known once an answer came.

        Args:
            old: the leg that it ended.
            new: the leg that it began.
            begun_s: when the first frame of the run was admitted.
        """
        return Switch(
            frame=new.first,
            at_s=self.at_s - begun_s,
            cause=self.cause,
            reason=self.reason,
            before=self.before.outline,
            after=self.to.plan.outline,
            replayed=old.first + old.taken - new.first,
            pause_s=0.0,
            ready=self.to.ready,
            misses=self.to.plan.misses,
        )
