"""A network is read from the line that names it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.conv_stack import Block, ConvStack
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.named_network import read_network
from evener.errors import InputError
from evener.search.chain_space import ChainSpace
from evener.search.conv_space import ConvSpace

CHAIN = LayerGraph(widths=(64, 32), links=((0, 1), (1, 2), (2, 3)))


@settings(max_examples=40)
@given(seed=st.integers(0, 9999))
def test_what_a_search_prints_is_read_again(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = ChainSpace(activations=("relu", "tanh", "gelu"))
    blocks = ConvSpace(activations=("relu", "sigmoid"))
    divided = ChainSpace(shards=(2, 8), halos=(0, 2, "full"), outputs=10)
    drawn = (*rows.decode(rows.draw(3, rng)), *divided.decode(divided.draw(3, rng)))
    for network in (*drawn, *blocks.decode(blocks.draw(3, rng))):
        assert read_network(str(network)) == network


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("64-32", CHAIN),
        (" layers  64-32 relu, 3 links ", CHAIN),
        ("none", LayerGraph()),
        ("64-32 gelu", LayerGraph(widths=(64, 32), links=CHAIN.links, activation="gelu")),
        (
            "conv3x3(8)/2 depthwise3x3(8)+, hidden 16",
            ConvStack(
                blocks=(
                    Block(kind="conv3x3", channels=8, stride=2),
                    Block(kind="depthwise3x3", channels=8, residual=True),
                ),
                hidden=16,
            ),
        ),
    ],
)
def test_people_may_write_less(text: str, network: LayerGraph | ConvStack) -> None:
    assert read_network(text) == network


def test_an_activation_that_is_not_named_is_the_given_one() -> None:
    assert read_network("8", "tanh").activation == read_network("conv1x1(4)", "tanh").activation
    assert read_network("8", "tanh").activation == "tanh"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' names no network: write layers such as '64-32 relu', or blocks such as"),
        ("resnet50", "'resnet50' names no network"),
        ("64-", "'64-' names no network"),
        ("blocks", "'blocks' names no network"),
        ("conv3x3(8) pool", "names no network"),
        ("0-32", r"hidden layers of \(0, 32\) units: each has 1 or more"),
        ("9999999999", "9999999999 is no size; give a smaller number"),
        ("64 tanhh", "there is no activation tanhh; there is relu, tanh, gelu and sigmoid"),
        ("conv1x1(8), wide", "there is no activation wide"),
        ("conv5x5(8)", "there is no block conv5x5; there is conv1x1, conv3x3, depthwise3x3 and"),
        ("conv3x3(0)", r"block 0 \(conv3x3, 0 channels\): a block has 1 channel or more"),
        ("conv3x3(8) conv3x3(16)+", "its input is added to its output, so that both need one"),
        (
            "layers 64-32 relu, 4 links",
            "which of its 4 links there are, its name does not say: give layers one behind another",
        ),
    ],
)
def test_what_names_no_network_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_network(text)
