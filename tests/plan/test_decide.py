"""Making plans from a profile."""

from collections.abc import Callable
from itertools import pairwise
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.profile import Profile
from evener.errors import InfeasibleError, InputError
from evener.plan import candidates, make_baseline, make_plan
from evener.plan.baselines import BASELINES

ProfileOf = Callable[..., Profile]


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
