"""Simulate the pipeline of a plan event by event, as `evener.run` would run it.

A prediction knows the slowest stage; this knows who waits for whom. It follows the rules of the
running pipeline: a frame in flight holds a credit; the lane that has been free longest takes the
next frame; the lane that hands on pays for it, within its own time; answers leave in order. Every
channel has as many slots as there are credits, so that handing on never waits. What the host
itself adds, a few tens of microseconds a stage, is left out.

No clock and no randomness: how long each frame takes comes from `evener.plan.service`.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

import msgspec
import numpy as np

from evener.artifacts.plan import Plan
from evener.artifacts.trace import streaming_rate_hz
from evener.errors import InputError
from evener.plan.service import Service, constant

_SOURCE = -1  # the "stage" of an event that says that a frame arrived


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """One frame in one stage.

    Attributes:
        frame: number of the frame, from 0.
        stage: index of the stage.
        lane: index of the lane within the stage.
        came_s: when it was handed to the stage; to the first, when it was admitted.
        begun_s: when a lane took it.
        ended_s: when that lane handed it on.
    """

    frame: int
    stage: int
    lane: int
    came_s: float
    begun_s: float
    ended_s: float


class LaneUse(msgspec.Struct, frozen=True, kw_only=True):
    """How much a lane had to do.

    Attributes:
        stage: index of its stage.
        processor: where it runs.
        frames: frames it processed.
        busy: share of the time that it worked, in [0, 1].
    """

    stage: int
    processor: str
    frames: int
    busy: float


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """What a simulated run came to; rate and latency are defined as in `evener.artifacts.trace`.

    Attributes:
        frames: frames answered.
        elapsed_s: from the first credit to the last emission, in seconds.
        rate_hz: frames per second while the pipeline was full.
        latency_p50_s: median from credit to in-order emission.
        latency_p95_s: 95th percentile of the same.
        latency_p99_s: 99th percentile of the same.
        wait_p50_s: median from the arrival of a frame to its credit, which latency leaves out; 0
            where a frame is always at hand.
        stage_wait_s: for each stage the mean time that a frame waits for one of its lanes.
        order_wait_s: mean time that an answer waits for those of earlier frames.
        lanes: one entry per lane.
        visits: every frame in every stage, in the order in which they ended; empty unless asked.
    """

    frames: int
    elapsed_s: float
    rate_hz: float
    latency_p50_s: float
    latency_p95_s: float
    latency_p99_s: float
    wait_p50_s: float
    stage_wait_s: tuple[float, ...]
    order_wait_s: float
    lanes: tuple[LaneUse, ...]
    visits: tuple[Visit, ...] = ()


def simulate(
    plan: Plan,
    *,
    frames: int,
    service: Service | None = None,
    arrivals_s: Iterable[float] | None = None,
    credits: int | None = None,
    keep_visits: bool = False,
) -> Simulation:
    """Let frames run through the stages of a plan in simulated time.

    Args:
        plan: the stages, their lanes and the credits.
        frames: how many, at least one.
        service: how long each lane takes for each of its frames; always its predicted time if None.
        arrivals_s: when each frame arrives, ascending, in seconds; frames that find no credit wait.
            A frame is always at hand if None.
        credits: most frames in flight; the plan's own number if None.
        keep_visits: whether to return the visits too.

    Raises:
        InputError: no frame, no credit, a stage without lanes, a time that is not above 0, or fewer
            arrivals than frames.

    Example:
        >>> from evener.testing.plans import chain
        >>> plan = chain((1, [()]), (1, [()]))  # two stages of one lane, a second each
        >>> found = simulate(plan, frames=100)
        >>> found.rate_hz, found.latency_p99_s, found.lanes[0].busy > 0.98
        (1.0, 2.0, True)
    """
    flying = plan.credits if credits is None else credits
    _check(plan, frames, flying)
    run = _Run(plan, frames, flying, service or constant(plan), arrivals_s, keep=keep_visits)
    run.play()
    return run.summary()


def _check(plan: Plan, frames: int, credits: int) -> None:
    if frames < 1:
        raise InputError(f"{frames} frames cannot be simulated; give at least 1")
    if credits < 1:
        raise InputError(f"{credits} credits let no frame in; give at least 1")
    if not plan.stages or not all(stage.lanes for stage in plan.stages):
        raise InputError(
            f"the plan of '{plan.network}' has no stage, or one without a lane; plan the network "
            "again"
        )


class _Run:
    """The state of one simulated run; times in seconds since its start."""

    def __init__(
        self,
        plan: Plan,
        frames: int,
        credits: int,
        service: Service,
        arrivals_s: Iterable[float] | None,
        *,
        keep: bool,
    ) -> None:
        self._plan = plan
        self._frames = frames
        self._credits = credits
        self._service = service
        self._arrivals: Iterator[float] | None = None if arrivals_s is None else iter(arrivals_s)
        self._next_arrival_s: float | None = None  # of the next frame, once it has been asked for
        self._idle = [deque(range(len(stage.lanes))) for stage in plan.stages]  # longest idle first
        self._queues: list[deque[int]] = [deque() for _ in plan.stages]
        self._events: list[tuple[float, int, int, int, int]] = []
        self._made = 0  # events so far: those of one moment happen in the order they were made
        self._in_flight = 0
        self._arrived_s: list[float] = []
        self._granted_s: list[float] = []
        self._emitted_s: list[float] = []
        self._early: dict[int, float] = {}  # when answers were ready that wait for earlier ones
        self._came_s = [0.0] * frames  # to the stage that a frame is in now
        self._begun_s = [0.0] * frames
        self._waited_s = [0.0] * len(plan.stages)
        self._order_waited_s = 0.0
        self._busy_s = [[0.0] * len(stage.lanes) for stage in plan.stages]
        self._served = [[0] * len(stage.lanes) for stage in plan.stages]
        self._visits: list[Visit] | None = [] if keep else None

    def play(self) -> None:
        """Let one event after the other happen until every frame was emitted."""
        self._admit(0.0)
        while self._events:
            now_s, _, stage, lane, frame = heappop(self._events)
            if stage != _SOURCE:
                self._end(stage, lane, frame, now_s)
            self._admit(now_s)

    def summary(self) -> Simulation:
        """Put the run together."""
        granted, emitted = np.array(self._granted_s), np.array(self._emitted_s)
        p50, p95, p99 = np.percentile(emitted - granted, (50, 95, 99)).tolist()
        elapsed_s = self._emitted_s[-1] - self._granted_s[0]
        return Simulation(
            frames=self._frames,
            elapsed_s=elapsed_s,
            rate_hz=streaming_rate_hz(self._granted_s, self._emitted_s, credits=self._credits),
            latency_p50_s=p50,
            latency_p95_s=p95,
            latency_p99_s=p99,
            wait_p50_s=float(np.median(granted - np.array(self._arrived_s))),
            stage_wait_s=tuple(waited_s / self._frames for waited_s in self._waited_s),
            order_wait_s=self._order_waited_s / self._frames,
            lanes=tuple(
                LaneUse(
                    stage=stage,
                    processor=lane.processor,
                    frames=self._served[stage][index],
                    busy=min(1.0, self._busy_s[stage][index] / elapsed_s),
                )
                for stage, of in enumerate(self._plan.stages)
                for index, lane in enumerate(of.lanes)
            ),
            visits=tuple(self._visits or ()),
        )

    def _admit(self, now_s: float) -> None:
        """Let the next frames in, as long as there are a credit, a lane and a frame at hand."""
        while (
            self._idle[0]
            and self._in_flight < self._credits
            and len(self._granted_s) < self._frames
        ):
            arrived_s = self._arrival(now_s)
            if arrived_s > now_s:
                return
            frame = len(self._granted_s)
            self._next_arrival_s = None
            self._in_flight += 1
            self._arrived_s.append(arrived_s)
            self._granted_s.append(now_s)
            self._came_s[frame] = now_s
            self._begin(0, self._idle[0].popleft(), frame, now_s)

    def _arrival(self, now_s: float) -> float:
        """Return when the next frame arrives; if it is still to come, that becomes an event."""
        if self._arrivals is None:
            return now_s
        if self._next_arrival_s is None:
            arrives_s = next(self._arrivals, None)
            if arrives_s is None:
                raise InputError(
                    f"{len(self._granted_s)} arrivals are too few for {self._frames} frames; give "
                    "one for each frame"
                )
            self._next_arrival_s = arrives_s
            if arrives_s > now_s:
                self._happen(arrives_s, _SOURCE, 0, 0)
        return self._next_arrival_s

    def _begin(self, stage: int, lane: int, frame: int, now_s: float) -> None:
        time_s = next(self._service[stage][lane])
        if not time_s > 0:
            raise InputError(
                f"lane {lane} of stage {stage} takes {time_s} s for frame {frame}; a time must be "
                "above 0"
            )
        self._begun_s[frame] = now_s
        self._waited_s[stage] += now_s - self._came_s[frame]
        self._busy_s[stage][lane] += time_s
        self._served[stage][lane] += 1
        self._happen(now_s + time_s, stage, lane, frame)

    def _end(self, stage: int, lane: int, frame: int, now_s: float) -> None:
        if self._visits is not None:
            self._visits.append(
                Visit(
                    frame=frame,
                    stage=stage,
                    lane=lane,
                    came_s=self._came_s[frame],
                    begun_s=self._begun_s[frame],
                    ended_s=now_s,
                )
            )
        following = stage + 1
        if following < len(self._queues):
            self._came_s[frame] = now_s
            if self._idle[following]:
                self._begin(following, self._idle[following].popleft(), frame, now_s)
            else:
                self._queues[following].append(frame)
        else:
            self._emit(frame, now_s)
        if self._queues[stage]:
            self._begin(stage, lane, self._queues[stage].popleft(), now_s)
        else:
            self._idle[stage].append(lane)

    def _emit(self, frame: int, now_s: float) -> None:
        """Let an answer leave, and those that waited for it; their credits are free then."""
        self._early[frame] = now_s
        while (ready_s := self._early.pop(len(self._emitted_s), None)) is not None:
            self._order_waited_s += now_s - ready_s
            self._emitted_s.append(now_s)
            self._in_flight -= 1

    def _happen(self, at_s: float, stage: int, lane: int, frame: int) -> None:
        heappush(self._events, (at_s, self._made, stage, lane, frame))
        self._made += 1
