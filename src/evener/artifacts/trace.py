"""What a run of a plan over frames came to, by the wall clock."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import msgspec
import numpy as np


class StageTrace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One lane of a stage during a run.

    Attributes:
        stage: index of the stage, from 0.
        processor: where the lane ran.
        cores: the logical CPUs it was pinned to, as the kernel confirmed.
        frames: frames it processed.
        median_s: median time per frame in its session, in seconds.
        busy: share of the run it spent in its session, in [0, 1].
        planned_s: time per frame that the plan predicted.
    """

    stage: int
    processor: str
    cores: tuple[int, ...]
    frames: int
    median_s: float
    busy: float
    planned_s: float


class Switch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change of plan during a supervised run.

    Attributes:
        frame: number of the first frame that the new plan answered.
        at_s: when it was decided, in seconds from the first credit.
        cause: "failed", "hung", "drifted" where a stage was slower than planned, or "recovered"
            where what was lost or slow was as planned, or was to be tried, again.
        reason: the same with names and figures.
        before: the plan until then, in a few words.
        after: the plan from then on.
        replayed: how many frames the new plan ran that the old one had begun.
        pause_s: time at the sink from the last answer of the old plan to the first of the new.
        noticing_s: how much of that went by before it was decided: where a lane hangs, what it was
            allowed to take.
        ready: whether the new plan was held ready, its sessions open, when it was needed.
        misses: limits that the plans were asked to keep and that the new one is predicted to miss,
            as no plan that is left keeps them.
    """

    frame: int
    at_s: float
    cause: Literal["failed", "hung", "drifted", "recovered"]
    reason: str
    before: str
    after: str
    replayed: int
    pause_s: float
    noticing_s: float = 0.0
    ready: bool = False
    misses: tuple[str, ...] = ()


class Trace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rate and latency at the sink, and how busy each lane was.

    Attributes:
        frames: frames answered.
        dropped: frames that came while there was no room for them, and were left out.
        elapsed_s: from the first credit to the last emission, in seconds.
        rate_hz: frames per second while the pipeline was full; see `streaming_rate_hz`.
        latency_p50_s: median from credit to in-order emission; from arrival where the source does
            not wait.
        latency_p99_s: 99th percentile of the same.
        wait_p50_s: median wait for a credit, which latency leaves out unless the source does not
            wait; after a switch, that under the last plan.
        stages: one entry per lane; after a switch, those of the last plan.
        batch: how many frames went through the stages at once; stages and switches count and time
            such batches, and the latency of a frame is its batch's.
        equal: whether every answer matched the unsplit network's; None if not compared.
        max_error: largest difference from the unsplit network, as a share of the largest value of
            that output for all frames that were compared.
        checked: how many answers were compared: all, or the first ones of a source that is read
            as it goes.
        quality: metrics of the answers against labels; None where there were no labels.
        switches: changes of plan, of a supervised run; their pauses count in the rate.
        replayed: frames that were run again on another plan before they were answered.
        simulated: whether the processors were simulated: not here, only their times were kept to.
        energy_j: energy per frame, that of the idle machine included: as metered, of a simulated
            board as planned; None if nobody knows it.
        overruns: of simulated processors, how many computations took longer here than they would
            there; the rate is too low and the latency too high by as much.
    """

    kind: ClassVar[str] = "trace"
    schema: ClassVar[int] = 2  # 2: switches

    frames: int
    dropped: int
    elapsed_s: float
    rate_hz: float
    latency_p50_s: float
    latency_p99_s: float
    wait_p50_s: float
    stages: tuple[StageTrace, ...]
    equal: bool | None = None
    max_error: float | None = None
    checked: int = 0
    quality: dict[str, float] | None = None
    batch: int = 1
    switches: tuple[Switch, ...] = ()
    replayed: int = 0
    simulated: bool = False
    overruns: int = 0
    energy_j: float | None = None


def streaming_rate_hz(
    granted_s: Sequence[float], emitted_s: Sequence[float], *, credits: int
) -> float:
    """Return frames per second while the pipeline was full.

    A frame holds its credit from the emission that gave the credit back to its own. It counts
    evenly over that time, so that a rate does not depend on where in a turn of unequal lanes the
    run began and ended: 16 frames on two lanes of which one takes 2.5 times as long as the other
    tell the rate within 3 %, where counting emissions is 10 % off. What counts is the time from
    the emission of the last frame that filled the pipeline to the first that let a credit go
    unused; a run too short for that counts over the whole time, filling and emptying included.

    Args:
        granted_s: when each frame was admitted, in order, at least one.
        emitted_s: when its answer was emitted, in the same order.
        credits: most frames in flight.

    Example:
        >>> streaming_rate_hz([0.0, 1.0, 2.0], [2.0, 2.5, 3.0], credits=1)
        2.0
    """
    frames = len(emitted_s)
    if frames > credits:
        ended_s = np.asarray(emitted_s, dtype=np.float64)
        begun_s = np.concatenate((np.asarray(granted_s[:credits]), ended_s[:-credits]))
        full_s, ebbing_s = ended_s[credits - 1], ended_s[frames - credits]
        held_s = ended_s - begun_s
        within_s = np.minimum(ended_s, ebbing_s) - np.maximum(begun_s, full_s)
        counts = within_s > 0
        if ebbing_s > full_s:
            return float(np.sum(within_s[counts] / held_s[counts]) / (ebbing_s - full_s))
    return frames / max(emitted_s[-1] - granted_s[0], 1e-9)
