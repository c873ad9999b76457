"""Planning for a machine some of whose cores are lost or slow."""

from collections.abc import Callable
from math import inf

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.plan import Asked, Unit
from evener.artifacts.profile import Contention, HandOff, Profile, Transfer
from evener.plan.decide import make_plan
from evener.plan.slowed import plan_what_is_left, slow_down

ProfileOf = Callable[..., Profile]


def additive(per_block_s: float) -> Callable[[int, int], float]:
    return lambda first, last: per_block_s * (last - first + 1)


@pytest.fixture
def board(profile_of: ProfileOf) -> Profile:
    """Four blocks on two quick cores (0, 1), two slow ones (2, 3) and a device."""
    times = {
        ("big", 1): additive(1.0),
        ("big", 2): additive(0.6),
        ("little", 1): additive(2.0),
        ("little", 2): additive(1.2),
        ("gpu", 1): additive(0.5),
    }
    profile = profile_of(4, {"big": 2, "little": 2, "gpu": 1}, times)
    transfers = (Transfer(sender="big", receiver="gpu", fixed_s=0.1),)
    return msgspec.structs.replace(
        profile,
        hand_off=HandOff(fixed_s=0.0, transfers=transfers),
    )


def units_of(profile: Profile) -> list[Unit]:
    return [
        (processor.name, core)
        for processor in profile.machine.processors
        for core in (processor.cores or (None,))
    ]


def test_where_nothing_is_lost_or_slow_the_plan_is_the_planners(board: Profile) -> None:
    assert plan_what_is_left(board, {}) == make_plan(board)


def test_what_is_lost_is_not_used(board: Profile) -> None:
    units = units_of(board)
    for lost in units:
        plan = plan_what_is_left(board, {lost: inf})

        assert plan is not None
        used = [unit for stage in plan.stages for lane in stage.lanes for unit in lane.units]
        assert lost not in used
        assert set(used) <= set(units)
        assert len(used) == len(set(used))


def test_contention_of_a_processor_that_is_not_there_is_left_out(board: Profile) -> None:
    here = Contention(processor="big", others=1, factor=1.5)
    gone = Contention(processor="gone", others=1, factor=2.0)

    left, _ = slow_down(msgspec.structs.replace(board, contention=(here, gone)), {("big", 0): inf})

    assert left.contention == (here,)


def test_where_all_is_lost_there_is_no_plan(board: Profile) -> None:
    assert plan_what_is_left(board, dict.fromkeys(units_of(board), inf)) is None


def test_what_is_left_but_cannot_run_the_network_is_no_plan(board: Profile) -> None:
    only_cpus = tuple(one for one in board.segments if one.processor != "gpu")
    profile = msgspec.structs.replace(board, segments=only_cpus)
    cpus = [unit for unit in units_of(board) if unit[1] is not None]

    assert plan_what_is_left(profile, dict.fromkeys(cpus, inf)) is None


def test_limits_are_kept_as_long_as_a_plan_that_is_left_keeps_them(board: Profile) -> None:
    lost: dict[Unit, float] = {("gpu", None): inf}
    free = plan_what_is_left(board, lost)
    assert free is not None
    asked = Asked(max_latency_s=free.latency_s * 0.8, min_rate_hz=free.rate_hz * 0.3)

    plan = plan_what_is_left(board, lost, asked=asked)

    assert plan == make_plan(
        board,
        processors=["big", "little"],
        max_latency_s=asked.max_latency_s,
        min_rate_hz=asked.min_rate_hz,
    )
    assert plan.asked == asked
    assert plan.latency_s < free.latency_s
    assert plan.misses == ()


def test_where_no_plan_keeps_a_limit_any_more_the_nearest_is_taken_and_says_so(
    board: Profile,
) -> None:
    lost: dict[Unit, float] = {("gpu", None): inf}
    shortest = plan_what_is_left(board, lost, objective="latency")
    assert shortest is not None
    quickest = plan_what_is_left(board, lost)
    assert quickest is not None

    late = plan_what_is_left(board, lost, asked=Asked(max_latency_s=shortest.latency_s / 2))
    slow = plan_what_is_left(board, lost, asked=Asked(min_rate_hz=quickest.rate_hz * 2))

    assert late is not None
    assert late.latency_s == pytest.approx(shortest.latency_s)
    assert late.misses == ("the latency of 1.2 s that was asked for: it is to take 2.4 s",)
    assert slow is not None
    assert slow.stages == quickest.stages
    assert slow.misses == ("the rate of 1.5 /s that was asked for: it is to make 0.75 /s",)


