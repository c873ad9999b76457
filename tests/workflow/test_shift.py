"""Blocks move from the stage that takes longest, until the machine is no quicker."""

from collections.abc import Callable, Mapping, Sequence

import msgspec
import pytest

from evener.artifacts.plan import Asked, Plan
from evener.artifacts.profile import Profile
from evener.artifacts.trace import StageTrace, Trace
from evener.plan.manual import Seat, make_manual_plan
from evener.testing.profiles import make_profile
from evener.workflow.shift import best_shift, can_shift, shifted, with_spare

Times = Callable[[int, int], float]
BLOCKS = 10


def profile(big: Times, little: Times) -> Profile:
    return make_profile(BLOCKS, {"big": 1, "little": 1}, {("big", 1): big, ("little", 1): little})


def evenly(seconds: float) -> Times:
    return lambda first, last: seconds * (last - first + 1)


def plan_cut(found: Profile, *cuts: int, seats: Sequence[str] = ("big", "little")) -> Plan:
    return make_manual_plan(found, cuts=cuts, seats=[Seat(name, 1) for name in seats])


class Machine:
    """Runs plans without any noise, in times of its own."""

    def __init__(self, **times: Times) -> None:
        self._times = times
        self.trials: list[list[int]] = []

    def __call__(
        self, plans: Mapping[str, Plan], rounds: int, _seed: int
    ) -> dict[str, list[Trace]]:
        self.trials.append([plan.stages[0].last_block for plan in plans.values()])
        return {name: [self._run(plan)] * rounds for name, plan in plans.items()}

    def _run(self, plan: Plan) -> Trace:
        stages = tuple(
            StageTrace(
                stage=number,
                processor=lane.processor,
                cores=lane.cores,
                frames=8,
                median_s=self._times[lane.processor](stage.first_block, stage.last_block),
                busy=1.0,
                planned_s=lane.time_s,
            )
            for number, stage in enumerate(plan.stages)
            for lane in stage.lanes
        )
        latency_s = sum(one.median_s for one in stages)
        return Trace(
            frames=8,
            dropped=0,
            elapsed_s=1.0,
            rate_hz=1 / max(one.median_s for one in stages),
            latency_p50_s=latency_s,
            latency_p99_s=latency_s,
            wait_p50_s=0,
            stages=stages,
        )


def cut_of(plan: Plan) -> int:
    return plan.stages[0].last_block


@pytest.mark.parametrize("start", [1, 3, 8])
def test_blocks_move_until_the_machine_is_no_quicker(start: int) -> None:
    known = profile(evenly(0.010), evenly(0.010))
    machine = Machine(big=evenly(0.010), little=evenly(0.025))  # best 7 and 3 blocks

    best = best_shift(known, plan_cut(known, start), machine)

    assert cut_of(best) == 6
    assert machine.trials[0] == [start]


def test_a_balanced_plan_stays_as_it_is() -> None:
    known = profile(evenly(0.010), evenly(0.025))
    machine = Machine(big=evenly(0.010), little=evenly(0.025))
    plan = plan_cut(known, 6)

    assert best_shift(known, plan, machine) == plan


def test_gains_within_the_noise_move_nothing() -> None:
    known = profile(evenly(0.010), evenly(0.010))
    slow = {7: 1.0, 6: 0.995, 5: 0.995, 4: 0.995}
    machine = Machine(big=lambda _, last: slow[last], little=lambda *_: 0.1)

    assert cut_of(best_shift(known, plan_cut(known, 7), machine)) == 7


def test_a_plan_that_misses_the_limit_gives_way_to_one_that_keeps_it() -> None:
    known = profile(evenly(0.010), evenly(0.010))
    machine = Machine(
        big=lambda *_: 0.5, little=lambda first, last: 0.4 if last - first < 3 else 0.1
    )
    plan = plan_cut(known, 7)

    assert cut_of(best_shift(known, plan, machine)) == 7
    assert cut_of(best_shift(known, plan, machine, max_latency_s=0.7)) < 6


def test_blocks_go_to_either_neighbour_that_takes_less() -> None:
    known = make_profile(
        BLOCKS,
        {"a": 1, "b": 1, "c": 1},
        {(name, 1): evenly(0.010) for name in ("a", "b", "c")},
    )
    plan = plan_cut(known, 2, 6, seats=("a", "b", "c"))

    def cuts(times_s: Sequence[float]) -> set[tuple[int, ...]]:
        found = shifted(known, plan, times_s)
        return {tuple(stage.last_block for stage in one.stages[:-1]) for one in found}

    assert cuts([1, 3, 2]) == {(3, 6), (4, 6), (5, 6), (2, 5), (2, 4), (2, 3)}
    assert cuts([3, 1, 2]) == {(1, 6), (0, 6)}
    assert cuts([2, 3, 3]) == {(3, 6), (4, 6), (5, 6)}
    assert cuts([1, 1, 1]) == set()


def test_there_are_no_more_rivals_than_there_is_time_for() -> None:
    slow = profile(evenly(1.0), evenly(1.0))
    (only,) = shifted(slow, plan_cut(slow, 7), [2.0, 1.0])
    assert cut_of(only) == 6  # 7 blocks of a quarter of a second before 3 of half a second


def test_what_is_asked_of_a_plan_goes_with_it() -> None:
    known = profile(evenly(0.010), evenly(0.010))
    plan = plan_cut(known, 7)
    (moved, *_) = shifted(known, plan, [2.0, 1.0])
    assert (moved.method, moved.objective, moved.asked) == (
        plan.method,
        plan.objective,
        plan.asked,
    )


def test_only_stages_of_one_session_can_shift() -> None:
    known = profile(evenly(0.010), evenly(0.010))
    assert can_shift(plan_cut(known, 4))
    assert not can_shift(plan_cut(known, seats=["big"]))


def test_a_plan_that_does_not_fit_in_memory_is_left_to_whoever_tries_it() -> None:
    known = profile(evenly(0.010), evenly(0.010))
    plan = plan_cut(known, 7)
    assert best_shift(known, plan, lambda *_: {}) == plan


def test_one_more_frame_is_let_in_where_it_keeps_the_limit_in_simulated_time() -> None:
    known = profile(evenly(0.010), evenly(0.025))
    plan = plan_cut(known, 6)  # 70 and 75 ms: a third frame waits between them, for long
    any_time = with_spare(known, plan)
    assert [(cut_of(one), one.credits) for one in any_time] == [(6, 3), (7, 3)]
    assert any_time[0].latency_s == pytest.approx(3 * 0.075)

    # Behind a first stage of 80 ms and before a last one of 50 ms it never does.
    limited = with_spare(known, plan, max_latency_s=0.2)
    assert [(cut_of(one), one.credits) for one in limited] == [(7, 3), (8, 3)]
    assert limited[0].latency_s == pytest.approx(0.080 + 0.050)
    assert limited[0].latency_s < limited[0].credits / limited[0].rate_hz

    assert with_spare(known, plan, max_latency_s=0.1) == ()


def test_what_is_asked_of_a_plan_goes_with_one_more_frame() -> None:
    known = profile(evenly(0.010), evenly(0.025))
    plan = msgspec.structs.replace(plan_cut(known, 6), asked=Asked(max_latency_s=0.5))
    for one in with_spare(known, plan):
        assert (one.asked, one.objective, one.misses) == (plan.asked, plan.objective, ())
