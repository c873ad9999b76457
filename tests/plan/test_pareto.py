"""Weighing period, latency and energy."""

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.profile import HandOff, Profile, Transfer
from evener.errors import InfeasibleError
from evener.plan import exhaustive, pareto
from evener.plan.problem import Problem, make_problem
from evener.plan.steps import Chain

ProfileOf = Callable[..., Profile]
Draw = dict[str, Any]
NEAR = 1 + 1e-9
BLOCK_BYTES = 2004  # of a block of `conftest.make_profile`: its weights, what it reads and hands on
# By processor its cores, and the cores and clock of everything that it was timed at.
MACHINES: tuple[dict[str, tuple[int, tuple[tuple[int, float | None], ...]]], ...] = (
    {"cpu0": (1, ((1, 1e9), (1, 2e9), (1, 3e9))), "gpu0": (1, ((1, 1e8), (1, 2e8)))},
    {"cpu0": (2, ((1, 2e9), (2, 1e9), (2, 2e9))), "gpu0": (1, ((1, None),))},
    {
        "cpu0": (1, ((1, 1e9), (1, 2e9))),
        "cpu1": (1, ((1, 1e9), (1, 2e9))),
        "gpu0": (1, ((1, 5e8),)),
    },
    {"cpu0": (3, ((1, None), (2, None), (3, None), (3, 1e9)))},
)


@st.composite
def instances(draw: st.DrawFn) -> Draw:
    """Draw the arguments of `make_profile`: clocks, energies, transfers, memory; some equal."""
    blocks = draw(st.integers(1, 3))
    machine = draw(st.sampled_from(MACHINES))
    figure = st.one_of(st.integers(1, 9).map(float), st.floats(0.1, 20.0))
    scarce = st.sampled_from([None, 1.0, 2.0, 4.0, 8.0])
    keys = [
        (name, cores) if clock is None else (name, cores, clock)
        for name, (_, timed) in machine.items()
        for cores, clock in timed
    ]
    some_of = st.lists(st.one_of(figure, scarce), min_size=blocks**2, max_size=blocks**2)
    times = {key: draw(some_of) for key in keys}
    energies = {key: draw(some_of) for key in keys}
    names = st.sampled_from(sorted(machine))
    transfers = draw(st.dictionaries(st.tuples(names, names), st.integers(0, 5), max_size=4))
    return {
        "blocks": blocks,
        "sizes": {name: units for name, (units, _) in machine.items()},
        "times": _looked_up(times, blocks),
        "energies": _looked_up(energies, blocks),
        "idle_w": draw(st.sampled_from([None, 0.5, 3.0])),
        "memory": draw(
            st.dictionaries(names, st.integers(BLOCK_BYTES - 9, 3 * BLOCK_BYTES), max_size=1)
        ),
        "hand_off": HandOff(
            fixed_s=0.0,
            transfers=tuple(
                Transfer(sender=sender, receiver=receiver, fixed_s=float(cost))
                for (sender, receiver), cost in transfers.items()
            ),
        ),
    }


def _looked_up(rows: dict[Any, list[float | None]], blocks: int) -> Draw:
    return {
        key: (lambda first, last, row=row: row[first * blocks + last]) for key, row in rows.items()
    }


def _front_or_refusal(
    front: Callable[..., tuple[Chain, ...]], problem: Problem, stages: int | None
) -> tuple[Chain, ...] | str:
    try:
        return front(problem, stages=stages)
    except InfeasibleError as error:
        return str(error)


def _figures(chain: Chain) -> tuple[float, float, float]:
    return chain.period_s, chain.latency_s, chain.energy_j


def _covers(chains: Sequence[Chain], others: Sequence[Chain]) -> bool:
    """Return whether for each of the others one is as good in every figure."""
    return all(
        any(
            all(
                mine <= its * NEAR for mine, its in zip(_figures(one), _figures(other), strict=True)
            )
            for one in chains
        )
        for other in others
    )


@settings(deadline=None, max_examples=100)
@given(instance=instances(), stages=st.one_of(st.none(), st.none(), st.integers(1, 3)))
def test_the_front_is_that_of_all_plans(
    profile_of: ProfileOf, instance: Draw, stages: int | None
) -> None:
    problem = make_problem(profile_of(**instance))

    found = _front_or_refusal(pareto.front, problem, stages)
    expected = _front_or_refusal(exhaustive.pareto_front, problem, stages)

    if isinstance(found, str) or isinstance(expected, str):
        assert found == expected
    else:
        assert _covers(found, expected)
        assert _covers(expected, found)


@settings(deadline=None, max_examples=60)
@given(
    instance=instances(),
    slack=st.sampled_from([1.0, 1.5, 3.0]),
    max_credits=st.one_of(st.none(), st.integers(1, 4)),
)
def test_within_the_limits_no_plan_takes_less_energy(
    profile_of: ProfileOf, instance: Draw, slack: float, max_credits: int | None
) -> None:
    problem = make_problem(profile_of(**instance))
    try:
        max_period_s = slack * NEAR * min(each.period_s for each in exhaustive.front(problem))
    except InfeasibleError:
        return
    limits: Draw = {"stages": None, "max_period_s": max_period_s, "max_credits": max_credits}

    found = pareto.thriftiest(problem, **limits)
    expected = exhaustive.thriftiest(problem, **limits)

    if found is None or expected is None:
        assert found == expected
    else:
        assert found.period_s <= max_period_s
        assert found.credits <= (max_credits or inf)
        assert _dynamic_j(problem, found) == pytest.approx(_dynamic_j(problem, expected))


def _dynamic_j(problem: Problem, chain: Chain) -> float:
    return chain.energy_j - problem.idle_w * chain.period_s
