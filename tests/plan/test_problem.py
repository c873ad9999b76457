"""Stating what a planner has to decide."""

from collections.abc import Callable
from math import inf

import msgspec
import pytest

from evener.artifacts.profile import HandOff, Profile, Transfer
from evener.errors import InfeasibleError, InputError
from evener.plan.problem import make_problem
from evener.plan.teams import Team

ProfileOf = Callable[..., Profile]


def additive(per_block_s: float) -> Callable[[int, int], float]:
    return lambda first, last: per_block_s * (last - first + 1)


def test_a_put_costs_its_fixed_time_and_that_of_the_bytes_that_cross(
    profile_of: ProfileOf,
) -> None:
    hand_off = HandOff(fixed_s=0.5, per_byte_s=0.001)
    profile = profile_of(2, {"cpu0": 1}, {("cpu0", 1): additive(1.0)}, hand_off=hand_off)

    times_s = make_problem(profile).times_s_CBE

    assert times_s.tolist() == [[[1.0 + 0.5 + 1.0, 2.0 + 0.5 + 1.0], [inf, 2.5]]]


def test_the_fastest_runtime_counts_for_each_segment(profile_of: ProfileOf) -> None:
    profile = profile_of(1, {"cpu0": 1}, {("cpu0", 1): additive(3.0)})
    quicker = msgspec.structs.replace(profile.segments[0], runtime="quick", median_s=2.0)
    both = msgspec.structs.replace(profile, segments=(quicker, *profile.segments))

    problem = make_problem(both)

    assert problem.times_s_CBE[0, 0, 0] == 2.0
    assert problem.segments[0, 0, 0].runtime == "quick"


def test_teams_are_lanes_of_one_size_on_each_processor(profile_of: ProfileOf) -> None:
    problem = make_problem(profile_of(1, {"cpu0": 4, "gpu0": 1}, {}))

    on_the_cpu = {
        (problem.core_sets[team.lanes[0][0]].cores, team.lanes[0][1])
        for team in problem.teams
        if team.usage[1] == 0
    }
    assert on_the_cpu == {(1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2), (4, 1)}
    assert len(problem.teams) == (7 + 1) * (1 + 1) - 1


def test_a_big_processor_is_handed_out_in_eight_grains(profile_of: ProfileOf) -> None:
    problem = make_problem(profile_of(1, {"cpu0": 64}, {}))

    assert problem.grains == (8,)
    assert all(1 <= team.usage[0] <= 8 for team in problem.teams)
    for team in problem.teams:
        ((index, lanes),) = team.lanes
        assert team.usage[0] * 8 >= lanes * problem.core_sets[index].cores


def test_lanes_on_a_big_processor_fill_whole_grains_or_stand_alone(
    profile_of: ProfileOf,
) -> None:
    problem = make_problem(profile_of(1, {"cpu0": 16}, {}))

    lanes: dict[int, list[int]] = {}
    for team in problem.teams:
        ((index, count),) = team.lanes
        lanes.setdefault(problem.core_sets[index].cores, []).append(count)
    assert {cores: sorted(counts) for cores, counts in lanes.items()} == {
        1: [1, 2, 4, 6, 8, 10, 12, 14, 16],
        2: [1, 2, 3, 4, 5, 6, 7, 8],
        4: [1, 2, 3, 4],
        8: [1, 2],
        16: [1],
    }


@pytest.mark.parametrize("cores", [9, 12, 17, 31])
def test_teams_that_fit_by_grains_fit_by_cores(profile_of: ProfileOf, cores: int) -> None:
    problem = make_problem(profile_of(1, {"cpu0": cores}, {}))

    def used(team: Team) -> int:
        return sum(count * problem.core_sets[index].cores for index, count in team.lanes)

    for first in problem.teams:
        for second in problem.teams:
            if first.usage[0] + second.usage[0] <= problem.grains[0]:
                assert used(first) + used(second) <= cores


def test_equal_lanes_share_the_time_and_hold_a_frame_each(profile_of: ProfileOf) -> None:
    problem = make_problem(profile_of(1, {"cpu0": 4}, {("cpu0", 1): additive(2.0)}))
    four = next(team for team in problem.teams if team.lanes[0][1] == 4)

    assert problem.period_s(four)[0, 0] == 0.5
    assert problem.credits(four)[0, 0] == 4


def test_a_quick_lane_holds_what_it_finishes_while_the_slow_one_works(
    profile_of: ProfileOf,
) -> None:
    times = {("cpu0", 1): additive(1.0), ("gpu0", 1): additive(0.3)}
    problem = make_problem(profile_of(1, {"cpu0": 1, "gpu0": 1}, times))
    both = next(team for team in problem.teams if len(team.lanes) == 2)

    assert problem.period_s(both)[0, 0] == pytest.approx(1 / (1 / 1.0 + 1 / 0.3))
    assert problem.credits(both)[0, 0] == 1 + 4


