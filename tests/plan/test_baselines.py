"""Whole networks on one core set or on several."""

from collections.abc import Callable

import pytest

from evener.artifacts.profile import Profile
from evener.errors import InfeasibleError
from evener.plan import make_baseline
from evener.plan.baselines import Baseline

ProfileOf = Callable[..., Profile]
Lanes = list[tuple[str, tuple[int, ...]]]


def lanes(profile: Profile, what: Baseline) -> Lanes:
    plan = make_baseline(profile, what)
    (stage,) = plan.stages
    assert plan.what == what
    assert (stage.first_block, stage.last_block) == (0, len(profile.blocks) - 1)
    return [(lane.processor, lane.cores) for lane in stage.lanes]


@pytest.fixture
def two_cores(profile_of: ProfileOf) -> Profile:
    times = {("cpu0", 1): lambda *_: 2.0, ("cpu0", 2): lambda *_: 1.2}
    return profile_of(3, {"cpu0": 2}, times)


@pytest.fixture
def big_little(profile_of: ProfileOf) -> Profile:
    times = {
        ("cpu0", 1): lambda *_: 3.0,
        ("cpu0", 2): lambda *_: 2.0,
        ("cpu1", 1): lambda *_: 8.0,
        ("cpu1", 2): lambda *_: 9.0,
    }
    return profile_of(3, {"cpu0": 2, "cpu1": 2}, times)


def test_single_is_one_core_where_two_are_the_machine(two_cores: Profile) -> None:
    assert lanes(two_cores, "single") == [("cpu0", (0,))]


def test_single_is_the_only_core_of_a_machine(profile_of: ProfileOf) -> None:
    assert lanes(profile_of(1, {"cpu0": 1}, {("cpu0", 1): lambda *_: 1.0}), "single") == [
        ("cpu0", (0,))
    ]


def test_single_is_the_best_core_set_of_several_processors(big_little: Profile) -> None:
    assert lanes(big_little, "single") == [("cpu0", (0, 1))]


def test_all_cores_is_one_session_on_a_whole_processor(two_cores: Profile) -> None:
    assert lanes(two_cores, "all_cores") == [("cpu0", (0, 1))]


def test_copies_are_one_per_core_where_that_is_quickest(two_cores: Profile) -> None:
    assert lanes(two_cores, "copies") == [("cpu0", (0,)), ("cpu0", (1,))]


def test_copies_take_more_cores_each_where_that_is_quicker(profile_of: ProfileOf) -> None:
    times = {("cpu0", 1): lambda *_: 5.0, ("cpu0", 2): lambda *_: 2.0, ("cpu0", 4): lambda *_: 0.9}
    assert lanes(profile_of(1, {"cpu0": 4}, times), "copies") == [
        ("cpu0", (0, 1)),
        ("cpu0", (2, 3)),
    ]


def test_copies_fill_every_processor_where_there_are_several(big_little: Profile) -> None:
    plan = make_baseline(big_little, "copies")

    assert lanes(big_little, "copies") == [
        ("cpu0", (0,)),
        ("cpu0", (1,)),
        ("cpu1", (2,)),
        ("cpu1", (3,)),
    ]
    assert plan.rate_hz == pytest.approx(2 / 3.0 + 2 / 8.0)
    assert plan.credits == 3 + 3 + 1 + 1


def test_copies_are_one_per_processor_where_its_cores_are_quicker_together(
    profile_of: ProfileOf,
) -> None:
    times = {
        ("cpu0", 1): lambda *_: 3.0,
        ("cpu0", 2): lambda *_: 1.0,
        ("cpu1", 1): lambda *_: 8.0,
        ("cpu1", 2): lambda *_: 2.0,
    }
    profile = profile_of(3, {"cpu0": 2, "cpu1": 2}, times)

    assert lanes(profile, "copies") == [("cpu0", (0, 1)), ("cpu1", (2, 3))]


def test_a_processor_that_cannot_run_the_network_gets_no_copy(profile_of: ProfileOf) -> None:
    profile = profile_of(2, {"cpu0": 1, "gpu0": 1}, {("cpu0", 1): lambda *_: 3.0})

    assert lanes(profile, "copies") == [("cpu0", (0,))]


@pytest.mark.parametrize("what", ["single", "all_cores", "copies"])
def test_a_network_that_runs_only_in_parts_has_no_baseline(
    profile_of: ProfileOf, what: Baseline
) -> None:
    times = {("cpu0", 1): lambda first, last: 1.0 if first == last else None}

    with pytest.raises(InfeasibleError, match=f"no plan '{what}': .* on cpu0 has a time for all 2"):
        make_baseline(profile_of(2, {"cpu0": 2}, times), what)
