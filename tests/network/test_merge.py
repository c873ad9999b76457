"""Joining neighbouring blocks."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.errors import InputError
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.merge import merge_blocks
from evener.network.model import Network
from evener.network.split import segment_model

COUNTS = [1, 2, *[1] * 8, 2]  # GoogLeNet's blocks as boards were timed in


@pytest.fixture(scope="module")
def network(light_network: Callable[[str], Network]) -> Network:
    return light_network("googlenet")


@pytest.fixture(scope="module")
def blocks(network: Network) -> Blocks:
    return cut_into_blocks(network, "paper")


def test_every_node_stays_where_it_is_in_the_order(blocks: Blocks) -> None:
    merged = merge_blocks(blocks, COUNTS)

    assert [len(part) for part in (merged.blocks, merged.nodes)] == [11, 11]
    assert sum(merged.nodes, ()) == sum(blocks.nodes, ())
    assert merged.granularity == "table"


def test_what_blocks_cost_adds_up_and_only_the_outer_tensors_cross(blocks: Blocks) -> None:
    one, two, merged = *blocks.blocks[1:3], merge_blocks(blocks, COUNTS).blocks[1]

    assert merged.macs == one.macs + two.macs
    assert merged.weights_bytes == one.weights_bytes + two.weights_bytes
    assert merged.operators == dict(Counter(one.operators) + Counter(two.operators))
    assert (merged.name, merged.inputs, merged.outputs) == (one.name, one.inputs, two.outputs)


@given(st.sets(st.integers(1, 12)))
def test_whatever_is_joined_nothing_is_lost_and_parts_meet(blocks: Blocks, ends: set[int]) -> None:
    cuts = [0, *sorted(ends), 13]
    counts = [end - start for start, end in pairwise(cuts)]

    merged = merge_blocks(blocks, counts)

    assert sum(block.macs for block in merged.blocks) == sum(one.macs for one in blocks.blocks)
    assert [len(part) for part in merged.nodes] == [
        sum(len(nodes) for nodes in blocks.nodes[start:end]) for start, end in pairwise(cuts)
    ]
    assert all(one.outputs == two.inputs for one, two in pairwise(merged.blocks))


def test_a_segment_of_joined_blocks_is_the_segment_of_their_blocks(
    network: Network, blocks: Blocks
) -> None:
    merged = merge_blocks(blocks, COUNTS)

    assert segment_model(network, merged, 1, 2) == segment_model(network, blocks, 1, 3).replace(
        b"googlenet-1-3", b"googlenet-1-2"
    )


@pytest.mark.parametrize("counts", [[], [13, 1], [12], [14, -1], [0, 13]])
def test_counts_that_do_not_make_up_the_blocks_are_refused(
    blocks: Blocks, counts: list[int]
) -> None:
    with pytest.raises(InputError, match="do not make up 13 blocks: give each part at least one"):
        merge_blocks(blocks, counts)
