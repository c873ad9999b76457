"""Leaving out segments that a processor's memory cannot hold."""

from collections.abc import Callable
from math import inf

import pytest

from evener.artifacts.profile import Profile
from evener.errors import InfeasibleError, InputError
from evener.plan import chain, make_plan
from evener.plan.memory import limit_memory, segment_bytes
from evener.plan.problem import make_problem

ProfileOf = Callable[..., Profile]
IN_AND_OUT = 2000  # bytes that enter and leave any block of `profile_of`; its weights are 4


def test_a_segment_holds_its_weights_and_what_its_largest_block_moves(
    profile_of: ProfileOf,
) -> None:
    blocks = profile_of(3, {"cpu0": 1}, {}).blocks

    assert segment_bytes(blocks).tolist() == [
        [IN_AND_OUT + 4, IN_AND_OUT + 8, IN_AND_OUT + 12],
        [0, IN_AND_OUT + 4, IN_AND_OUT + 8],
        [0, 0, IN_AND_OUT + 4],
    ]


def test_a_segment_that_does_not_fit_has_no_time(profile_of: ProfileOf) -> None:
    profile = profile_of(
        2, {"gpu0": 1}, {("gpu0", 1): lambda *_: 1.0}, memory={"gpu0": IN_AND_OUT + 4}
    )

    assert make_problem(profile).times_s_CBE.tolist() == [[[1.0, inf], [inf, 1.0]]]


def test_some_cores_of_a_processor_have_their_share_of_its_memory(profile_of: ProfileOf) -> None:
    times = {("cpu0", 1): lambda *_: 2.0, ("cpu0", 2): lambda *_: 1.0}
    profile = profile_of(1, {"cpu0": 2}, times, memory={"cpu0": 2 * (IN_AND_OUT + 4) - 1})

    assert make_problem(profile).times_s_CBE.ravel().tolist() == [inf, 1.0]


def test_a_plan_keeps_to_the_memory_of_its_processors(profile_of: ProfileOf) -> None:
    times = {
        ("gpu0", 1): lambda first, last: 1.0 * (last - first + 1),
        ("cpu0", 1): lambda first, last: 9.0 * (last - first + 1),
    }
    profile = profile_of(4, {"gpu0": 1, "cpu0": 1}, times)

    free = make_plan(profile, stages=2)
    tight = make_plan(profile, stages=2, memory={"gpu0": IN_AND_OUT + 8})

    def on_gpu(stages: tuple[tuple[str, int], ...]) -> int:
        return sum(blocks for name, blocks in stages if name == "gpu0")

    held = [
        tuple(
            (stage.lanes[0].processor, stage.last_block - stage.first_block + 1)
            for stage in plan.stages
        )
        for plan in (free, tight)
    ]
    assert [on_gpu(stages) for stages in held] == [3, 2]


def test_a_block_that_fits_nowhere_names_the_processor_that_lacks_least(
    profile_of: ProfileOf,
) -> None:
    times = {("gpu0", 1): lambda *_: 1.0, ("cpu0", 1): lambda *_: 1.0}
    profile = profile_of(1, {"gpu0": 1, "cpu0": 1}, times, memory={"gpu0": 500, "cpu0": 900})

    with pytest.raises(
        InfeasibleError,
        match=r"blocks \[0\] of 1 fit nowhere: block 0 needs 2 kB \(2004 bytes\) on cpu0, which "
        r"may hold 900 B \(900 bytes\)\. Allow it more memory",
    ) as caught:
        chain.front(make_problem(profile))

    assert (caught.value.needed, caught.value.available) == (2004, 900)


def test_blocks_that_fit_only_apart_say_what_is_nearest(profile_of: ProfileOf) -> None:
    profile = profile_of(
        2, {"gpu0": 1}, {("gpu0", 1): lambda *_: 1.0}, memory={"gpu0": IN_AND_OUT + 4}
    )

    with pytest.raises(
        InfeasibleError,
        match=r"2 blocks cannot be split .* on gpu0 within their memory; the nearest miss: blocks "
        r"0 to 1 need 2.01 kB \(2008 bytes\) on gpu0, which may hold 2 kB \(2004 bytes\)",
    ):
        chain.front(make_problem(profile))


def test_blocks_without_times_are_not_blamed_on_memory(profile_of: ProfileOf) -> None:
    profile = profile_of(1, {"gpu0": 1}, {}, memory={"gpu0": 1})

    with pytest.raises(InfeasibleError, match=r"blocks \[0\] of 1 have no time on any of gpu0"):
        chain.front(make_problem(profile))


def test_a_limit_takes_the_place_of_what_the_profile_says(profile_of: ProfileOf) -> None:
    profile = profile_of(1, {"gpu0": 1, "cpu0": 1}, {}, memory={"gpu0": 5, "cpu0": 6})

    limited = limit_memory(profile, {"gpu0": 7})

    assert [one.memory_bytes for one in limited.machine.processors] == [7, 6]
    assert limit_memory(profile, None) is profile


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"npu7": 1}, "given for 'npu7'; the profile of board knows gpu0"),
        ({"gpu0": 0}, "the memory of gpu0 is 0 bytes: give 1 or more"),
    ],
)
def test_a_limit_that_cannot_be_is_refused(
    profile_of: ProfileOf, limits: dict[str, int], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        limit_memory(profile_of(1, {"gpu0": 1}, {}), limits)
