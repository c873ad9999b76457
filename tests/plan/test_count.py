"""Counting the plans of a space."""

from collections.abc import Callable

import pytest

from evener.artifacts.profile import Profile
from evener.plan.count import full_configurations, paper_configurations
from evener.plan.problem import make_problem
from evener.testing.chains import every_chain

ProfileOf = Callable[..., Profile]


@pytest.mark.parametrize("sizes", [{"cpu0": 3}, {"cpu0": 2, "cpu1": 2}, {"cpu0": 2, "gpu0": 1}])
@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_as_many_as_trying_all_finds(
    profile_of: ProfileOf, sizes: dict[str, int], blocks: int
) -> None:
    problem = make_problem(profile_of(blocks, sizes, {}))

    assert full_configurations(problem) == sum(1 for _ in every_chain(problem))


@pytest.mark.parametrize("blocks", [2, 3, 6])
def test_the_formula_counts_the_paper_space_of_three_processors(
    profile_of: ProfileOf, blocks: int
) -> None:
    profile = profile_of(blocks, {"cpu0": 4, "cpu1": 2, "gpu0": 1}, {})
    problem = make_problem(profile, space="paper")

    counted = sum(1 for _ in every_chain(problem, stages=3))

    assert paper_configurations(blocks - 1) == counted


def test_fewer_than_two_cuts_leave_no_plan_of_three_stages() -> None:
    assert [paper_configurations(points) for points in (0, 1, 2)] == [0, 0, 6]
