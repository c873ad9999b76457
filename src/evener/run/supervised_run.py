"""Answer the frames of one run in legs, each by the plan of its time.

As long as all goes well there is one leg. It ends before the frames do when a lane fails, when
`lookout.py` gives a hanging pipeline up, or when it has drained for a plan that was opened beside
it. The next leg takes up the frames that were not answered.
"""

from collections.abc import Callable, Iterator

from evener.artifacts.trace import Switch, Trace
from evener.errors import ChannelClosedError, InputError, StageFailedError
from evener.run.blame import Blame
from evener.run.change import Change
from evener.run.condition import Condition
from evener.run.current import Current
from evener.run.entry import Frame
from evener.run.plans import Plans
from evener.run.record import Record, trace_of_legs
from evener.run.replay import Leg, ReplayBuffer
from evener.run.running import Running
from evener.run.sink import Emit, Failed


class SupervisedRun:
    """What is known of one run, from its first frame to its last; all under the lock of `current`.

    Args:
        frames: what is to be answered.
        emit: takes the answers.
        failed: takes what a stage raised at a frame; if None, its lane is at fault.
        record: notes the times.
        current: the pipeline that runs.
        plans: opens the plan that suits what is left.
        condition: what is known of the machine.

    Attributes:
        buffer: the frames that were taken and not emitted.
        leg: the one in progress; None while no pipeline runs.
        next: a change whose plan was opened beside the running one.
        hung: why the leg was abandoned, if a lane of it hangs.
        broken: what ends the run, though it is no stage's fault.
    """

    def __init__(
        self,
        frames: Iterator[Frame | None],
        emit: Emit,
        *,
        failed: Failed | None,
        record: Record,
        current: Current,
        plans: Plans,
        condition: Condition,
    ) -> None:
        self.buffer = ReplayBuffer(frames, emit, record, failed=failed)
        self._frames_may_fail = failed is not None
        self.leg: Leg | None = None
        self.next: Change | None = None
        self.hung: StageFailedError | None = None
        self.broken: Exception | None = None
        self._record = record
        self._current = current
        self._plans = plans
        self._blame = Blame(condition)
        self._switches: list[Switch] = []

    def answer(self, follow: Callable[[Running], None]) -> Trace:
        """Run leg after leg until every frame was answered.

        Args:
            follow: told what runs before each leg, the lock being held.

        Raises:
            EvenerError: see `SupervisedPipeline.run`.
        """
        last: Trace | None = None
        leg = self.buffer.leg()
        while self.buffer.more():
            running = self._current.present()
            with self._current.lock:
                if self.broken is not None:
                    raise self.broken
                follow(running)
                self.leg = leg
            leg.states_told = running.pipeline.states_told
            try:
                last = running.pipeline.run(
                    leg.frames(),
                    leg.emit,
                    first=leg.first,
                    failed=leg.fail if self._frames_may_fail else None,
                    states=self.buffer.states,
                )
            except (StageFailedError, ChannelClosedError) as error:
                leg = self._switch(leg, self._recover(running, error))
            else:
                change = self._hand_over(running)
                if change is not None:
                    leg = self._switch(leg, change)
        if last is None and not self._record.emitted:
            raise InputError("there is no frame to run; give at least one")
        if last is not None and not self._switches:
            return last
        return trace_of_legs(
            self._record,
            last,
            switches=self._switches,
            replayed=self.buffer.replayed,
            credits=self._plans.home.credits,
        )

    def end(self) -> None:
        """Close what was opened for it and not taken up; it must not be in `answer`."""
        with self._current.lock:
            unused, self.next, self.leg = self.next, None, None
        if unused is not None:
            self._current.leave(unused.to)

    def _hand_over(self, running: Running) -> Change | None:
        """Take up the plan that was opened beside the one that has drained, if there is one."""
        with self._current.lock:
            change, self.next, self.leg = self.next, None, None
            abandoned, self.hung = self.hung is not None, None  # at its last frame, just too early
            if change is None and not abandoned:
                return None
            self._current.running = None
        self._current.leave(running)
        return change

    def _recover(self, running: Running, error: StageFailedError | ChannelClosedError) -> Change:
        """Open a plan without what failed.

        Raises:
            EvenerError: `error` is not of a lane, the frame is at fault, or nothing is left.
        """
        at_s = self._record.clock()
        with self._current.lock:
            unused, self.next, self.leg = self.next, None, None
            hung, self.hung = self.hung, None
        if unused is not None:
            self._current.leave(unused.to)
        if hung is not None or self.broken is not None:
            self._current.give_up()  # it was abandoned
        if self.buffer.failure is not None:
            raise self.buffer.failure
        if self.broken is not None:
            raise self.broken
        # What comes first counts: what the lanes of an abandoned pipeline say last is no cause.
        failed = hung or (error if isinstance(error, StageFailedError) else error.__cause__)
        if not isinstance(failed, StageFailedError) or not failed.processor:
            raise error
        self._current.give_up()
        emitted = self.buffer.emitted
        self._blame.note(failed, emitted=emitted)
        self._plans.lose(failed)
        return Change(
            cause="failed" if hung is None else "hung",
            reason=str(failed),
            at_s=at_s,
            before=running.plan,
            to=self._plans.open_what_is_left(failed, emitted=emitted),
        )

    def _switch(self, old: Leg, change: Change) -> Leg:
        self._current.take_up(change.to)
        leg = self.buffer.leg()
        self._switches.append(change.between(old, leg, begun_s=self._record.granted[0]))
        return leg
