"""The rate that no plan exceeds."""

import csv
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.profile import HandOff, Profile
from evener.errors import InfeasibleError
from evener.plan import candidates, make_baseline, make_plan
from evener.plan.baselines import BASELINES
from evener.plan.bound import find_bound
from evener.plan.exhaustive import front
from evener.plan.problem import Problem, make_problem

ProfileOf = Callable[..., Profile]
TIGHT = 1e-9

# AlexNet in parts on the Khadas Vim3 (4 big cores, Mali GPU, 2 little cores), milliseconds:
# github.com/Ehsan-aghapour/CO-UP-Profiling, Layers_P2, second measurement, in + task.
KHADAS_ALEXNET_MS = {
    "big": [25.4969, 16.4585, 5.4128, 4.7492, 3.5391, 38.7786, 17.0881, 4.2642],
    "gpu": [21.5384, 14.9275, 9.1494, 5.7582, 4.4644, 35.7084, 11.3736, 6.7837],
    "little": [64.1652, 44.8879, 16.1337, 14.5392, 11.4049, 59.9038, 25.5955, 6.269],
}


def additive(profile_of: ProfileOf, times_s: Mapping[str, Sequence[float]]) -> Profile:
    """Make a profile of devices whose segments take the sum of their blocks."""
    blocks = len(next(iter(times_s.values())))
    return profile_of(
        blocks,
        dict.fromkeys(times_s, 1),
        {
            (name, 1): lambda first, last, of=each: sum(of[first : last + 1])
            for name, each in times_s.items()
        },
    )


def textbook_rate_hz(times_s: Sequence[Sequence[float]]) -> float:
    """Share each block freely: min P, sum_a x[l,a] = 1 for all l, sum_l t[l,a] x[l,a] <= P."""
    processors, blocks = np.shape(times_s)
    work = np.zeros((processors, processors * blocks + 1))
    whole = np.zeros((blocks, processors * blocks + 1))
    for a in range(processors):
        work[a, a * blocks : (a + 1) * blocks] = times_s[a]
        whole[np.arange(blocks), a * blocks + np.arange(blocks)] = 1
    work[:, -1] = -1
    period = np.zeros(processors * blocks + 1)
    period[-1] = 1
    solved = scipy.optimize.linprog(
        period, A_ub=work, b_ub=np.zeros(processors), A_eq=whole, b_eq=np.ones(blocks)
    )
    return 1 / float(solved.fun)


@settings(deadline=None, max_examples=60)
@given(
    blocks=st.integers(1, 4),
    sizes=st.sampled_from(
        [{"cpu0": 2}, {"cpu0": 3}, {"cpu0": 2, "cpu1": 1}, {"cpu0": 1, "gpu0": 1}]
    ),
    hand_off_s=st.sampled_from([0.0, 0.5]),
    random=st.randoms(use_true_random=False),
)
def test_no_plan_of_all_is_faster(
    profile_of: ProfileOf, blocks: int, sizes: dict[str, int], hand_off_s: float, random: Random
) -> None:
    times = {
        (name, cores): lambda *_: random.uniform(0.1, 9.0)
        for name, units in sizes.items()
        for cores in range(1, units + 1)
    }
    problem = make_problem(profile_of(blocks, sizes, times, hand_off=HandOff(fixed_s=hand_off_s)))

    assert find_bound(problem).rate_hz >= 1 / front(problem)[-1].period_s


def rate_of_mixtures_hz(problem: Problem) -> float:
    """Mix every way that a single frame may take, tried one by one: the bound's slow twin."""

    def ways(start: int) -> Iterator[list[float]]:
        """Yield the core-seconds that each way from a block to the last takes of each processor."""
        if start == problem.blocks:
            yield [0.0] * len(problem.processors)
            return
        for end in range(start, problem.blocks):
            for core_set, time_s in zip(
                problem.core_sets, problem.times_s_CBE[:, start, end], strict=True
            ):
                for rest in ways(end + 1) if np.isfinite(time_s) else ():
                    rest[core_set.processor] += core_set.cores * float(time_s)
                    yield rest

    taken = np.array(list(ways(0))).T
    units = np.array([[processor.units] for processor in problem.processors])
    solved = scipy.optimize.linprog(
        [0.0] * taken.shape[1] + [1.0],
        A_ub=np.hstack([taken, -units]),
        b_ub=np.zeros(len(units)),
        A_eq=[[1.0] * taken.shape[1] + [0.0]],
        b_eq=[1.0],
    )
    return 1 / float(solved.fun)