def test_limits_of_memory_hold_whatever_is_lost(board: Profile) -> None:
    memory = {"big": 10, "little": 10, "gpu": 10}  # bytes: less than a tensor

    assert plan_what_is_left(board, {}, asked=Asked(memory=memory)) is None


def test_cores_that_are_left_share_the_memory_of_their_processor(board: Profile) -> None:
    machine = msgspec.structs.replace(
        board.machine,
        processors=tuple(
            msgspec.structs.replace(one, memory_bytes=100) for one in board.machine.processors
        ),
    )
    profile = msgspec.structs.replace(board, machine=machine)
    first, second = board.machine["big"].cores

    slow, _ = slow_down(profile, {("big", first): 2.0})
    lost, _ = slow_down(profile, {("big", first): inf, ("big", second): 2.0})

    assert (slow.machine["big x2.000"].memory_bytes, slow.machine["big"].memory_bytes) == (50, 50)
    assert lost.machine["big x2.000"].memory_bytes == 100
    assert slow.machine["gpu"].memory_bytes == 100


def test_one_core_of_two_can_be_slow(board: Profile) -> None:
    first = board.machine["big"].cores[0]

    left, names = slow_down(board, {("big", first): 2.0})

    slow = left.machine["big x2.000"]
    assert (names["big x2.000"], names["big"]) == ("big", "big")
    assert (slow.cores, slow.core_sets, slow.capacity) == ((first,), (1,), 0.5)
    assert left.machine["big"].cores == board.machine["big"].cores[1:]
    whole = {
        one.processor: one.median_s
        for one in left.segments
        if (one.first_block, one.last_block, one.cores) == (0, 3, 1)
    }
    assert whole == {"big": 4.0, "big x2.000": 8.0, "little": 8.0, "gpu": 2.0}
    assert [(one.sender, one.receiver) for one in left.hand_off.transfers] == [
        ("big", "gpu"),
        ("big x2.000", "gpu"),
    ]


def test_a_cluster_that_is_slow_as_a_whole_keeps_its_core_sets(board: Profile) -> None:
    cores = board.machine["big"].cores

    left, _ = slow_down(board, {("big", core): 3.0 for core in cores})

    assert [one.name for one in left.machine.processors] == ["big x3.000", "little", "gpu"]
    assert left.machine["big x3.000"].core_sets == board.machine["big"].core_sets


def test_cores_too_few_for_any_stage_are_left_out(board: Profile) -> None:
    pairs = tuple(
        msgspec.structs.replace(one, core_sets=(2,)) if one.name == "big" else one
        for one in board.machine.processors
    )
    machine = msgspec.structs.replace(board.machine, processors=pairs)
    profile = msgspec.structs.replace(board, machine=machine)

    left, _ = slow_down(profile, {("big", board.machine["big"].cores[0]): inf})

    assert [one.name for one in left.machine.processors] == ["little", "gpu"]


@settings(deadline=None, max_examples=10)
@given(st.lists(st.sampled_from([1.0, 2.0, 4.0, inf]), min_size=5, max_size=5))
def test_more_losses_never_make_a_plan_faster(profile_of: ProfileOf, factors: list[float]) -> None:
    times = {("big", 1): additive(1.0), ("little", 1): additive(2.0), ("gpu", 1): additive(0.5)}
    profile = profile_of(2, {"big": 2, "little": 2, "gpu": 1}, times)
    slow = dict(zip(units_of(profile), factors, strict=True))

    plan = plan_what_is_left(profile, slow)
    rate_hz = 0.0 if plan is None else plan.rate_hz
    for unit in slow:
        better = plan_what_is_left(profile, slow | {unit: 1.0})

        assert better is not None
        assert better.rate_hz >= rate_hz * (1 - 1e-9)
