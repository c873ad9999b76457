"""Tell a lane that hangs from one that is only slow: by the time in which nothing moves."""

from collections.abc import Sequence
from math import inf

import msgspec
import numpy as np

from evener.errors import StageFailedError
from evener.run.monitor import Limits
from evener.run.record import LaneProgress
from evener.units import show


class Hang(msgspec.Struct, frozen=True, kw_only=True):
    """A lane that hangs.

    Attributes:
        lane: what it shows.
        reason: the same with names and figures.
    """

    lane: LaneProgress
    reason: str

    @property
    def failure(self) -> StageFailedError:
        """The same as an error of its stage."""
        lane = self.lane.lane
        return StageFailedError(
            self.reason,
            stage=self.lane.stage,
            frame_id=-1 if self.lane.frame_id is None else self.lane.frame_id,
            processor=lane.processor,
            cores=lane.cores,
        )


class Watchdog:
    """Finds the lane that hangs: in a frame that it holds, or before one that waits for it.

    A lane may hold a frame for `factor` times the 99th percentile of its last times, of the planned
    time before there is any, and at least for `floor_s`. A process can be stopped between two
    frames too: if frames are in flight, no lane holds one, the caller is not in `emit` and nothing
    moves for as long as the slowest lane may hold one, then a lane of the last stage that frames
    wait for hangs.

    Between two looks no more than `longest_look_s` counts: when the whole process was stopped for a
    while, its lanes were too. No clock: every look says the time.

    Args:
        factor: how many times its 99th percentile a lane may take.
        floor_s: how long it may take in any case, in seconds.
        longest_look_s: how much of the time since the last look counts, in seconds.

    Example:
        >>> from evener.artifacts.plan import Lane
        >>> lane = Lane(processor="npu", cores=(), parts=(), time_s=0.1)
        >>> stuck = LaneProgress(stage=0, lane=lane, frame_id=7, since_s=10.0, frames=7,
        ...                      recent_s=[0.2] * 7)
        >>> dog = Watchdog(factor=10, floor_s=0.5, longest_look_s=1)
        >>> for now_s in (10.5, 11.5, 12.5):
        ...     hang = dog.look([stuck], now_s, taken=8, emitted=7, emitting=False)
        >>> hang.reason
        'stage 0 on npu hangs: it has held frame 7 for 2.5 s, and 2 s are allowed'
    """

    def __init__(self, *, factor: float, floor_s: float, longest_look_s: float) -> None:
        self._factor = factor
        self._floor_s = floor_s
        self._longest_look_s = longest_look_s
        self._looked_s: float | None = None
        self._held: dict[int, tuple[tuple[int, float], float]] = {}
        self._still: tuple[object, float] = (None, 0.0)

    def look(
        self,
        lanes: Sequence[LaneProgress],
        now_s: float,
        *,
        taken: int,
        emitted: int,
        emitting: bool,
    ) -> Hang | None:
        """Return a lane that hangs, if one does.

        Args:
            lanes: what each lane of one pipeline does now, in the same order at every look.
            now_s: the time by the pipeline's clock.
            taken: how many frames the pipeline took in this run.
            emitted: how many of them were emitted.
            emitting: whether the caller's `emit` runs just now.
        """
        since_look_s = now_s if self._looked_s is None else now_s - self._looked_s
        since_look_s, self._looked_s = min(since_look_s, self._longest_look_s), now_s
        return self._in_a_frame(lanes, now_s, since_look_s) or self._before_one(
            lanes, since_look_s, taken, emitted, emitting=emitting
        )

    def limit_s(self, lane: LaneProgress) -> float:
        """Return how long a lane may hold one frame, in seconds."""
        recent_s = lane.recent_s
        usual_s = float(np.percentile(recent_s, 99)) if recent_s else lane.lane.time_s
        return max(self._floor_s, self._factor * usual_s)

    def _in_a_frame(
        self, lanes: Sequence[LaneProgress], now_s: float, since_look_s: float
    ) -> Hang | None:
        before, self._held = self._held, {}
        for index, lane in enumerate(lanes):
            if lane.frame_id is None:
                continue
            what = (lane.frame_id, lane.since_s)
            held, already_s = before.get(index, (what, 0.0))
            held_s = min(now_s - lane.since_s, since_look_s) + (already_s if held == what else 0.0)
            self._held[index] = (what, held_s)
        for index, (_, held_s) in self._held.items():
            lane = lanes[index]
            if held_s > self.limit_s(lane):
                return Hang(
                    lane=lane,
                    reason=f"stage {lane.stage} on {lane.lane.place} hangs: it has held frame "
                    f"{lane.frame_id} for {show(now_s - lane.since_s, 'time')}, and "
                    f"{show(self.limit_s(lane), 'time')} are allowed",
                )
        return None

    def _before_one(
        self,
        lanes: Sequence[LaneProgress],
        since_look_s: float,
        taken: int,
        emitted: int,
        *,
        emitting: bool,
    ) -> Hang | None:
        if self._held or emitting or taken == emitted:
            self._still = (None, 0.0)
            return None
        where, still_s = (taken, emitted, *(lane.frames for lane in lanes)), 0.0
        if self._still[0] == where:
            still_s = self._still[1] + since_look_s
        self._still = (where, still_s)
        limit_s = max(self.limit_s(lane) for lane in lanes)
        lane = _waited_for(lanes, taken)
        if still_s <= limit_s or lane is None:
            return None
        return Hang(
            lane=lane,
            reason=f"stage {lane.stage} on {lane.lane.place} hangs: it takes none of the frames "
            f"that wait for it, nothing has moved for {show(still_s, 'time')}, and "
            f"{show(limit_s, 'time')} are allowed",
        )


def new_watchdog(limits: Limits) -> Watchdog:
    """Make one for the lanes of a pipeline, by when a lane counts as hung."""
    return Watchdog(
        factor=limits.hang_factor,
        floor_s=limits.hang_floor_s,
        longest_look_s=inf if limits.look_s is None else 2 * limits.look_s,
    )


def _waited_for(lanes: Sequence[LaneProgress], taken: int) -> LaneProgress | None:
    """Return the lane that did least of the last stage that did less than came to it."""
    stages = [[one for one in lanes if one.stage == n] for n in range(lanes[-1].stage + 1)]
    done = [taken, *(sum(lane.frames for lane in stage) for stage in stages)]
    for index in reversed(range(len(stages))):
        if done[index + 1] < done[index]:
            return min(stages[index], key=lambda lane: lane.frames)
    return None
