"""What genomes mean in the spaces of layers and of convolutions."""

import dataclasses
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.conv_stack import Block, ConvStack
from evener.artifacts.layer_graph import LayerGraph, Recipe
from evener.artifacts.topology import Halo, Topology
from evener.errors import InputError
from evener.search.chain_space import ChainSpace
from evener.search.conv_space import ConvSpace
from evener.search.genes import write_levels
from evener.search.layer_space import LayerSpace
from evener.search.space import Space

SPACES: list[Space[Any]] = [
    LayerSpace(),
    LayerSpace(depth=3, activations=("relu", "tanh", "gelu"), recipes=True),
    LayerSpace(depth=12, density=0.2, max_nodes=None),
    ChainSpace(recipes=True, activations=("relu", "tanh")),
    ChainSpace(widths=(4, 8, 32), shards=(1, 2, 4, 8), halos=(0, 1, 3, "full"), outputs=3),
    ConvSpace(),
    ConvSpace(stages=2, blocks=3, activations=("relu", "gelu"), recipes=True, picture_channels=3),
]


def bits(text: str) -> np.ndarray:
    return np.array([[one == "1" for one in text if one != " "]])


@pytest.mark.parametrize("space", SPACES)
@settings(max_examples=20)
@given(seed=st.integers(0, 9999))
def test_equal_choices_that_count_mean_the_same_network(space: Space[Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    [genome] = space.draw(1, rng)
    flipped = genome ^ np.eye(space.length, dtype=bool)  # every genome one bit away

    here = space.loci(genome[None])[0]
    same = (space.loci(flipped) == here).all(axis=1)

    [network] = space.decode(genome[None])
    assert {one.id for one in space.decode(flipped[same])} <= {network.id}


@pytest.mark.parametrize("space", SPACES)
def test_genomes_are_drawn_from_the_generator_alone(space: Space[Any]) -> None:
    first, same, other = (space.draw(4, np.random.default_rng(seed)) for seed in (1, 1, 2))

    assert first.shape == (4, space.length)
    assert (first == same).all()
    assert (first != other).any()


def test_the_papers_genome_has_31_bits_of_which_21_are_links() -> None:
    space = LayerSpace()
    genome = bits("000001 00000 0000 000 00 0" + "00 01 11 10 00")  # input to output, widths

    assert space.length == genome.shape[1] == 31
    assert space.decode(genome) == (LayerGraph(),)


def test_dead_layers_are_left_out_and_the_rest_moves_together() -> None:
    # Input to layers 1 and 3; 1 feeds nothing, 3 feeds the output; 2 feeds 5 and is fed by none.
    genome = bits("101000 00000 0010 001 00 0" + "11 11 01 11 11")

    assert LayerSpace().decode(genome) == (LayerGraph(widths=(64,), links=((0, 1), (1, 2))),)


def test_two_genomes_of_one_network_share_its_id() -> None:
    # Two layers side by side, the narrow one first and the wide one first.
    narrow = bits("110000 00001 0001 000 00 0" + "00 10 00 00 00")
    wide = bits("110000 00001 0001 000 00 0" + "10 00 00 00 00")

    [one], [other] = (LayerSpace().decode(genome) for genome in (narrow, wide))

    assert one.id == other.id
    assert one.widths == (32, 256)


def test_what_is_not_connected_or_too_large_breaks_the_limits_by_so_much() -> None:
    space = LayerSpace(depth=2, widths=(10, 30), max_nodes=20)
    nothing, small, large = bits("000 00 0 00"), bits("001 00 0 11"), bits("100 10 1 11")

    assert space.violation(np.concatenate([nothing, small, large])).tolist() == [1, 0, 2]


@given(st.integers(0, 9999))
def test_a_network_becomes_a_genome_of_that_network(seed: int) -> None:
    space = LayerSpace(depth=6, activations=("relu", "tanh"), recipes=True)
    [network] = space.decode(space.draw(1, np.random.default_rng(seed)))

    assert space.decode(space.encode(network)) == (network,)


def test_a_width_that_the_space_has_not_becomes_the_nearest() -> None:
    own = LayerGraph(widths=(100, 40), links=((0, 1), (1, 2), (2, 3)))

    [network] = LayerSpace().decode(LayerSpace().encode(own))

    assert network.widths == (128, 32)


@settings(max_examples=40)
@given(seed=st.integers(0, 9999))
def test_what_a_space_decodes_it_encodes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = ChainSpace(activations=("relu", "tanh"), recipes=True)
    blocks = ConvSpace(heads=("mean", "flatten"), activations=("relu", "tanh"), recipes=True)
    divided = ChainSpace(shards=(1, 2, 8), halos=("full", 0, 2), outputs=10)
    for row in rows.decode(rows.draw(3, rng)):
        assert rows.decode(rows.encode(row)) == (row,)
    for row in divided.decode(divided.draw(3, rng)):
        assert divided.decode(divided.encode(row)) == (row,)
    for stack in blocks.decode(blocks.draw(3, rng)):
        assert blocks.decode(blocks.encode(stack)) == (stack,)


def test_a_network_that_is_not_divided_stays_so_at_the_width_that_it_gets() -> None:
    space = ChainSpace(widths=(32, 64), shards=(4, 1), halos=(4,), outputs=10)

    [network] = space.decode(space.encode(LayerGraph(widths=(10,), links=((0, 1), (1, 2)))))

    assert network == LayerGraph(widths=(32,), links=((0, 1), (1, 2)))


def test_channels_and_hidden_units_that_a_space_has_not_become_the_nearest() -> None:
    conv = Block(kind="conv3x3", channels=12, stride=2)
    own = ConvStack(blocks=(conv, Block(kind="conv1x1", channels=100)), hidden=20)

    [network] = ConvSpace(stages=2, blocks=1).decode(ConvSpace(stages=2, blocks=1).encode(own))

    assert [(one.channels, one.stride) for one in network.blocks] == [(16, 2), (64, 1)]
    assert network.hidden == 64


@pytest.mark.parametrize(
    ("space", "own", "message"),
    [
        (
            LayerSpace(),
            LayerGraph(widths=(8,) * 6),
            "has 6 hidden layers, the space 5: give a depth of 6",
        ),
        (
            LayerSpace(),
            LayerGraph(activation="tanh"),
            "the space has the activations relu; add tanh",
        ),
        (
            ChainSpace(depth=1),
            LayerGraph(widths=(8, 8), links=((0, 1), (1, 2), (2, 3))),
            "has 2 hidden layers, the space 1: give a depth of 2",
        ),
        (
            ChainSpace(),
            LayerGraph(widths=(8,), links=((0, 1), (0, 2), (1, 2))),
            "the space has layers one behind another; give such",
        ),
        (
            ConvSpace(stages=2, blocks=1),
            ConvStack(blocks=(Block(kind="conv1x1", channels=8),) * 3),
            "takes 3 stages of 1 blocks or fewer, .* the space has 2: give more stages",
        ),
        (
            ConvSpace(heads=("mean",)),
            ConvStack(blocks=(Block(kind="conv1x1", channels=8),), head="flatten"),
            "the space has the heads mean; give another network",
        ),
        (
            LayerSpace(),
            LayerGraph(widths=(8,), links=((0, 1), (1, 2)), topology=Topology(shards=2, halo=0)),
            "the space has no shards; leave out the topology",
        ),
        (
            ChainSpace(),
            LayerGraph(widths=(8,), links=((0, 1), (1, 2)), topology=Topology(shards=2, halo=0)),
            "the space has no shards; leave out the topology",
        ),
        (
            ChainSpace(shards=(4,), halos=(0,)),
            LayerGraph(widths=(8,), links=((0, 1), (1, 2)), topology=Topology(shards=2, halo=0)),
            "the space has shards 4 and halos 0; add 2 and 0",
        ),
        (
            ChainSpace(shards=(4,), halos=(0,), outputs=10),
            LayerGraph(widths=(32,), links=((0, 1), (1, 2))),
            "each neuron sees all of the layer before, and the space has only divided networks",
        ),
    ],
)
def test_a_network_that_the_space_has_not_is_refused(
    space: Any,  # noqa: ANN401 - spaces of either
    own: LayerGraph | ConvStack,
    message: str,
) -> None:
    with pytest.raises(InputError, match=message):
        space.encode(own)


def test_a_network_without_a_recipe_is_refused_where_recipes_evolve() -> None:
    with pytest.raises(InputError, match="has no recipe, and the space has: give it one"):
        LayerSpace(recipes=True).encode(LayerGraph())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"depth": 51}, "a depth of 51: give 1 to 50"),
        ({"density": 0.0}, "a density of 0.0: give more than 0"),
        ({"widths": (64, 32)}, "give different ones in ascending order"),
        ({"activations": ()}, "no activation to choose from"),
    ],
)
def test_a_space_that_is_none_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LayerSpace(**settings)


