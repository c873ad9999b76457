"""Simulating the pipeline of a plan in time of its own."""

from collections.abc import Sequence
from itertools import accumulate, pairwise, repeat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.artifacts.plan import Lane, Part, Plan, Stage
from evener.errors import InputError
from evener.plan.service import lognormal, periodic, poisson
from evener.plan.simulate import Simulation, Visit, simulate
from evener.testing.plans import of_stages

PART = Part(first_block=0, last_block=0, runtime="fake")


def plan_of(*stages: Sequence[float], credits: int | None = None) -> Plan:
    """Make a plan of which only the times of the lanes count."""
    return of_stages(
        *(
            Stage(
                first_block=index,
                last_block=index,
                inputs=("x",),
                outputs=("y",),
                lanes=tuple(
                    Lane(processor=f"p{number}", cores=(), parts=(PART,), time_s=time_s)
                    for number, time_s in enumerate(times_s)
                ),
            )
            for index, times_s in enumerate(stages)
        ),
        credits=credits,
    )


def emitted(found: Simulation) -> list[float]:
    """Return when each frame's answer left, from the visits to the last stage."""
    last = max(visit.stage for visit in found.visits)
    ready_s = {visit.frame: visit.ended_s for visit in found.visits if visit.stage == last}
    return list(accumulate((ready_s[frame] for frame in sorted(ready_s)), max))


# Times are whole multiples of a power of two, so that sums are exact.
ticks = st.integers(min_value=1, max_value=40).map(lambda number: number / 8)
chains = st.lists(ticks, min_size=1, max_size=5)
teams = st.lists(st.lists(ticks, min_size=1, max_size=4), min_size=1, max_size=4)


