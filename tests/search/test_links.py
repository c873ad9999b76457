"""Links as bits, and what of them computes something."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.search.canonical import canonical_order
from evener.search.links import count_links, live_nodes, prune_links, read_links, write_links

networks = st.tuples(st.integers(2, 9), st.floats(0.1, 0.9), st.integers(0, 999))


def some_links(nodes: int, density: float, seed: int, count: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).random((count, count_links(nodes))) < density


def remove_one_by_one(matrix: np.ndarray) -> np.ndarray:
    """Take away hidden nodes that nothing feeds, or that feed nothing, until there is none."""
    matrix = matrix.copy()
    last = len(matrix) - 1
    while True:
        dead = [
            node
            for node in range(1, last)
            if matrix[node].any() != matrix[:, node].any()  # only one side is left
        ]
        if not dead:
            return matrix
        for node in dead:
            matrix[node] = matrix[:, node] = False


@given(networks)
def test_pruning_is_removing_dead_nodes_until_none_is_left(network: tuple[int, float, int]) -> None:
    matrices = read_links(some_links(*network), network[0])

    pruned = prune_links(matrices)

    for one, was in zip(pruned, matrices, strict=True):
        assert (one == remove_one_by_one(was)).all()


@given(networks)
def test_pruning_twice_is_pruning_once(network: tuple[int, float, int]) -> None:
    once = prune_links(read_links(some_links(*network), network[0]))

    assert (prune_links(once) == once).all()


@given(networks)
def test_bits_are_read_and_written_the_same(network: tuple[int, float, int]) -> None:
    bits = some_links(*network)

    assert (write_links(read_links(bits, network[0])) == bits).all()


def test_without_a_way_to_the_output_no_node_is_live() -> None:
    matrices = read_links(np.array([[1, 0, 0]], bool), 3)

    assert not live_nodes(matrices).any()


def test_of_all_seven_node_genomes_so_many_connect_and_so_many_networks_are_left() -> None:
    links = count_links(7)
    connected, kept = 0, np.zeros(1 << links, bool)
    for first in range(0, 1 << links, 1 << 16):
        codes = np.arange(first, first + (1 << 16), dtype="<u4")
        genomes = np.unpackbits(codes.view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")
        matrices = read_links(genomes[:, :links].astype(bool), 7)
        live = live_nodes(matrices)[:, -1]
        connected += int(live.sum())
        left = np.packbits(write_links(prune_links(matrices)), axis=1, bitorder="little")
        kept[(left.astype(np.int64) << (0, 8, 16)).sum(axis=1)[live]] = True

    assert connected == 1_947_545  # 92.9 % of 2^21
    assert kept.sum() == 214_143


@given(networks)
def test_the_numbering_of_layers_makes_no_difference(
    network: tuple[int, float, int],
) -> None:
    nodes, _, seed = network
    rng = np.random.default_rng(seed)
    [matrix] = prune_links(read_links(some_links(*network, count=1), nodes))
    kept = np.flatnonzero(matrix.any(axis=0) | matrix.any(axis=1))
    matrix = matrix[np.ix_(kept, kept)]
    labels = rng.permutation(np.arange(len(kept))).tolist()  # all different: one numbering is right
    shuffled = any_forward_order(matrix, rng)

    order = canonical_order(matrix, labels)
    again = canonical_order(matrix[np.ix_(shuffled, shuffled)], [labels[node] for node in shuffled])

    assert order == [shuffled[place] for place in again]
    assert not np.tril(matrix[np.ix_(order, order)]).any()  # links still go forward


def any_forward_order(matrix: np.ndarray, rng: np.random.Generator) -> list[int]:
    order: list[int] = []
    while len(order) < len(matrix):
        ready = [
            node
            for node in range(len(matrix))
            if node not in order and set(np.flatnonzero(matrix[:, node])) <= set(order)
        ]
        order.append(int(rng.choice(ready)))
    return order


@pytest.mark.parametrize(("nodes", "links"), [(2, 1), (7, 21), (52, 1326)])
def test_links_are_counted(nodes: int, links: int) -> None:
    assert count_links(nodes) == links
