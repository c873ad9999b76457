"""What a search comes to where networks are blocks of convolutions."""

import numpy as np
import pytest

from evener.artifacts.conv_stack import ConvStack
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import Ends
from evener.artifacts.search_checks import check_search
from evener.artifacts.search_section import Networks, SearchSection
from evener.errors import InputError, InvalidProjectError
from evener.workflow.block_search import block_space, fixed_blocks, picture_of_blocks
from evener.workflow.search_setup import fixed_network, limits_of, prices_of, space_of, spread_of

PICTURES = Ends(features=784, outputs=10, picture=(1, 28, 28))
SMALL = Ends(features=64, outputs=10, picture=(1, 8, 8))
ROWS = Ends(features=784, outputs=10)


@pytest.mark.parametrize(
    ("networks", "ends", "blocks"),
    [
        ("auto", PICTURES, True),
        ("auto", SMALL, False),
        ("auto", ROWS, False),
        ("blocks", SMALL, True),
        ("layers", PICTURES, False),
    ],
)
def test_pictures_of_some_size_are_read_by_blocks(
    networks: Networks, ends: Ends, *, blocks: bool
) -> None:
    section = SearchSection(networks=networks)
    space = space_of(section, ends)

    drawn = space.decode(space.draw(5, np.random.default_rng(0)))

    kind = ConvStack if blocks else LayerGraph
    assert all(isinstance(one, kind) for one in (*drawn, fixed_network(section, ends)))
    assert (picture_of_blocks(section, ends) == ends.picture) is (blocks or ends.picture is None)


def test_blocks_over_rows_that_are_no_pictures_are_refused() -> None:
    with pytest.raises(InputError, match="reads pictures, and a row is 784 numbers"):
        space_of(SearchSection(networks="blocks"), ROWS)


def test_a_space_has_the_sizes_of_the_project() -> None:
    section = SearchSection(stages=2, blocks=3, channels=(4, 6), activations=("gelu",))

    space = block_space(section, (3, 32, 32))

    for one in space.decode(space.draw(50, np.random.default_rng(0))):
        assert len(one.blocks) <= 6
        assert {block.channels for block in one.blocks} <= {3, 4, 6}
        assert one.activation == "gelu"


@pytest.mark.parametrize(("side", "heads"), [(45, {"mean", "flatten"}), (46, {"mean"})])
def test_dense_layers_see_every_place_of_small_pictures_only(side: int, heads: set[str]) -> None:
    space = block_space(SearchSection(channels=(8, 32)), (3, side, side))

    drawn = space.decode(space.draw(50, np.random.default_rng(0)))

    assert {one.head for one in drawn} == heads


def test_what_blocks_cost_counts_their_pictures() -> None:
    section = SearchSection()
    fixed = fixed_blocks(section)

    assert prices_of(section, PICTURES)([fixed]) == [(float(fixed.macs(1, 28, 28, 10)),)]
    expected = 4096 + 4 * fixed.weights(1, 28, 28, 10)
    assert limits_of(expected / 2, PICTURES)(fixed) == pytest.approx(1.0)
    assert spread_of(fixed, section).weight_variance == pytest.approx(2.0, rel=1e-3)


def test_a_fixed_network_halves_the_picture_in_each_stage() -> None:
    fixed = fixed_blocks(SearchSection(stages=4, channels=(8, 32)))

    assert [(one.channels, one.stride) for one in fixed.blocks] == [(8, 2)] * 3 + [(32, 2)]


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (SearchSection(channels=()), "search.channels = .. is empty"),
        (SearchSection(channels=(8, 8)), "must be numbers from 1 up, in rising order"),
        (SearchSection(stages=0), "search.stages = 0 must be at least 1"),
        (SearchSection(blocks=0), "search.blocks = 0 must be at least 1"),
    ],
)
def test_sizes_that_nothing_can_be_made_of_are_refused(
    section: SearchSection, message: str
) -> None:
    with pytest.raises(InvalidProjectError, match=message):
        check_search(section)
