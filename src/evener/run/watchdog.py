"""Tell a lane that hangs from one that is only slow: by the time it holds a frame."""

from collections.abc import Sequence

import numpy as np

from evener.run.record import LaneProgress


class Watchdog:
    """Finds the lane that holds one frame for too long. No clock: every look says the time.

    Too long is `factor` times the 99th percentile of the lane's last times, of the planned time
    before there is any, and at least `floor_s`. Between two looks no more than `longest_look_s`
    counts: when the whole process was stopped for a while, its lanes were too.

    Args:
        factor: how many times its 99th percentile a lane may take.
        floor_s: how long it may take in any case, in seconds.
        longest_look_s: how much of the time since the last look counts, in seconds.

    Example:
        >>> from evener.artifacts.plan import Lane
        >>> lane = Lane(processor="npu", cores=(), parts=(), time_s=0.1)
        >>> stuck = LaneProgress(stage=1, lane=lane, frame_id=7, since_s=10.0, frames=7,
        ...                      recent_s=[0.2] * 7)
        >>> dog = Watchdog(factor=10, floor_s=0.5, longest_look_s=1)
        >>> dog.look([stuck], now_s=10.5), dog.look([stuck], now_s=11.5), dog.look([stuck], 12.5)
        (None, None, LaneProgress(...))
    """

    def __init__(self, *, factor: float, floor_s: float, longest_look_s: float) -> None:
        self._factor = factor
        self._floor_s = floor_s
        self._longest_look_s = longest_look_s
        self._looked_s: float | None = None
        self._held: dict[int, tuple[tuple[int, float], float]] = {}

    def look(self, lanes: Sequence[LaneProgress], now_s: float) -> LaneProgress | None:
        """Return a lane that hangs, if one does.

        Args:
            lanes: what each lane of one pipeline does now, in the same order at every look.
            now_s: the time by the pipeline's clock.
        """
        since_look_s = now_s - self._looked_s if self._looked_s is not None else now_s
        since_look_s, self._looked_s = min(since_look_s, self._longest_look_s), now_s
        held: dict[int, tuple[tuple[int, float], float]] = {}
        for index, lane in enumerate(lanes):
            if lane.frame_id is None:
                continue
            what = (lane.frame_id, lane.since_s)
            before = self._held.get(index)
            already_s = before[1] if before is not None and before[0] == what else 0.0
            held[index] = (what, already_s + min(now_s - lane.since_s, since_look_s))
        self._held = held
        return next(
            (lanes[index] for index, (_, s) in held.items() if s > self.limit_s(lanes[index])),
            None,
        )

    def limit_s(self, lane: LaneProgress) -> float:
        """Return how long a lane may hold one frame, in seconds."""
        recent_s = lane.recent_s
        usual_s = float(np.percentile(recent_s, 99)) if recent_s else lane.lane.time_s
        return max(self._floor_s, self._factor * usual_s)