def test_adam_silences_the_momentum() -> None:
    space = LayerSpace(depth=1, widths=(32,), recipes=True)
    links = "111"
    sgd, adam = (bits(links + optimiser + "0000 100 00") for optimiser in "01")

    found = [one.recipe for one in space.decode(np.concatenate([sgd, adam]))]

    assert found == [
        Recipe(learning_rate=1e-4, momentum=0.9),
        Recipe(optimiser="adam", learning_rate=1e-4),
    ]


def test_the_density_of_links_is_what_was_asked_for() -> None:
    genomes = LayerSpace(depth=50, density=0.881).draw(20, np.random.default_rng(0))

    assert abs(genomes[:, :1326].mean() - 0.881) < 0.01
    assert abs(genomes[:, 1326:].mean() - 0.5) < 0.05


@given(st.integers(0, 9999))
def test_convolutions_come_with_shapes_that_fit(seed: int) -> None:
    space = ConvSpace(picture_channels=3)
    genomes = space.draw(8, np.random.default_rng(seed))

    for stack in space.decode(genomes):  # a stack checks its own shapes
        kinds = [block.kind for block in stack.blocks]
        assert sum(block.stride == 2 for block in stack.blocks) <= 3
        for one, next_ in pairwise(stack.blocks):
            assert next_.kind != "pool3x3" or next_.channels == one.channels
        assert len(kinds) <= 15


