"""Listing the downsets of a graph."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from evener.network.downsets import downsets, narrow_downsets


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int]]:
    nodes = draw(st.integers(1, 7))
    return [
        draw(st.lists(st.integers(0, node - 1), unique=True) if node else st.just([]))
        for node in range(nodes)
    ]


@given(graphs())
def test_a_set_is_listed_if_it_holds_the_predecessors_of_its_nodes(graph: list[list[int]]) -> None:
    every = range(len(graph))
    closed = [
        set(some)
        for size in range(len(graph) + 1)
        for some in combinations(every, size)
        if all(set(graph[node]) <= set(some) for node in some)
    ]

    listed = downsets(graph, most=1_000)

    assert listed is not None
    assert sorted(listed) == sorted(sum(1 << node for node in some) for some in closed)
    assert [one.bit_count() for one in listed] == sorted(one.bit_count() for one in listed)


def test_a_chain_has_one_more_than_nodes() -> None:
    assert downsets([[], [0], [1]], most=4) == (0, 1, 3, 7)


def test_more_than_asked_for_are_none() -> None:
    assert downsets([[]] * 5, most=31) is None
    assert len(downsets([[]] * 5, most=32) or ()) == 32


@given(graphs(), st.integers(0, 4))
def test_narrow_ones_are_those_whose_nodes_are_needed_by_others_but_for_a_few(
    graph: list[list[int]], ends: int
) -> None:
    listed = downsets(graph, most=1_000)
    assert listed is not None

    def ends_of(done: int) -> int:
        needed = {
            before for node, needs in enumerate(graph) if done >> node & 1 for before in needs
        }
        return sum(done >> node & 1 and node not in needed for node in range(len(graph)))

    narrow = narrow_downsets(graph, ends=ends, most=1_000)

    assert narrow == tuple(done for done in listed if ends_of(done) <= ends)


def test_narrow_ones_are_few_where_all_would_be_very_many() -> None:
    free: list[list[int]] = [[]] * 50

    assert downsets(free, most=100_000) is None
    assert len(narrow_downsets(free, ends=2, most=100_000) or ()) == 1 + 50 + 50 * 49 // 2
    assert narrow_downsets(free, ends=2, most=1_275) is None


def test_more_ends_than_nodes_are_listed_at_once() -> None:
    assert narrow_downsets([[], []], ends=10**12, most=10) == (0, 1, 2, 3)