@settings(deadline=None, max_examples=40)
@given(
    blocks=st.integers(1, 3),
    sizes=st.sampled_from([{"cpu0": 3}, {"cpu0": 2, "gpu0": 1}, {"cpu0": 1, "cpu1": 1, "gpu0": 1}]),
    random=st.randoms(use_true_random=False),
)
def test_some_mixture_reaches_it(
    profile_of: ProfileOf, blocks: int, sizes: dict[str, int], random: Random
) -> None:
    times = {
        (name, cores): lambda *_: random.uniform(0.1, 9.0)
        for name, units in sizes.items()
        for cores in {1, units}
    }
    problem = make_problem(profile_of(blocks, sizes, times))

    assert find_bound(problem).rate_hz == pytest.approx(rate_of_mixtures_hz(problem), rel=1e-6)


@settings(deadline=None, max_examples=40)
@given(
    processors=st.integers(1, 4),
    blocks=st.integers(1, 8),
    random=st.randoms(use_true_random=False),
)
def test_where_times_add_up_it_is_the_textbooks(
    profile_of: ProfileOf, processors: int, blocks: int, random: Random
) -> None:
    times_s = [[random.uniform(0.001, 9.0) for _ in range(blocks)] for _ in range(processors)]
    profile = additive(profile_of, {f"cpu{a}": each for a, each in enumerate(times_s)})

    found = find_bound(make_problem(profile)).rate_hz

    assert found == pytest.approx(textbook_rate_hz(times_s), rel=1e-6)


def test_joining_blocks_may_save_time_and_the_bound_knows(profile_of: ProfileOf) -> None:
    profile = profile_of(
        2, {"cpu0": 1}, {("cpu0", 1): lambda *ends: 1.0 if ends != (0, 1) else 1.2}
    )

    assert find_bound(make_problem(profile)).rate_hz == pytest.approx(1 / 1.2, rel=TIGHT)


def test_a_core_set_costs_its_cores(profile_of: ProfileOf) -> None:
    times = {("cpu0", 1): lambda *_: 4.0, ("cpu0", 4): lambda *_: 1.5}

    found = find_bound(make_problem(profile_of(1, {"cpu0": 4}, times)))

    # Four copies deliver a frame each second; one session on four cores takes 1.5 s.
    assert found.rate_hz == pytest.approx(1.0, rel=TIGHT)
    assert [segment.cores for segment in found.segments] == [1]


def test_what_a_device_cannot_run_it_does_not_share(profile_of: ProfileOf) -> None:
    times = {
        ("cpu0", 1): lambda first, last: 1.0 * (last - first + 1),
        ("gpu0", 1): lambda *ends: 0.5 if ends == (0, 0) else None,
    }
    profile = profile_of(3, {"cpu0": 1, "gpu0": 1}, times)

    assert find_bound(make_problem(profile)).rate_hz == pytest.approx(1 / 2, rel=TIGHT)


def test_the_scale_of_the_times_changes_nothing_but_the_scale(profile_of: ProfileOf) -> None:
    quick, slow = (
        additive(profile_of, {"a": [3 * unit, unit], "b": [unit, 2 * unit]}) for unit in (1e-7, 1e3)
    )

    rates = [find_bound(make_problem(profile)).rate_hz for profile in (quick, slow)]

    assert rates[0] == pytest.approx(1e10 * rates[1], rel=TIGHT)


def test_a_solver_that_gives_up_leaves_a_looser_bound_that_is_true(
    profile_of: ProfileOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = make_problem(additive(profile_of, {"a": [1.0, 1.0], "b": [4.0, 3.0]}))
    best_hz = find_bound(problem).rate_hz
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *_, **__: SimpleNamespace(success=False))

    assert find_bound(problem).rate_hz == pytest.approx(1.0)  # both prices one half
    assert find_bound(problem).rate_hz > best_hz > 1 / front(problem)[-1].period_s


