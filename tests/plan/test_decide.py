"""Making plans from a profile."""

from collections.abc import Callable
from itertools import pairwise
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.plan import Asked, Objective, Plan
from evener.artifacts.profile import Profile
from evener.errors import InfeasibleError, InputError
from evener.plan import candidates, make_baseline, make_front, make_plan
from evener.plan.baselines import BASELINES

ProfileOf = Callable[..., Profile]
OBJECTIVES: tuple[Objective, ...] = ("throughput", "latency", "energy")


@pytest.fixture
def board(profile_of: ProfileOf) -> Profile:
    """Two big cores, two little ones a third as fast, and a GPU that cannot run the last block."""
    return profile_of(
        4,
        {"cpu0": 2, "cpu1": 2, "gpu0": 1},
        {
            ("cpu0", 1): lambda first, last: 1.0 * (last - first + 1),
            ("cpu0", 2): lambda first, last: 0.6 * (last - first + 1),
            ("cpu1", 1): lambda first, last: 3.0 * (last - first + 1),
            ("cpu1", 2): lambda first, last: 1.8 * (last - first + 1),
            ("gpu0", 1): lambda first, last: 0.5 * (last - first + 1) if last < 3 else None,
        },
        energy_j={"cpu0": 2.0, "cpu1": 1.0, "gpu0": 3.0},
    )


sizes_and_times = st.tuples(
    st.integers(1, 4),
    st.sampled_from([{"cpu0": 2}, {"cpu0": 3}, {"cpu0": 2, "cpu1": 2}, {"cpu0": 1, "gpu0": 1}]),
    st.randoms(use_true_random=False),
)


@settings(deadline=None, max_examples=50)
@given(case=sizes_and_times)
def test_no_baseline_is_predicted_to_be_faster_than_the_plan(
    profile_of: ProfileOf, case: tuple[int, dict[str, int], Random]
) -> None:
    blocks, sizes, random = case
    times = {
        (name, cores): lambda *_: random.uniform(0.1, 9.0)
        for name, units in sizes.items()
        for cores in range(1, units + 1)
    }
    profile = profile_of(blocks, sizes, times)

    plan = make_plan(profile)

    for what in BASELINES:
        assert make_baseline(profile, what).rate_hz <= plan.rate_hz * (1 + 1e-12)


def test_cores_are_given_to_one_lane_only_and_side_by_side(board: Profile) -> None:
    for plan in candidates(board, best=20):
        given_out = [
            (lane.processor, core)
            for stage in plan.stages
            for lane in stage.lanes
            for core in lane.cores or (-1,)
        ]
        assert len(given_out) == len(set(given_out))
        for stage in plan.stages:
            for lane in stage.lanes:
                assert set(lane.cores) <= set(board.machine[lane.processor].cores)
                assert all(right - left == 1 for left, right in pairwise(lane.cores))


def test_the_record_says_what_was_planned(board: Profile) -> None:
    plan = make_plan(board)

    assert (plan.network, plan.network_sha256) == (board.network, board.network_sha256)
    assert (plan.what, plan.method, plan.objective, plan.space) == (
        "plan",
        "dp",
        "throughput",
        "full",
    )
    assert plan.cut_points == 3
    assert plan.rate_hz == 1 / max(stage.period_s for stage in plan.stages)
    assert plan.latency_s == plan.credits / plan.rate_hz
    assert plan.bound_rate_hz is not None
    assert plan.bound_rate_hz >= plan.rate_hz


def test_stages_name_the_tensors_they_read_and_hand_on(board: Profile) -> None:
    plan = make_plan(board, stages=2)
    first, second = plan.stages

    assert first.inputs == ("t0",)
    assert first.outputs == second.inputs == (f"t{second.first_block}",)
    assert second.outputs == ("t4",)


def test_energy_adds_the_stages_up_and_weighs_the_lanes(profile_of: ProfileOf) -> None:
    times = {("cpu0", 1): lambda *_: 1.0, ("gpu0", 1): lambda *_: 0.5}
    profile = profile_of(1, {"cpu0": 1, "gpu0": 1}, times, energy_j={"cpu0": 3.0, "gpu0": 6.0})

    assert make_baseline(profile, "copies").energy_j == pytest.approx((1 * 3 + 2 * 6) / 3)


def test_energy_is_unknown_where_one_lane_has_none(profile_of: ProfileOf) -> None:
    times = {("cpu0", 1): lambda *_: 1.0, ("gpu0", 1): lambda *_: 0.5}
    profile = profile_of(1, {"cpu0": 1, "gpu0": 1}, times, energy_j={"gpu0": 6.0})

    assert make_baseline(profile, "copies").energy_j is None


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_number_of_stages_can_be_asked_for(board: Profile, stages: int) -> None:
    assert len(make_plan(board, stages=stages).stages) == stages


