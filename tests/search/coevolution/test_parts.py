"""Growth, evaluation trees and hyperparameters of the paper's Algorithm 1."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.artifacts.layer_graph import LayerGraph
from evener.errors import InputError
from evener.search.chaos.table import PAPER, Axis, Grid, probe_table
from evener.search.coevolution.growth import Limits, grow, single_block
from evener.search.coevolution.hyperparameters import draw_at_edge
from evener.search.coevolution.tree import Connection, evaluation_tree, in_order
from evener.search.layer_space import LayerSpace
from evener.search.variation import stream

SPACE = LayerSpace()
FREE = Limits(SPACE, lambda graph: graph.macs(8, 2), 1e9)


def grown(seed: int) -> list[LayerGraph]:
    """Grow a network until it can grow no more."""
    rng, steps = stream(seed), [single_block(SPACE)]
    while (more := grow(steps[-1], FREE, rng)) is not None:
        steps.append(more)
    return steps


@given(st.integers(0, 1000))
def test_growth_adds_and_takes_nothing_away(seed: int) -> None:
    steps = grown(seed)

    for before, after in pairwise(steps):
        wider = sum(after.widths) - sum(before.widths)
        assert wider >= 32
        assert len(after.widths) - len(before.widths) == (len(after.links) - len(before.links)) / 2
        assert FREE.allow(after)
    assert len(steps) <= 5 * 4
    assert not SPACE.violation(np.concatenate([SPACE.encode(one) for one in steps])).any()


def test_growth_ends_only_at_a_limit() -> None:
    last = grown(0)[-1]

    widest = last.widths == (256,) * 5
    assert widest or sum(last.widths) > 1024 - 128


def test_a_layer_comes_between_two_nodes() -> None:
    space = LayerSpace(depth=2, widths=(8,))
    limits = Limits(space, lambda graph: graph.macs(8, 2), 1e9)

    found = {grow(single_block(space), limits, stream(seed)) for seed in range(40)}

    assert found == {
        LayerGraph(widths=(8, 8), links=tuple(sorted(links)))
        for links in (
            {(0, 2), (2, 3), (0, 1), (1, 2)},  # between input and layer
            {(0, 2), (2, 3), (0, 1), (1, 3)},  # between input and output
            {(0, 1), (1, 3), (1, 2), (2, 3)},  # between layer and output
        )
    }


def nodes_of(tree: Connection | None) -> Iterator[Connection]:
    if tree is not None:
        yield tree
        yield from nodes_of(tree.source)
        yield from nodes_of(tree.next)


@given(st.integers(0, 2**21 - 1))
def test_the_tree_has_each_connection_once_in_an_order_to_compute_by(bits: int) -> None:
    genome = np.array([[bits >> at & 1 for at in range(SPACE.length)]], bool)
    [graph] = SPACE.decode(genome)

    tree = evaluation_tree(graph)
    order = list(in_order(tree))

    assert sorted(order) == sorted((one.start, one.end) for one in nodes_of(tree))
    assert tuple(sorted(order)) == graph.links
    for place, (start, _) in enumerate(order):
        assert all(end != start for _, end in order[place:])  # its source is complete


def test_without_a_way_to_the_output_there_is_no_tree() -> None:
    assert evaluation_tree(LayerGraph(links=())) is None


def test_hyperparameters_are_drawn_from_the_settings_that_learn() -> None:
    def losses(states: np.ndarray) -> np.ndarray:
        learns = (states[:, 0] == 1e-2) & (states[:, 1] <= 0.45)
        return np.stack([np.ones(len(states)), np.where(learns, 0.4, 1.0)], axis=1)

    probed = probe_table(PAPER, losses)

    drawn = [draw_at_edge(probed, stream(seed)) for seed in range(30)]

    assert {one.learning_rate for one in drawn} == {1e-2}
    assert max(one.momentum for one in drawn) <= 0.45
    assert len({one.mutation_rate for one in drawn}) > 1


def test_a_table_in_which_nothing_learns_has_no_edge() -> None:
    still = probe_table(PAPER, lambda states: np.ones((len(states), 2)))
    other = probe_table(
        Grid((Axis("learning rate", (0.1, 1.0)),)),
        lambda states: np.array([[1.0, 0.5]] * len(states)),
    )

    with pytest.raises(InputError, match="with 0 settings at the edge of chaos: probe that"):
        draw_at_edge(still, stream(0))
    with pytest.raises(InputError, match="a table of learning rate with"):
        draw_at_edge(other, stream(0))
