"""Which parent gave a child what, by the bits that the crossover took."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.search.chain_space import ChainSpace
from evener.search.genes import Genomes
from evener.search.homology import Descent, descent_of, homologies
from evener.search.layer_space import LayerSpace
from evener.search.variation import cross, cut, invert, stream

SPACE = LayerSpace(depth=3, widths=(8, 16))
CHAINS = ChainSpace(depth=3, widths=(8, 16, 32))


def wired(*links: tuple[int, int], widths: tuple[int, int, int] = (0, 0, 0)) -> Genomes:
    """Return a genome of links between nodes of the space, 4 is the output, and levels of width."""
    genome = np.zeros(SPACE.length, bool)
    genome[[SPACE.link_bit(*link) for link in links]] = True
    genome[10:13] = widths
    return genome


def crossed(child: Genomes, first: Genomes, second: Genomes, point: int) -> Descent:
    return descent_of(child, (first, second), ("first", "second"), point)


def test_a_link_is_of_the_parent_whose_bits_the_crossover_took() -> None:
    links = ((0, 1), (1, 2), (2, 3), (3, 4))
    parent = wired(*links)
    other = wired(*links, (0, 4))
    point = SPACE.link_bit(2, 3)

    [one, two] = homologies(SPACE, crossed(parent, parent, other, point))

    assert (one.links, two.links) == (((0, 1), (1, 2)), ((2, 3), (3, 4)))
    assert one.nodes == two.nodes == tuple((node, node) for node in range(5))


def test_layers_are_the_same_where_the_same_node_became_either() -> None:
    first = wired((0, 2), (2, 4))  # its only layer is node 2
    second = wired((0, 1), (1, 3), (3, 4))
    child = wired((0, 1), (0, 2), (1, 3), (2, 4), (3, 4), widths=(1, 0, 0))
    [network] = SPACE.decode(child[None])
    [layers] = SPACE.places(child[None])
    numbers = {place: node for node, place in enumerate((0, *layers, 4))}

    [one, two] = homologies(SPACE, crossed(child, first, second, SPACE.link_bit(1, 3)))

    assert network.widths == (8, 16, 8)
    assert one.nodes == ((0, 0), (1, numbers[2]), (2, 4))
    assert two.nodes == ((0, 0), (1, numbers[1]), (2, numbers[3]), (3, 4))
    assert set(one.links) == {(0, numbers[2]), (numbers[2], 4)}  # though bits after it had neither
    assert set(two.links) == {(0, numbers[1]), (numbers[1], numbers[3]), (numbers[3], 4)}


def test_a_link_that_neither_has_is_of_neither() -> None:
    first, second = wired((0, 1), (1, 4)), wired((0, 1), (0, 4), (1, 4))
    child = wired((0, 1), (0, 2), (1, 4), (2, 4))  # node 2 came by two inverted bits

    [one, two] = homologies(SPACE, crossed(child, first, second, 1))

    [layers] = SPACE.places(child[None])
    numbers = {place: node for node, place in enumerate((0, *layers, 4))}
    known = {(0, numbers[1]), (numbers[1], 3)}
    assert {*one.links, *two.links} == known
    assert not {*one.links} & {*two.links}


def test_one_parent_alone_gives_all_that_it_has() -> None:
    parent = wired((0, 1), (1, 4))
    child = wired((0, 1), (0, 4), (1, 4))

    descent = crossed(child, parent, parent, 3)
    [one] = homologies(SPACE, descent)

    assert (descent.parents, descent.point) == (("first",), SPACE.length)
    assert one.links == ((0, 1), (1, 2))


def test_in_a_row_of_layers_a_link_is_of_the_parent_that_gave_the_layer_it_leads_to() -> None:
    def row(*levels: int) -> Genomes:
        codes = {0: (0, 0), 1: (0, 1), 2: (1, 1), 3: (1, 0)}  # Gray
        return np.array([bit for level in levels for bit in codes[level]], bool)

    first, second = row(1, 2, 0), row(3, 0, 2)
    child = row(1, 2, 2)  # the last gene is the second's

    [one, two] = homologies(CHAINS, crossed(child, first, second, 4))

    assert CHAINS.decode(child[None])[0].widths == (8, 16, 16)
    assert one.nodes == ((0, 0), (1, 1), (2, 2), (3, 4))
    assert two.nodes == ((0, 0), (1, 1), (2, 3), (3, 4))
    assert (one.links, two.links) == (((0, 1), (1, 2)), ((3, 4),))  # (2, 3) is new


@pytest.mark.parametrize("space", [SPACE, CHAINS, LayerSpace()], ids=["layers", "chain", "paper"])
@given(seed=st.integers(0, 10_000))
def test_what_a_parent_gave_it_has_and_nothing_is_given_twice(
    space: LayerSpace | ChainSpace, seed: int
) -> None:
    rng = stream(seed)
    first, second = space.draw(2, rng)[:, None]
    points = cut(np.array([0.8]), space.length, rng)
    child = invert(cross(first, second, points), np.array([0.1]), rng)
    [network, *parents] = space.decode(np.concatenate([child, first, second]))
    descent = crossed(child[0], first[0], second[0], int(points[0]))

    found = homologies(space, descent)

    links = [link for one in found for link in one.links]
    assert len(links) == len(set(links))
    assert set(links) <= set(network.links)
    for one, parent in zip(found, parents, strict=False):
        own = {same: node for node, same in one.nodes}
        assert all((own[start], own[end]) in parent.links for start, end in one.links)
        if network.links and parent.links:
            assert (len(parent.widths) + 1, len(network.widths) + 1) in one.nodes
    if (child[0] == first[0]).all() and len(found) == 1:
        assert found[0].links == network.links


@given(st.integers(0, 10_000))
def test_layers_are_placed_as_they_are_decoded(seed: int) -> None:
    genomes = LayerSpace().draw(4, stream(seed))
    levels = LayerSpace().loci(genomes)

    for network, places, row in zip(
        LayerSpace().decode(genomes), LayerSpace().places(genomes), levels, strict=True
    ):
        widths = [LayerSpace().widths[row[21 + place - 1]] for place in places]
        assert tuple(widths) == network.widths
        ends = [0, *places, 6]
        bits = {LayerSpace().link_bit(ends[start], ends[end]) for start, end in network.links}
        assert bits == set(np.flatnonzero(row[:21]).tolist())
