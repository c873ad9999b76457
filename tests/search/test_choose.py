"""Choosing among rated networks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.search.choose import Rated, choose, finalists

figures = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 6)), min_size=1, max_size=8)


def rated(figures: list[tuple[int, int]], error: float = 0.0) -> list[Rated]:
    """Rate networks of the given costs and qualities in tenths."""
    return [
        Rated(str(index), (cost,), quality / 10, error)
        for index, (cost, quality) in enumerate(figures)
    ]


@given(figures, st.integers(0, 7), st.sampled_from([0.0, 0.1]))
def test_no_cheaper_one_is_good_enough(
    figures: list[tuple[int, int]], limit: int, error: float
) -> None:
    networks = rated(figures, error)

    chosen = choose(networks, limit / 10)

    good = [one.costs for one in networks if one.quality - 2 * error >= limit / 10]
    if good:
        assert chosen.costs == min(good)
    else:
        assert chosen.quality == max(one.quality for one in networks)


def test_without_a_requirement_the_cheapest_that_may_be_as_good_as_the_best_is_chosen() -> None:
    networks = rated([(9, 6), (2, 5), (1, 4)], error=0.1)

    assert choose(networks, None) is networks[1]


def test_of_several_costs_the_first_counts_and_the_others_where_it_is_the_same() -> None:
    costs = {"a": (2.0, 1.0), "b": (1.0, 9.0), "c": (1.0, 8.0), "d": (0.5, 1.0)}
    networks = [Rated(id_, of, 0.1 if id_ == "d" else 0.9, 0.0) for id_, of in costs.items()]

    assert choose(networks, 0.5).id == "c"
    assert [one.id for one in finalists(networks, 0.5, 4)] == ["c", "b", "d", "a"]


def test_finalists_of_several_costs_are_those_of_the_first_alone_then_others() -> None:
    front = [
        Rated("a", (1.0, 9.0), 0.955, 0.0),
        Rated("b", (1.5, 8.0), 0.60, 0.0),
        Rated("c", (1.6, 7.0), 0.70, 0.0),
        Rated("d", (1.7, 6.0), 0.80, 0.0),
        Rated("e", (2.0, 5.0), 0.97, 0.0),
    ]

    assert "".join(one.id for one in finalists(front, 0.95, 2)) == "ae"
    assert "".join(one.id for one in finalists(front, 0.95, 5)) == "aebcd"


@given(figures, st.integers(0, 7), st.integers(1, 9))
def test_the_choice_is_the_first_finalist_and_none_stands_twice(
    figures: list[tuple[int, int]], limit: int, count: int
) -> None:
    networks = rated(figures)

    found = finalists(networks, limit / 10, count)

    assert found[0] == choose(networks, limit / 10)
    assert len(found) == len(set(found)) == min(count, len(networks))


@pytest.mark.parametrize(("count", "ids"), [(1, "b"), (2, "bc"), (3, "bca"), (9, "bca")])
def test_better_neighbours_come_before_cheaper_ones(count: int, ids: str) -> None:
    front = [Rated(id_, (cost,), cost / 10, 0.0) for cost, id_ in enumerate("abc")]

    assert "".join(one.id for one in finalists(front, 0.1, count)) == ids