@pytest.mark.parametrize(("first", "waiting"), [(0, 0), (1, 1)])
def test_a_frame_waits_for_unequal_lanes_unless_they_run_the_whole_network(
    profile_of: ProfileOf, first: int, waiting: int
) -> None:
    times = {("cpu0", 1): additive(1.0), ("gpu0", 1): additive(0.5)}
    problem = make_problem(profile_of(2, {"cpu0": 1, "gpu0": 1}, times))
    both = next(team for team in problem.teams if len(team.lanes) == 2)

    assert problem.credits(both)[first, 1] == 1 + 2 + waiting


def test_the_lane_that_sends_pays_for_the_dearest_processor_that_may_take(
    profile_of: ProfileOf,
) -> None:
    costs = {("cpu0", "cpu1"): 1.0, ("cpu0", "gpu0"): 3.0, ("gpu0", "cpu0"): 7.0}
    hand_off = HandOff(
        fixed_s=0.5,
        transfers=tuple(Transfer(sender=a, receiver=b, fixed_s=s) for (a, b), s in costs.items()),
    )
    sizes = {"cpu0": 1, "cpu1": 1, "gpu0": 1}
    times = {("cpu0", 1): additive(10.0)}
    problem = make_problem(profile_of(1, sizes, times, hand_off=hand_off))
    sender = next(team for team in problem.teams if team.processors == (0,))
    receiver = {takers: number for number, takers in enumerate(problem.receivers)}

    for takers, paid_s in {(): 0.0, (1,): 1.0, (2,): 3.0, (1, 2): 3.0}.items():
        assert problem.period_s(sender, receiver[takers])[0, 0] == 10.5 + paid_s
        assert problem.lane_s(sender, 0, 0, 0, receiver[takers]) == 10.5 + paid_s


def test_receivers_are_told_apart_only_where_transfers_differ(profile_of: ProfileOf) -> None:
    problem = make_problem(profile_of(2, {"cpu0": 1, "gpu0": 1}, {}))

    assert problem.receivers == ((),)
    assert {problem.receiver(team) for team in problem.teams} == {0}


def test_a_transfer_that_cannot_be_is_refused(profile_of: ProfileOf) -> None:
    wrong = HandOff(
        fixed_s=0.0, transfers=(Transfer(sender="cpu0", receiver="gpu0", fixed_s=-1.0),)
    )

    with pytest.raises(
        InputError, match=r"transfer from cpu0 to gpu0 -1.0 s: it must be 0 or more"
    ):
        make_problem(profile_of(1, {"cpu0": 1, "gpu0": 1}, {}, hand_off=wrong))


def test_a_team_with_a_lane_that_cannot_run_a_segment_cannot(profile_of: ProfileOf) -> None:
    problem = make_problem(profile_of(1, {"cpu0": 1, "gpu0": 1}, {("cpu0", 1): additive(1.0)}))
    both = next(team for team in problem.teams if len(team.lanes) == 2)

    assert problem.period_s(both)[0, 0] == inf


def test_only_named_processors_are_used(profile_of: ProfileOf) -> None:
    profile = profile_of(1, {"cpu0": 2, "cpu1": 1}, {})

    assert [p.name for p in make_problem(profile, processors=["cpu1"]).processors] == ["cpu1"]


def test_an_unknown_processor_is_named_beside_the_known(profile_of: ProfileOf) -> None:
    profile = profile_of(1, {"cpu0": 2, "cpu1": 1}, {})

    with pytest.raises(InputError, match="no processor 'npu7'; it knows cpu0, cpu1"):
        make_problem(profile, processors=["cpu0", "npu7"])


def test_no_processor_at_all_is_refused(profile_of: ProfileOf) -> None:
    with pytest.raises(InputError, match="no processor of an empty list; it knows cpu0"):
        make_problem(profile_of(1, {"cpu0": 2}, {}), processors=[])


def test_the_paper_space_has_whole_processors_and_no_copies(profile_of: ProfileOf) -> None:
    problem = make_problem(profile_of(3, {"cpu0": 4, "cpu1": 2, "gpu0": 1}, {}), space="paper")

    assert [(core_set.processor, core_set.cores) for core_set in problem.core_sets] == [
        (0, 4),
        (1, 2),
        (2, 1),
    ]
    assert all(sum(count for _, count in team.lanes) == 1 for team in problem.teams)


def test_the_paper_space_needs_three_processors(profile_of: ProfileOf) -> None:
    profile = profile_of(3, {"cpu0": 2}, {})

    with pytest.raises(
        InfeasibleError, match=r"needs 3 processors for its 3 stages, and 1 may be used: cpu0"
    ) as caught:
        make_problem(profile, space="paper")

    assert (caught.value.needed, caught.value.available) == (3, 1)


@pytest.mark.parametrize("change", [{"median_s": 0.0}, {"last_block": 2}, {"first_block": -1}])
def test_a_time_that_cannot_be_is_refused(profile_of: ProfileOf, change: dict[str, float]) -> None:
    profile = profile_of(1, {"cpu0": 1}, {("cpu0", 1): additive(1.0)})
    wrong = msgspec.structs.replace(profile.segments[0], **change)

    with pytest.raises(InputError, match=r"blocks count from 0 and a time is above 0"):
        make_problem(msgspec.structs.replace(profile, segments=(wrong,)))
