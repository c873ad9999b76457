"""Hold pipelines ready for what the likeliest failures leave: each lane that runs, lost by itself.

A pipeline that waits for its first run uses memory and nothing else. So what takes long after a
failure, planning and opening sessions, is done before it, behind the pipeline that works.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from math import inf, isinf
from typing import Final

import msgspec

from evener.artifacts.plan import Plan, Unit
from evener.errors import EvenerError, StageFailedError
from evener.run.condition import Slowdowns, rate_under
from evener.run.leaving import Leaving
from evener.run.monitor import beats
from evener.run.pipeline import Pipeline
from evener.run.running import Running

_LOG: Final = logging.getLogger(__name__)

Wanted = tuple[Plan, Slowdowns]
"""A plan, and what is lost or slow when it is needed."""


class Standby:
    """Pipelines that are open, and have run nothing yet.

    One thread calls `hold`, another may take what is ready meanwhile.

    Args:
        open_pipeline: makes the pipeline of a plan, not yet open.
        may_hold: whether there is room for the pipeline of a plan; asked before each is opened.
        most: how many are held at most.
        margin: by how much of its rate a plan must be better than one held for it not to do.
    """

    def __init__(
        self,
        open_pipeline: Callable[[Plan], Pipeline],
        may_hold: Callable[[Plan], bool],
        *,
        most: int,
        margin: float,
    ) -> None:
        self._open_pipeline = open_pipeline
        self._may_hold = may_hold
        self._most = most
        self._margin = margin
        self._changed = threading.Condition()  # guards all that follows
        self._held: list[Running] = []
        self._opening: Running | None = None
        self._refused: list[Plan] = []
        self._over = False
        self._closed = False
        self._leaving = Leaving()

    @property
    def held(self) -> tuple[Plan, ...]:
        """The plans that are held ready."""
        with self._changed:
            return tuple(one.plan for one in self._held)

    @property
    def opening(self) -> bool:
        """Whether one is being opened just now, which takes the running one some of its cores."""
        with self._changed:
            return self._opening is not None

    def begin(self) -> None:
        """Let `hold` open pipelines, after `interrupt` had stopped it."""
        with self._changed:
            self._over = False

    def interrupt(self) -> None:
        """Let `hold` return soon, and give up what it opens just now."""
        with self._changed:
            self._over = True
            self._give_up_opening()

    def hold(self, wanted: Iterable[Wanted]) -> bool:
        """Hold what is wanted, as far as there is room, and nothing else.

        Waits until it is open. A plan that could not be opened is not tried again.

        Args:
            wanted: the likeliest first. One that is made while it is asked for, as planning takes
                a while, is not asked for after an interrupt.

        Returns:
            Whether it came to its end; not if it was interrupted.

        Raises:
            InputError: see `Pipeline`.
        """
        if self.held:  # which of them are useless only all that is wanted tells
            wanted = list(self._until_stopped(wanted))
            if self._stopped():
                return False
            self._close_useless(wanted)
        for plan, under in self._until_stopped(wanted):
            spare = self._begin_opening(plan, under)
            if spare is not None:
                self._open(spare)
        return not self._stopped()

    def take(self, plan: Plan, slowdowns: Slowdowns) -> Running | None:
        """Take a pipeline for a plan, or for one that is as good by the margin, if one is ready.

        One that is opened for it just now is waited for, and was not `ready`; another that is, is
        given up, so that it takes nobody's time.

        Args:
            plan: what is needed.
            slowdowns: what is lost or slow.
        """
        with self._changed:
            ready = self._take_held(plan, slowdowns)
            opening = self._opening
            if opening is None:
                return ready
            if ready is not None or not self._serves(opening, plan, slowdowns):
                self._give_up_opening()
                return ready
            opening.pipeline.step_forward()
            self._changed.wait_for(lambda: self._opening is not opening)
            waited = self._take_held(plan, slowdowns)
            return None if waited is None else msgspec.structs.replace(waited, ready=False)

    def close(self) -> None:
        """Close everything that is held, and wait for it; nothing is held from then on.

        Another thread may be in `hold`: what that opens just now is given up, and ends by itself.
        """
        with self._changed:
            self._closed = True
            self._give_up_opening()
            held, self._held = self._held, []
        for one in held:
            self._leaving.close(one.pipeline)
        self._leaving.wait()

    def _stopped(self) -> bool:
        with self._changed:
            return self._over or self._closed

    def _until_stopped(self, wanted: Iterable[Wanted]) -> Iterator[Wanted]:
        """Ask for one after the other, as long as `hold` may open any."""
        left = iter(wanted)
        while not self._stopped():
            try:
                yield next(left)
            except StopIteration:
                return

    def _close_useless(self, wanted: Iterable[Wanted]) -> None:
        with self._changed:
            useless = [
                one
                for one in self._held
                if not one.pipeline.usable or not any(self._serves(one, *each) for each in wanted)
            ]
            self._held = [one for one in self._held if one not in useless]
        for one in useless:
            self._leaving.close(one.pipeline)

    def _take_held(self, plan: Plan, slowdowns: Slowdowns) -> Running | None:
        for one in self._held:
            if one.pipeline.usable and self._serves(one, plan, slowdowns):
                self._held.remove(one)
                return one
        return None

    def _begin_opening(self, plan: Plan, under: Slowdowns) -> Running | None:
        with self._changed:
            if self._over or self._closed:
                return None
            if plan in self._refused or len(self._held) >= self._most:
                return None
            if any(self._serves(one, plan, under) for one in self._held):
                return None
            if not self._may_hold(plan):
                return None
            pipeline = self._open_pipeline(plan)
            self._opening = Running(plan=plan, pipeline=pipeline, planned_under=under, ready=True)
            return self._opening

    def _open(self, spare: Running) -> None:
        refusal: Exception | None = None
        opened = False
        try:
            spare.pipeline.open_behind()
            opened = True
        except (EvenerError, OSError, MemoryError) as error:  # no process or memory to be had
            refusal = error
        finally:  # whatever else it is, `take` may wait for the end of it
            wanted = self._end_opening(spare, opened=opened)
        if not wanted:  # it was given up, which is no fault of the plan
            if opened:
                with suppress(StageFailedError):  # a lane that does not end is left to itself
                    spare.pipeline.close()
        elif isinstance(refusal, StageFailedError | OSError | MemoryError):
            why = str(refusal) or type(refusal).__name__
            _LOG.warning("the plan '%s' cannot be held ready: %s", spare.plan.outline, why)
            with self._changed:
                self._refused.append(spare.plan)
        elif refusal is not None:
            raise refusal

    def _end_opening(self, spare: Running, *, opened: bool) -> bool:
        """Note what came of it; return whether it had not been given up."""
        with self._changed:
            wanted = self._opening is spare
            if wanted:
                self._opening = None
            if wanted and opened:
                self._held.append(spare)
            self._changed.notify_all()
            return wanted

    def _give_up_opening(self) -> None:
        if self._opening is not None:
            self._opening.pipeline.abandon(StageFailedError("it is not needed any more", stage=-1))
            self._opening = None
            self._changed.notify_all()

    def _serves(self, one: Running, plan: Plan, slowdowns: Slowdowns) -> bool:
        """Whether it does for a plan: the same, or not worse by the margin as things are."""
        if one.plan == plan:
            return True
        if any(isinf(slowdowns.get(unit, 1.0)) for unit in _units(one.plan)):
            return False
        now_hz = rate_under(one.plan, slowdowns, planned_under=one.planned_under)
        return not beats(plan, one.plan, now_hz, margin=self._margin)


def likeliest_losses(plan: Plan, slowdowns: Slowdowns) -> Iterator[Mapping[Unit, float]]:
    """Yield what is lost or slow once a lane of a plan fails, for each of them.

    Args:
        plan: what runs.
        slowdowns: what is lost or slow already.

    Example:
        >>> from evener.testing.plans import chain
        >>> plan = chain((1, [(0,)]), (1, [(1,), ()]))
        >>> for lost in likeliest_losses(plan, {("p0a", 0): 2.0}):
        ...     print(lost)
        {('p0a', 0): inf}
        {('p0a', 0): 2.0, ('p1a', 1): inf}
        {('p0a', 0): 2.0, ('p1b', None): inf}
    """
    for stage in plan.stages:
        for lane in stage.lanes:
            yield {**slowdowns, **dict.fromkeys(lane.units, inf)}


def _units(plan: Plan) -> Iterator[Unit]:
    return (unit for stage in plan.stages for lane in stage.lanes for unit in lane.units)