def test_both_methods_find_plans_of_one_rate(board: Profile) -> None:
    small = ["cpu0", "gpu0"]

    by_all = make_plan(board, method="exhaustive", processors=small)

    assert by_all.method == "exhaustive"
    assert make_plan(board, processors=small).rate_hz == pytest.approx(by_all.rate_hz)


def test_the_latency_objective_takes_the_shortest_latency(board: Profile) -> None:
    quickest = make_plan(board, objective="latency")

    assert quickest.latency_s == pytest.approx(min(p.latency_s for p in candidates(board, best=99)))
    assert quickest.latency_s < make_plan(board).latency_s


def test_stages_can_shorten_the_latency(profile_of: ProfileOf) -> None:
    first_half, second_half = [1.0, 9.0], [9.0, 1.0]
    times = {
        ("cpu0", 1): lambda first, last: sum(first_half[first : last + 1]),
        ("gpu0", 1): lambda first, last: sum(second_half[first : last + 1]),
    }

    plan = make_plan(profile_of(2, {"cpu0": 1, "gpu0": 1}, times), objective="latency")

    assert (len(plan.stages), plan.credits, plan.latency_s) == (2, 2, 2.0)


def test_of_equally_short_latencies_the_higher_rate_is_taken(profile_of: ProfileOf) -> None:
    profile = profile_of(1, {"cpu0": 2}, {("cpu0", 1): lambda *_: 2.0})

    plan = make_plan(profile, objective="latency")

    assert (plan.latency_s, plan.rate_hz) == (2.0, 1.0)


def test_a_latency_limit_costs_rate_and_holds(board: Profile) -> None:
    free = make_plan(board)

    limited = make_plan(board, max_latency_s=free.latency_s * 0.8)

    assert limited.latency_s <= free.latency_s * 0.8
    assert limited.rate_hz < free.rate_hz


def test_a_latency_that_nothing_keeps_names_the_shortest(board: Profile) -> None:
    shortest_s = make_plan(board, objective="latency").latency_s

    with pytest.raises(
        InfeasibleError,
        match=r"no plan keeps a latency of 1 ms: the shortest is 2.4 s, in 1 stage\.",
    ) as caught:
        make_plan(board, max_latency_s=0.001)

    assert caught.value.needed == 0.001
    assert caught.value.available == shortest_s


def test_the_paper_space_has_three_stages_on_three_processors(board: Profile) -> None:
    plan = make_plan(board, space="paper")

    assert len({lane.processor for stage in plan.stages for lane in stage.lanes}) == 3
    assert [len(stage.lanes) for stage in plan.stages] == [1, 1, 1]
    assert plan.configurations == 18
    assert make_plan(board, space="paper", method="exhaustive").rate_hz == pytest.approx(
        plan.rate_hz
    )


def test_the_paper_space_has_no_other_number_of_stages(board: Profile) -> None:
    with pytest.raises(InputError, match="space 'paper' have 3 stages, not 2"):
        make_plan(board, space="paper", stages=2)


def test_candidates_differ_and_come_fastest_first(board: Profile) -> None:
    found = candidates(board, best=3)

    assert len({plan.stages for plan in found}) == len(found)
    rates = [plan.rate_hz for plan in found]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == make_plan(board).rate_hz
    assert sum(plan.what == "plan" for plan in found) == 3


def test_candidates_have_every_number_of_stages(board: Profile) -> None:
    assert {len(plan.stages) for plan in candidates(board, best=99)} == {1, 2, 3, 4}


def test_candidates_hold_every_baseline_once(profile_of: ProfileOf) -> None:
    times = {("cpu0", 1): lambda *_: 2.0, ("cpu0", 2): lambda *_: 1.2}

    found = candidates(profile_of(3, {"cpu0": 2}, times), best=1)

    assert sorted(plan.what for plan in found if plan.what != "plan") == sorted(BASELINES)


def test_candidates_of_a_network_that_runs_only_in_parts_are_plans(
    profile_of: ProfileOf,
) -> None:
    times = {("cpu0", 1): lambda first, last: 1.0 if first == last else None}

    (only,) = candidates(profile_of(2, {"cpu0": 2}, times), best=5)

    assert (only.what, len(only.stages)) == ("plan", 2)


def test_no_candidates_cannot_be_asked_for(board: Profile) -> None:
    with pytest.raises(InputError, match="0 candidates asked for: at least 1"):
        candidates(board, best=0)


def test_a_plan_survives_being_written(board: Profile) -> None:
    plan = make_plan(board)

    assert msgspec.json.decode(msgspec.json.encode(plan), type=type(plan)) == plan


