"""A run notes when each lane ran each frame, if that is wanted."""

from array import array

import numpy as np
import pytest

from evener.artifacts.plan import Plan
from evener.artifacts.timeline import Timeline
from evener.run.entry import Frame
from evener.run.pipeline import Pipeline
from evener.run.record import timeline_of
from evener.runtime.session import Array
from evener.testing import plans
from evener.testing.scripted_runtime import SHAPE, ScriptedRuntime, vector

DEVICE: tuple[int, ...] = ()
COPIES = plans.chain((1, [DEVICE, DEVICE]), (1, [DEVICE]), runtime="scripted", credits=4)


def noted(plan: Plan, count: int, *, transport: str = "threads", first: int = 0) -> Timeline:
    names = {0: "x", 1: "h1", 2: "y"}
    frames: list[Frame] = [(np.full(SHAPE, value, np.float32),) for value in range(count)]
    with Pipeline(
        plan,
        lambda first, last: f"{names[first]}>{names[last + 1]}".encode(),
        inputs=[vector("x")],
        runtimes={"scripted": ScriptedRuntime()},
        transport=transport,
    ) as pipeline:
        pipeline.run(frames, nowhere)  # not noted
        pipeline.run(frames, nowhere, first=first, spans=True)
        return timeline_of(pipeline.record, network="tiny")


def nowhere(number: int, answer: tuple[Array, ...]) -> None:
    """Emit nothing."""


@pytest.mark.parametrize("transport", ["threads", "processes"])
def test_each_frame_is_once_in_each_stage_and_after_the_stage_before(transport: str) -> None:
    timeline = noted(COPIES, 20, transport=transport)

    ran: dict[int, dict[int, tuple[float, float]]] = {0: {}, 1: {}}
    for lane in timeline.lanes:
        for frame, begun_s, ended_s in zip(lane.frames, lane.begun_s, lane.ended_s, strict=True):
            assert frame not in ran[lane.stage]
            ran[lane.stage][frame] = begun_s, ended_s
    assert sorted(ran[0]) == sorted(ran[1]) == list(timeline.frames) == list(range(20))
    for frame, granted_s, emitted_s in zip(
        timeline.frames, timeline.granted_s, timeline.emitted_s, strict=True
    ):
        (begun_s, handed_s), (taken_s, ended_s) = ran[0][frame], ran[1][frame]
        assert 0 <= granted_s <= begun_s <= handed_s <= taken_s <= ended_s <= emitted_s


def test_a_lane_runs_one_frame_at_a_time() -> None:
    timeline = noted(COPIES, 50)

    for lane in timeline.lanes:
        assert all(
            ended_s <= begun_s
            for ended_s, begun_s in zip(lane.ended_s, list(lane.begun_s)[1:], strict=False)
        )


def test_frames_keep_their_numbers() -> None:
    assert list(noted(COPIES, 5, first=100).frames) == [100, 101, 102, 103, 104]


def test_nothing_is_kept_of_a_run_that_nobody_wants_to_see() -> None:
    names = {0: "x", 1: "h1", 2: "y"}
    with Pipeline(
        COPIES,
        lambda first, last: f"{names[first]}>{names[last + 1]}".encode(),
        inputs=[vector("x")],
        runtimes={"scripted": ScriptedRuntime()},
    ) as pipeline:
        pipeline.run([(np.zeros(SHAPE, np.float32),)], nowhere)

        assert all((lane.frames, lane.begun_s) == ((), ()) for lane in pipeline.record.lanes)
        assert isinstance(pipeline.record.lanes[0].times_s, array)