def test_a_stack_is_read_from_its_bits() -> None:
    space = ConvSpace(stages=1, blocks=3, hidden=(0,))
    # 16 channels, halved: conv3x3, none, conv1x1 with its input added; every place is seen.
    genome = bits("01 1" + "100 1" + "000 1" + "110 1" + "1")

    [stack] = space.decode(genome)

    assert str(stack) == "blocks conv3x3(16)/2 conv1x1(16)+, flattened, relu"


def test_a_stack_without_a_convolution_breaks_the_limits() -> None:
    space = ConvSpace(stages=1, blocks=1, heads=("mean",), hidden=(0,))
    pool, conv = bits("00 0" + "011 0"), bits("00 0" + "100 0")

    assert space.violation(np.concatenate([pool, conv])).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"kind": "conv3x3", "channels": 0}, "a block has 1 channel or more"),
        ({"kind": "pool3x3", "channels": 4}, "pooling keeps the 8 channels"),
        ({"kind": "conv1x1", "channels": 4, "residual": True}, "give stride 1 and 8 channels"),
        (
            {"kind": "conv1x1", "channels": 8, "residual": True, "stride": 2},
            "both need one shape",
        ),
    ],
)
def test_blocks_that_do_not_fit_are_refused(block: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ConvStack(blocks=(Block(kind="conv3x3", channels=8), Block(**block)))


DIVIDED = ChainSpace(depth=2, widths=(8, 32), shards=(1, 2, 4), halos=(1, 4, "full"), outputs=4)


def divided(hidden: tuple[int, ...], shards: int, halo: Halo) -> np.ndarray:
    """Return a genome of hidden layers, shards and halo."""
    widths = [(0, *DIVIDED.widths).index(one) for one in (*hidden, 0, 0)[:2]]
    levels = [*widths, 0, DIVIDED.shards.index(shards), DIVIDED.halos.index(halo)]
    return write_levels(np.array([levels]), DIVIDED.genes)


def test_shards_and_halo_are_genes_behind_the_others() -> None:
    [network] = DIVIDED.decode(divided((32, 8), 4, 1))

    assert network == LayerGraph(
        widths=(32, 8), links=((0, 1), (1, 2), (2, 3)), topology=Topology(shards=4, halo=1)
    )
    without = ChainSpace(depth=2, widths=(8, 32))
    assert DIVIDED.genes[: len(without.genes)] == without.genes


@pytest.mark.parametrize(
    ("hidden", "shards", "halo"),
    [
        ((32, 8), 1, 1),  # of one shard
        ((32, 8), 4, "full"),
        ((), 4, 1),  # the whole input is seen
        ((8,), 2, 4),  # so wide a halo that all is
    ],
)
def test_where_all_see_all_shards_and_halo_are_silent(
    hidden: tuple[int, ...], shards: int, halo: Halo
) -> None:
    genomes = np.concatenate([divided(hidden, shards, halo), divided(hidden, 1, "full")])

    one, other = DIVIDED.decode(genomes)

    assert one == other
    assert one.divided is None
    assert one.id == ChainSpace(depth=2, widths=(8, 32)).decode(genomes[:1, :-4])[0].id
    assert DIVIDED.loci(genomes)[:, -2:].tolist() == [[-1, -1], [-1, -1]]


def test_two_topologies_of_one_network_are_one_genome_of_the_first() -> None:
    space = dataclasses.replace(DIVIDED, outputs=2)
    genomes = np.concatenate([divided((32,), shards, 1) for shards in (2, 4)])

    one, other = space.decode(genomes)

    assert one == other
    assert one.divided == Topology(shards=2, halo=1)  # each of two outputs is a shard
    assert len(set(DIVIDED.decode(genomes))) == 2


def test_no_genomes_have_no_loci() -> None:
    assert DIVIDED.loci(np.zeros((0, DIVIDED.length), bool)).shape == (0, 5)


@pytest.mark.parametrize("wrong", [{"halos": ()}, {"shards": ()}, {"recipes": True}])
def test_shards_beside_what_they_do_not_go_with_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="give both, and no recipes, or neither"):
        dataclasses.replace(DIVIDED, **wrong)
