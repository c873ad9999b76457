"""Layers of variants of one network compete on a dataset."""

import pytest

from evener.artifacts.layer_graph import LayerGraph, Recipe
from evener.artifacts.project import DataSection
from evener.artifacts.topology import Topology
from evener.data.load import load_dataset
from evener.errors import InputError
from evener.search.competition import CREDITS, Credit
from evener.workflow.competition import Match, compete_layers

GRAPH = LayerGraph(
    widths=(24, 16),
    links=((0, 1), (0, 2), (1, 2), (2, 3)),
    recipe=Recipe(learning_rate=0.05, momentum=0.9),
)
MATCH = Match(instances=4, blocks=2, head_start=2)


@pytest.mark.parametrize("credit", CREDITS)
def test_on_digits_the_champion_is_never_worse_than_the_best_variant(
    credit: Credit, tmp_path_factory: pytest.TempPathFactory
) -> None:
    digits = load_dataset(DataSection(source="digits"), tmp_path_factory.getbasetemp())
    match = Match(instances=4, blocks=2, head_start=2, credit=credit)

    found = compete_layers(GRAPH, digits, match)

    assert found.error <= found.begun
    assert found.error == min(one.error for one in found.sweeps) < 0.05
    assert [layer.bias.shape for layer in found.champion] == [(24,), (16,), (10,)]


def test_the_same_seed_gives_the_same_champion(tmp_path_factory: pytest.TempPathFactory) -> None:
    digits = load_dataset(DataSection(source="digits"), tmp_path_factory.getbasetemp())

    once, again = compete_layers(GRAPH, digits, MATCH), compete_layers(GRAPH, digits, MATCH)

    assert once.error == again.error
    assert [one.winners for one in once.sweeps] == [one.winners for one in again.sweeps]


def test_layers_that_are_divided_into_shards_do_not_compete(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    digits = load_dataset(DataSection(source="digits"), tmp_path_factory.getbasetemp())
    row = LayerGraph(
        widths=(16, 16), links=((0, 1), (1, 2), (2, 3)), topology=Topology(shards=4, halo=0)
    )

    with pytest.raises(InputError, match="layers compete where they are whole; leave out the topo"):
        compete_layers(row, digits, MATCH)
