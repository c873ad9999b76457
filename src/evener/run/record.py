"""Note when each frame was admitted and emitted, and make a trace of it."""

from array import array
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import numpy as np

from evener.artifacts.plan import Lane
from evener.artifacts.timeline import LaneSpans, Timeline
from evener.artifacts.trace import StageTrace, Switch, Trace, streaming_rate_hz

RECENT: Final = 128  # times that a lane's progress shows


class Record:
    """Times of one run, in seconds of one clock.

    Holds 24 bytes per frame, so that percentiles are exact. Written by one thread at a time.

    Args:
        clock: the time, in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.granted = array("d")
        self.waited = array("d")
        self.emitted = array("d")
        self.dropped = 0
        self.lanes: Sequence[LaneRecord] = ()
        """What each lane did, once the run is over."""


class LaneProgress(msgspec.Struct, frozen=True, kw_only=True):
    """What one lane does just now.

    Attributes:
        stage: index of its stage.
        lane: where and what it runs.
        frame_id: the frame in its sessions; None while it waits.
        since_s: when that frame entered them, by the pipeline's clock.
        frames: how many frames it ran before in this run.
        recent_s: times of the last of them, at most `RECENT`, in seconds.
        process: id of the process it lives in; None for this one.
        busy_s: what all frames took since it was opened, those of earlier runs too, in seconds.
    """

    stage: int
    lane: Lane
    frame_id: int | None
    since_s: float
    frames: int
    recent_s: Sequence[float]
    process: int | None = None
    busy_s: float = 0.0


class LaneRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What one lane did during a run.

    Attributes:
        stage: index of its stage.
        processor: where it ran.
        cores: where the kernel kept its threads.
        times_s: time of each frame in its sessions, in seconds.
        planned_s: time per frame that the plan predicted.
        frames: numbers of the frames, in the order of their times; none unless they were wanted.
        begun_s: when each entered the sessions, by the pipeline's clock; as for `frames`.
    """

    stage: int
    processor: str
    cores: tuple[int, ...]
    times_s: Sequence[float]
    planned_s: float
    frames: Sequence[int] = ()
    begun_s: Sequence[float] = ()


def trace_of(record: Record, lanes: Sequence[LaneRecord], *, credits: int) -> Trace:
    """Summarise a run of one frame or more.

    The rate is that of `evener.artifacts.trace.streaming_rate_hz`. A lane that no frame came to has
    a median of 0.

    Args:
        record: what was noted.
        lanes: what each lane did.
        credits: most frames in flight.

    Example:
        >>> record = Record(clock=lambda: 0.0)
        >>> record.granted.extend([0.0, 1.0, 2.0])
        >>> record.waited.extend([0.0, 0.0, 0.0])
        >>> record.emitted.extend([2.0, 2.5, 3.0])
        >>> trace = trace_of(record, [], credits=1)
        >>> trace.rate_hz, trace.latency_p50_s, trace.elapsed_s
        (2.0, 1.5, 3.0)
    """
    granted, emitted = np.asarray(record.granted), np.asarray(record.emitted)
    latencies = emitted - granted
    elapsed_s = float(emitted[-1] - granted[0])
    return Trace(
        frames=len(emitted),
        dropped=record.dropped,
        elapsed_s=elapsed_s,
        rate_hz=streaming_rate_hz(record.granted, record.emitted, credits=credits),
        latency_p50_s=float(np.percentile(latencies, 50)),
        latency_p99_s=float(np.percentile(latencies, 99)),
        wait_p50_s=float(np.percentile(record.waited, 50)),
        stages=tuple(_stage_trace(lane, elapsed_s) for lane in lanes),
    )


def timeline_of(record: Record, *, network: str) -> Timeline:
    """Put together when everything happened in a run whose lanes noted it.

    Args:
        record: what was noted, the run being over.
        network: name of the network.

    Example:
        >>> record = Record(clock=lambda: 0.0)
        >>> record.granted.append(5.0)
        >>> record.emitted.append(7.5)
        >>> lane = LaneRecord(stage=0, processor="cpu0", cores=(0,), times_s=[2.0], planned_s=2.0,
        ...                   frames=[0], begun_s=[5.25])
        >>> record.lanes = [lane]
        >>> timeline_of(record, network="tiny").lanes[0].ended_s
        [2.25]
    """
    lanes = record.lanes
    start_s = record.granted[0]
    first = min(lane.stage for lane in lanes)
    return Timeline(
        network=network,
        lanes=tuple(
            LaneSpans(
                stage=lane.stage,
                processor=lane.processor,
                cores=lane.cores,
                frames=list(lane.frames),
                begun_s=[begun_s - start_s for begun_s in lane.begun_s],
                ended_s=[
                    begun_s + took_s - start_s
                    for begun_s, took_s in zip(lane.begun_s, lane.times_s, strict=True)
                ],
            )
            for lane in lanes
        ),
        frames=sorted(frame for lane in lanes if lane.stage == first for frame in lane.frames),
        granted_s=[granted_s - start_s for granted_s in record.granted],
        emitted_s=[emitted_s - start_s for emitted_s in record.emitted],
    )


def trace_of_legs(
    record: Record,
    last: Trace | None,
    *,
    switches: Sequence[Switch],
    replayed: int,
    credits: int,
) -> Trace:
    """Summarise a run that changed its plan: rate and latency over the whole, pauses included.

    Args:
        record: what was noted over the whole run.
        last: trace of the last plan, if that came to its end: it has the lanes, and the wait.
        switches: the changes; their pauses, and what noticing took of them, are taken from the
            record.
        replayed: how many frames were run again.
        credits: most frames in flight when it began.
    """
    emitted, granted = record.emitted, record.granted
    return msgspec.structs.replace(
        trace_of(record, [], credits=credits),
        wait_p50_s=0.0 if last is None else last.wait_p50_s,
        stages=() if last is None else last.stages,
        switches=tuple(
            _with_pause(switch, emitted, granted[0])
            for switch in switches
            if switch.frame < len(emitted)
        ),
        replayed=replayed,
    )


def _with_pause(switch: Switch, emitted_s: Sequence[float], begun_s: float) -> Switch:
    before_s = emitted_s[switch.frame - 1] if switch.frame else begun_s
    pause_s = emitted_s[switch.frame] - before_s
    noticing_s = min(max(0.0, begun_s + switch.at_s - before_s), pause_s)
    return msgspec.structs.replace(switch, pause_s=pause_s, noticing_s=noticing_s)


def _stage_trace(lane: LaneRecord, elapsed_s: float) -> StageTrace:
    return StageTrace(
        stage=lane.stage,
        processor=lane.processor,
        cores=lane.cores,
        frames=len(lane.times_s),
        median_s=float(np.median(lane.times_s)) if lane.times_s else 0.0,
        busy=min(1.0, sum(lane.times_s) / elapsed_s) if elapsed_s > 0 else 0.0,
        planned_s=lane.planned_s,
    )