def test_blocks_that_nothing_runs_have_no_bound(profile_of: ProfileOf) -> None:
    profile = profile_of(
        2, {"cpu0": 1}, {("cpu0", 1): lambda *ends: 1.0 if ends == (0, 0) else None}
    )

    with pytest.raises(InfeasibleError, match="the 2 blocks cannot be split"):
        find_bound(make_problem(profile))


def test_it_names_the_segments_that_it_rests_on(profile_of: ProfileOf) -> None:
    profile = additive(profile_of, {"cpu0": [1.0, 5.0, 5.0], "cpu1": [9.0, 3.0, 9.0]})

    found = find_bound(make_problem(profile))

    assert {(one.processor, one.first_block, one.last_block) for one in found.segments} >= {
        ("cpu0", 0, 0),
        ("cpu1", 1, 1),
    }
    assert not found.estimated


def test_a_bound_by_an_estimate_is_one(profile_of: ProfileOf) -> None:
    def profile_where_the_whole_takes(time_s: float) -> Profile:
        times = {("cpu0", 1): lambda *ends: 1.0 if ends != (0, 1) else time_s}
        profile = profile_of(2, {"cpu0": 1}, times)
        segments = tuple(
            msgspec.structs.replace(one, interpolated=one.first_block != one.last_block)
            for one in profile.segments
        )
        return msgspec.structs.replace(profile, segments=segments)

    assert make_plan(profile_where_the_whole_takes(1.5)).bound_estimated
    assert not make_plan(profile_where_the_whole_takes(2.5)).bound_estimated


def test_every_plan_states_it(profile_of: ProfileOf) -> None:
    times = {("cpu0", 1): lambda *_: 2.0, ("cpu0", 2): lambda *_: 1.2}
    profile = profile_of(3, {"cpu0": 2}, times)
    expected = pytest.approx(find_bound(make_problem(profile)).rate_hz)

    made = [make_plan(profile), *candidates(profile, best=9)]
    made += [make_baseline(profile, what) for what in BASELINES]

    for plan in made:
        assert plan.bound_rate_hz is not None
        assert plan.bound_rate_hz == expected
        assert plan.gap == pytest.approx(1 - plan.rate_hz / plan.bound_rate_hz, abs=1e-11)


def test_the_bound_of_alexnet_on_a_board(profile_of: ProfileOf) -> None:
    times_s = {name: [each / 1e3 for each in ms] for name, ms in KHADAS_ALEXNET_MS.items()}

    plan = make_plan(additive(profile_of, times_s), space="paper")

    assert plan.bound_rate_hz == pytest.approx(25.16, abs=0.005)
    assert plan.rate_hz == pytest.approx(21.25, abs=0.005)
    assert plan.gap == pytest.approx(0.156, abs=0.001)


@pytest.mark.parametrize(
    ("graph", "bound_hz"), [("Alex", 25.16), ("MobileV1", 35.02), ("ResV1_50", 10.69)]
)
def test_the_bounds_of_whole_tables(profile_of: ProfileOf, graph: str, bound_hz: float) -> None:
    data = Path(os.environ.get("EVENER_TEST_DATA", "."))
    path = data.parent / "boards/khadas-vim3/Layers_P2_Alex_Mobile_Res50.csv"
    if not path.is_file():
        pytest.skip("the tables of the boards are not beside EVENER_TEST_DATA")
    latest_s: dict[tuple[str, int, str], float] = {}
    with path.open() as file:
        for row in csv.DictReader(file):
            if row["Graph"] == graph and row["Metric"] in {"in", "task"}:
                place = row["Component"], int(row["Layer"]), row["Metric"]
                latest_s[place] = float(row["Time"]) / 1e3
    parts = 1 + max(part for _, part, _ in latest_s)
    times_s = {
        component: [
            latest_s[component, part, "task"] + latest_s.get((component, part, "in"), 0.0)
            for part in range(parts)
        ]
        for component in "BGL"
    }

    found_hz = find_bound(make_problem(additive(profile_of, times_s))).rate_hz

    assert found_hz == pytest.approx(bound_hz, abs=0.005)
