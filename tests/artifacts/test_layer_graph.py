"""The record of layers wired as a graph, and of those that are divided into shards."""

from typing import Any

import msgspec
import pytest

from evener.artifacts.layer_graph import LayerGraph, Recipe
from evener.artifacts.networks import Ends, macs, stored, topology_of, weights
from evener.artifacts.topology import Topology
from evener.errors import InputError

ROW = LayerGraph(widths=(64, 64), links=((0, 1), (1, 2), (2, 3)))
DIVIDED = msgspec.structs.replace(ROW, topology=Topology(shards=8, halo=1))
ENDS = Ends(features=12, outputs=8)


def test_of_a_network_that_is_not_divided_neither_id_nor_file_says_so() -> None:
    graph = LayerGraph(widths=(32,), links=((0, 1), (1, 2)))

    assert graph.id == "2c8d6ef7b931"  # as before there were shards
    assert "topology" not in msgspec.json.decode(msgspec.json.encode(graph))
    assert topology_of(graph) is None


def test_a_divided_network_is_another_and_stays_so_in_a_file() -> None:
    read = msgspec.json.decode(msgspec.json.encode(DIVIDED), type=LayerGraph)

    assert read == DIVIDED
    assert topology_of(read) == Topology(shards=8, halo=1)
    wider = msgspec.structs.replace(ROW, topology=Topology(shards=8, halo=2))
    assert len({ROW.id, DIVIDED.id, wider.id}) == 3
    assert str(DIVIDED) == "layers 64-64 relu, 3 links, 8 shards, halo 1"


def test_it_costs_the_weights_that_there_are() -> None:
    exist = 12 * 64 + 64 * (8 + 2) + 8 * (8 + 2)

    assert macs(DIVIDED, ENDS) == exist
    assert weights(DIVIDED, ENDS) == exist + 64 + 64 + 8


def test_its_file_has_zeros_where_many_weights_exist_and_lists_what_is_seen_where_few_do() -> None:
    halved = msgspec.structs.replace(ROW, topology=Topology(shards=2, halo=0))

    assert stored(halved, ENDS) == weights(ROW, ENDS)
    assert stored(DIVIDED, ENDS) == weights(DIVIDED, ENDS) + 2 * (8 * 10) + 2 * (8 * 10)
    assert stored(ROW, ENDS) == weights(ROW, ENDS)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"links": ((0, 1), (0, 2), (1, 2), (2, 3))}, "leave out the topology, or links that skip"),
        ({"recipe": Recipe()}, "leave out the topology, or links that skip a layer and the recipe"),
        ({"topology": Topology(shards=4)}, "every neuron sees all of the layer before: leave out"),
        ({"topology": Topology(shards=4, halo=1, coarse=1)}, "shards and a halo alone: leave out"),
        ({"widths": (), "links": ((0, 1),)}, "every neuron sees all of the layer before"),
    ],
)
def test_a_topology_where_none_can_be_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        msgspec.structs.replace(DIVIDED, **wrong)