@pytest.fixture
def clocked(profile_of: ProfileOf) -> Profile:
    """A CPU of two clocks and a GPU of one, on a machine that draws a watt when idle."""
    times = {
        ("cpu0", 1, 1e9): lambda first, last: 2.0 * (last - first + 1),
        ("cpu0", 1, 2e9): lambda first, last: 1.0 * (last - first + 1),
        ("gpu0", 1): lambda first, last: 2.0 * (last - first + 1),
    }
    joules = {
        ("cpu0", 1, 1e9): lambda first, last: 2.0 * (last - first + 1),
        ("cpu0", 1, 2e9): lambda first, last: 5.0 * (last - first + 1),
        ("gpu0", 1): lambda first, last: 3.0 * (last - first + 1),
    }
    return profile_of(2, {"cpu0": 1, "gpu0": 1}, times, energies=joules, idle_w=1.0)


def clocks(plan: Plan) -> list[tuple[str, float | None]]:
    return [(lane.processor, lane.clock_hz) for stage in plan.stages for lane in stage.lanes]


def test_least_energy_weighs_what_stages_draw_against_the_idle_time(clocked: Profile) -> None:
    plan = make_plan(clocked, objective="energy")

    # Alone at the low clock: 4 J and 4 s of idling; with the GPU 2 J + 3 J and 2 s of it.
    assert clocks(plan) in (
        [("cpu0", 1e9), ("gpu0", None)],
        [("gpu0", None), ("cpu0", 1e9)],
    )
    assert (plan.energy_j, plan.rate_hz) == (2.0 + 3.0 + 2.0 * 1.0, 0.5)


def test_of_equally_quick_plans_the_thriftier_is_taken(clocked: Profile) -> None:
    plan = make_plan(clocked, stages=2)

    # The stage beside the GPU's may take as long as that.
    assert ("cpu0", 1e9) in clocks(plan)
    assert plan.rate_hz == 0.5


def test_a_rate_that_the_thriftiest_plan_misses_costs_energy(clocked: Profile) -> None:
    plan = make_plan(clocked, objective="energy", min_rate_hz=0.6)

    assert plan.rate_hz >= 0.6
    assert plan.energy_j is not None
    assert plan.energy_j > 7.0


def test_an_energy_limit_costs_rate_and_holds(clocked: Profile) -> None:
    free = make_plan(clocked)
    limited = make_plan(clocked, max_energy_j=7.0)

    assert limited.energy_j == 7.0
    assert limited.rate_hz < free.rate_hz


def test_the_front_holds_the_best_plan_by_every_objective(clocked: Profile) -> None:
    front = make_front(clocked)

    assert [plan.rate_hz for plan in front] == sorted(
        (plan.rate_hz for plan in front), reverse=True
    )
    assert {plan.objective for plan in front} == {"pareto"}
    for objective in OBJECTIVES:
        best = make_plan(clocked, objective=objective)
        assert (best.rate_hz, best.latency_s, best.energy_j) in [
            (plan.rate_hz, plan.latency_s, plan.energy_j) for plan in front
        ]
    assert make_plan(clocked, objective="pareto").stages == front[0].stages


def test_the_front_keeps_the_limits(clocked: Profile) -> None:
    front = make_front(clocked)
    within = make_front(clocked, min_rate_hz=0.5, max_energy_j=8.0)

    asked = Asked(min_rate_hz=0.5, max_energy_j=8.0)
    assert within == tuple(
        msgspec.structs.replace(plan, asked=asked)
        for plan in front
        if plan.rate_hz >= 0.5 and (plan.energy_j or 0) <= 8.0
    )
    assert 0 < len(within) < len(front)


def test_without_energies_the_front_weighs_rate_and_latency(profile_of: ProfileOf) -> None:
    profile = profile_of(1, {"cpu0": 2}, {("cpu0", 1): lambda *_: 2.0, ("cpu0", 2): lambda *_: 1.5})

    assert [(plan.rate_hz, plan.latency_s, plan.energy_j) for plan in make_front(profile)] == [
        (1.0, 2.0, None),
        (1 / 1.5, 1.5, None),
    ]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_both_methods_choose_plans_of_the_same_figures(
    clocked: Profile, objective: Objective
) -> None:
    by_dp = make_plan(clocked, objective=objective)
    by_all = make_plan(clocked, objective=objective, method="exhaustive")

    assert (by_dp.rate_hz, by_dp.latency_s, by_dp.energy_j) == pytest.approx(
        (by_all.rate_hz, by_all.latency_s, by_all.energy_j)
    )


def test_energy_without_energies_is_refused(profile_of: ProfileOf) -> None:
    profile = profile_of(1, {"cpu0": 1}, {("cpu0", 1): lambda *_: 1.0})

    with pytest.raises(InputError, match="the profile of board has no energies of cpu0"):
        make_plan(profile, objective="energy")
    with pytest.raises(InputError, match="has no energies of cpu0"):
        make_front(profile, max_energy_j=1.0)


def test_the_bound_holds_for_every_plan_at_every_clock(clocked: Profile) -> None:
    for plan in make_front(clocked):
        assert plan.bound_rate_hz is not None
        assert plan.rate_hz <= plan.bound_rate_hz
