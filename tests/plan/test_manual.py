"""Plans that a user cut by hand."""

from collections.abc import Callable

import pytest

from evener.artifacts.profile import HandOff, Profile, Transfer
from evener.errors import InfeasibleError, InputError
from evener.plan import make_plan
from evener.plan.manual import Seat, make_manual_plan

ProfileOf = Callable[..., Profile]


@pytest.fixture
def board(profile_of: ProfileOf) -> Profile:
    """Three big cores, four little ones and a GPU that cannot run the last block."""
    return profile_of(
        4,
        {"cpu0": 3, "cpu1": 4, "gpu0": 1},
        {
            ("cpu0", 1): lambda first, last: 1.0 * (last - first + 1),
            ("cpu0", 2): lambda first, last: 0.6 * (last - first + 1),
            ("cpu1", 4): lambda first, last: 0.8 * (last - first + 1),
            ("gpu0", 1): lambda first, last: 0.5 * (last - first + 1) if last < 3 else None,
        },
        hand_off=HandOff(fixed_s=0.1),
    )


def test_it_has_exactly_the_stages_that_were_asked_for(board: Profile) -> None:
    plan = make_manual_plan(board, cuts=[0, 1], seats=[Seat("gpu0"), Seat("cpu0", 1), Seat("cpu1")])

    assert [(stage.first_block, stage.last_block) for stage in plan.stages] == [
        (0, 0),
        (1, 1),
        (2, 3),
    ]
    assert [(lane.processor, lane.cores) for stage in plan.stages for lane in stage.lanes] == [
        ("gpu0", ()),
        ("cpu0", (0,)),
        ("cpu1", (3, 4, 5, 6)),
    ]
    assert (plan.what, plan.method, plan.measured) == ("plan", "by hand", None)


def test_rate_and_latency_are_those_of_its_slowest_stage(board: Profile) -> None:
    plan = make_manual_plan(board, cuts=[0], seats=[Seat("gpu0"), Seat("cpu0", 2)])

    assert plan.rate_hz == pytest.approx(1 / (3 * 0.6 + 0.1))
    assert plan.credits == 2
    assert plan.latency_s == pytest.approx(2 / plan.rate_hz)


def test_a_stage_pays_for_the_transfer_to_the_next(profile_of: ProfileOf) -> None:
    times = {("cpu0", 1): lambda *_: 1.0, ("gpu0", 1): lambda *_: 1.0}
    hand_off = HandOff(
        fixed_s=0.0, transfers=(Transfer(sender="cpu0", receiver="gpu0", fixed_s=0.5),)
    )
    profile = profile_of(2, {"cpu0": 1, "gpu0": 1}, times, hand_off=hand_off)

    dear = make_manual_plan(profile, cuts=[0], seats=[Seat("cpu0"), Seat("gpu0")])
    free = make_manual_plan(profile, cuts=[0], seats=[Seat("gpu0"), Seat("cpu0")])

    assert [stage.lanes[0].time_s for stage in dear.stages] == [1.5, 1.0]
    assert dear.latency_s == pytest.approx(2 * 1.5)
    assert free.rate_hz == 1.0


def test_stages_of_one_processor_get_cores_of_their_own(board: Profile) -> None:
    plan = make_manual_plan(board, cuts=[1], seats=[Seat("cpu0", 2), Seat("cpu0", 1)])

    assert [stage.lanes[0].cores for stage in plan.stages] == [(0, 1), (2,)]


def test_without_cuts_the_whole_network_is_one_stage(board: Profile) -> None:
    plan = make_manual_plan(board, cuts=[], seats=[Seat("cpu0", 1)])

    assert [(stage.first_block, stage.last_block) for stage in plan.stages] == [(0, 3)]
    assert plan.rate_hz == pytest.approx(1 / 4.1)


def test_its_bound_is_that_of_the_whole_machine(board: Profile) -> None:
    plan = make_manual_plan(board, cuts=[], seats=[Seat("cpu0", 1)])

    assert plan.bound_rate_hz == make_plan(board).bound_rate_hz
    assert plan.gap is not None
    assert plan.gap > 0.5


def test_what_the_planner_chose_can_be_asked_for(profile_of: ProfileOf) -> None:
    times = {
        ("cpu0", 1): lambda first, last: [1.0, 1.0, 3.0][last] * (last - first + 1),
        ("gpu0", 1): lambda first, last: [3.0, 2.0, 1.0][first] * (last - first + 1),
    }
    profile = profile_of(3, {"cpu0": 1, "gpu0": 1}, times)
    best = make_plan(profile, stages=2)

    again = make_manual_plan(
        profile,
        cuts=[stage.last_block for stage in best.stages[:-1]],
        seats=[Seat(stage.lanes[0].processor) for stage in best.stages],
    )

    assert (again.stages, again.rate_hz, again.credits) == (
        best.stages,
        best.rate_hz,
        best.credits,
    )


@pytest.mark.parametrize(
    ("cuts", "seats", "message"),
    [
        ([3], [Seat("gpu0"), Seat("cpu0")], "there is no cut 3: toy in 4 blocks has the cuts 0 to"),
        ([1, 0], [Seat("gpu0")] * 3, "the cuts 1, 0 do not ascend"),
        (
            [0],
            [Seat("cpu0", 1)],
            r"stages by the cuts: 2, processors named: 1 \(cpu0:1\). Name one for each stage",
        ),
        ([0], [], r"stages by the cuts: 2, processors named: 0 \(none\)"),
        (
            [],
            [Seat("npu0")],
            "no processor 'npu0' for npu0; there are cpu0, cpu1, gpu0; name one",
        ),
        (
            [],
            [Seat("cpu1", 3)],
            "cpu1:3 cannot be planned: cpu1 is given out in 1 or 2 or 4 of its 4 cores",
        ),
        ([], [Seat("cpu0", 0)], "cpu0:0 cannot be planned"),
        (
            [0, 1],
            [Seat("cpu0", 2), Seat("cpu0", 1), Seat("cpu0", 2)],
            "the stages take 5 cores of cpu0, which has 3: give each core to one stage",
        ),
        ([0], [Seat("gpu0"), Seat("gpu0")], "the stages take 2 cores of gpu0, which has 1"),
    ],
)
def test_what_cannot_be_is_refused(
    board: Profile, cuts: list[int], seats: list[Seat], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        make_manual_plan(board, cuts=cuts, seats=seats)


def test_blocks_that_a_processor_cannot_run_are_named(board: Profile) -> None:
    with pytest.raises(InfeasibleError, match="gpu0 has no time for blocks 2 to 3 in one session"):
        make_manual_plan(board, cuts=[1], seats=[Seat("cpu0", 1), Seat("gpu0")])