def by_recurrence(
    times_s: Sequence[Sequence[float]], credits: int, arrivals_s: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Return credit and emission of each frame where every stage has one lane.

    Args:
        times_s: by frame and stage.
        credits: frame i is let in once frame i - credits has left.
        arrivals_s: when each frame arrives.
    """
    granted: list[float] = []
    left: list[float] = []
    free_s = [0.0] * len(times_s[0])
    for frame, of in enumerate(times_s):
        credit_s = left[frame - credits] if frame >= credits else 0.0
        now_s = max(arrivals_s[frame], credit_s, free_s[0])
        granted.append(now_s)
        for stage, time_s in enumerate(of):
            now_s = max(now_s, free_s[stage]) + time_s
            free_s[stage] = now_s
        left.append(now_s)
    return granted, left


@given(st.data(), chains, st.integers(1, 7), st.integers(1, 30))
def test_single_lanes_follow_the_recurrence(
    data: st.DataObject, means: list[float], credits: int, frames: int
) -> None:
    times_s = data.draw(st.lists(st.tuples(*[ticks] * len(means)), min_size=frames))[:frames]
    gaps_s = data.draw(st.lists(st.sampled_from([0.0, 0.125, 3.0]), min_size=frames))[:frames]
    arrivals_s = np.cumsum(gaps_s).tolist()

    found = simulate(
        plan_of(*([mean] for mean in means), credits=credits),
        frames=frames,
        service=[[iter(of)] for of in zip(*times_s, strict=True)],
        arrivals_s=arrivals_s,
        keep_visits=True,
    )

    granted, left = by_recurrence(times_s, credits, arrivals_s)
    assert [visit.came_s for visit in found.visits if visit.stage == 0] == granted
    assert emitted(found) == left
    latencies = np.array(left) - np.array(granted)
    assert found.latency_p99_s == np.percentile(latencies, 99)
    assert found.wait_p50_s == np.median(np.array(granted) - np.array(arrivals_s))


@given(chains, st.integers(0, 3))
def test_constant_stages_run_at_the_rate_of_the_slowest(times_s: list[float], extra: int) -> None:
    credits = len(times_s) + extra
    plan = plan_of(*([one] for one in times_s), credits=credits)
    found = simulate(plan, frames=60, keep_visits=True)

    assert found.rate_hz == pytest.approx(1 / max(times_s))
    granted = [visit.came_s for visit in found.visits if visit.stage == 0]
    latencies = [end - begin for begin, end in zip(granted, emitted(found), strict=True)]
    # Of the frames that fill it, those behind the first may wait a little longer.
    assert max(latencies[credits:]) <= credits * max(times_s)


@given(teams, st.integers(1, 12))
def test_no_more_frames_are_in_flight_than_credits_and_no_lane_rests_without_need(
    times_s: list[list[float]], credits: int
) -> None:
    found = simulate(plan_of(*times_s, credits=credits), frames=40, keep_visits=True)

    left = emitted(found)
    by_lane: dict[tuple[int, int], list[Visit]] = {}
    for visit in found.visits:
        by_lane.setdefault((visit.stage, visit.lane), []).append(visit)
        assert visit.came_s <= visit.begun_s < visit.ended_s
        if visit.stage == 0:  # at its admission fewer than all credits were taken
            assert visit.frame - sum(at_s <= visit.came_s for at_s in left) < credits
    for visits in by_lane.values():
        for one, following in pairwise(visits):
            assert one.ended_s <= following.begun_s  # one frame at a time
    for visit in found.visits:
        if visit.begun_s > visit.came_s:  # it waited, so every lane of the stage was at work
            for lane in range(len(times_s[visit.stage])):
                assert any(
                    other.begun_s <= visit.came_s < other.ended_s
                    for other in by_lane[visit.stage, lane]
                )
    assert sorted((v.frame, v.stage) for v in found.visits) == [
        (frame, stage) for frame in range(40) for stage in range(len(times_s))
    ]


def test_lanes_of_unequal_speed_share_frames_by_their_speed() -> None:
    found = simulate(plan_of([1.0, 3.0], credits=4), frames=400)

    assert found.rate_hz == pytest.approx(1 + 1 / 3, rel=0.01)
    assert [lane.frames for lane in found.lanes] == [300, 100]
    assert found.order_wait_s == pytest.approx((2 + 1 + 0 + 0) / 4, rel=0.02)


@pytest.mark.parametrize("turns", [4, 5, 6, 7, 8])
def test_a_short_run_on_lanes_of_unequal_speed_tells_the_rate_of_a_long_one(turns: int) -> None:
    for credits in (4, 5):  # by counting emissions up to 10 % too low, or 14 % too high
        found = simulate(plan_of([1.0, 2.5], credits=credits), frames=turns * credits)

        assert found.rate_hz == pytest.approx(1 + 1 / 2.5, rel=0.03)


def test_the_lane_that_has_been_free_longest_takes_the_next_frame() -> None:
    found = simulate(plan_of([1.0, 1.0, 1.0]), frames=6, arrivals_s=periodic(0.5), keep_visits=True)

    assert [visit.lane for visit in found.visits] == [0, 1, 2, 0, 1, 2]


def test_one_credit_means_one_frame_after_the_other() -> None:
    found = simulate(plan_of([1.0], [2.0], [4.0], credits=1), frames=10)

    assert (found.rate_hz, found.latency_p50_s) == (1 / 7, 7)
    assert [lane.busy for lane in found.lanes] == pytest.approx([1 / 7, 2 / 7, 4 / 7])


def test_credits_beyond_need_only_wait_before_the_slowest_stage() -> None:
    found = simulate(plan_of([1.0], [2.0], credits=6), frames=200)

    assert (found.rate_hz, found.latency_p50_s) == (0.5, 12)
    assert found.stage_wait_s[0] == 0
    assert found.stage_wait_s[1] == pytest.approx(12 - 1 - 2, rel=0.05)


def test_frames_that_come_seldom_find_everything_free() -> None:
    found = simulate(plan_of([1.0], [2.0]), frames=50, arrivals_s=periodic(0.25))

    assert found.rate_hz == pytest.approx(0.25)
    assert (found.latency_p99_s, found.wait_p50_s) == (3, 0)


def test_random_arrivals_wait_as_queueing_theory_says() -> None:
    rng = np.random.default_rng(0)  # M/D/1 at a load of 0.5 waits half a service time on average
    found = simulate(
        plan_of([1.0], credits=1), frames=20_000, arrivals_s=poisson(0.5, rng), keep_visits=True
    )

    arrivals = poisson(0.5, np.random.default_rng(0))
    waits = [visit.came_s - next(arrivals) for visit in found.visits]
    assert np.mean(waits) == pytest.approx(0.5, rel=0.1)
    assert found.rate_hz == pytest.approx(0.5, rel=0.02)


def test_jitter_slows_a_pipeline_that_has_no_spare_credit() -> None:
    plan = plan_of([1.0], [1.0], [1.0])

    def rate(credits: int) -> float:
        service = lognormal(plan, [[0.3]] * 3, np.random.default_rng(0))
        return simulate(plan, frames=3000, service=service, credits=credits).rate_hz

    assert rate(3) < rate(6) < rate(12) < 1


def test_a_channel_never_holds_a_frame_back() -> None:
    """As in the running pipeline, whose channels have as many slots as there are credits."""
    found = simulate(plan_of([1.0], [50.0], credits=8), frames=8, keep_visits=True)

    assert [v.ended_s for v in found.visits if v.stage == 0] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_visits_are_kept_only_if_asked() -> None:
    assert simulate(plan_of([1.0]), frames=3).visits == ()
    assert len(simulate(plan_of([1.0]), frames=3, keep_visits=True).visits) == 3


@pytest.mark.parametrize(
    ("plan", "arguments", "text"),
    [
        (plan_of([1.0]), {"frames": 0}, "0 frames cannot be simulated; give at least 1"),
        (plan_of([1.0]), {"frames": 1, "credits": 0}, "0 credits let no frame in"),
        (plan_of([1.0], []), {"frames": 1}, "'tiny' has no stage, or one without a lane"),
        (plan_of([0.0]), {"frames": 1}, "lane 0 of stage 0 takes 0.0 s for frame 0"),
        (
            plan_of([1.0]),
            {"frames": 1, "service": [[repeat(float("nan"))]]},
            "takes nan s for frame 0; a time must be above 0",
        ),
        (
            plan_of([1.0]),
            {"frames": 3, "arrivals_s": [0.0, 1.0]},
            "2 arrivals are too few for 3 frames; give one for each frame",
        ),
    ],
)
def test_what_cannot_be_simulated_is_refused(
    plan: Plan, arguments: dict[str, object], text: str
) -> None:
    with pytest.raises(InputError, match=text):
        simulate(plan, **arguments)  # type: ignore[arg-type] # as a caller without types might
