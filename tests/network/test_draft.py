"""The graph of a network before it is trained."""

import msgspec
import numpy as np
import onnx_ir as ir
import pytest

from evener.artifacts.architecture import Architecture
from evener.artifacts.conv_stack import Block, ConvStack
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import Ends, Network, macs, weights
from evener.errors import InputError
from evener.network.blocks import cut_into_blocks
from evener.network.draft import draft_network, file_bytes
from evener.network.features import block_features
from evener.network.model import parse_network

TABLE = Ends(features=64, outputs=10)
PICTURES = Ends(features=784, outputs=10, picture=(1, 28, 28))
STACK = ConvStack(
    blocks=(
        Block(kind="conv3x3", channels=8, stride=2),
        Block(kind="conv3x3", channels=8, residual=True),
        Block(kind="depthwise3x3", channels=16, stride=2),
        Block(kind="pool3x3", channels=16),
        Block(kind="conv1x1", channels=32),
    ),
    hidden=24,
)
FOUND = (
    (Architecture(hidden=(32, 16), activation="tanh"), TABLE),
    (Architecture(family="linear"), TABLE),
    (LayerGraph(widths=(32, 16), links=((0, 1), (0, 2), (1, 2), (1, 3), (2, 3))), TABLE),
    (LayerGraph(), TABLE),
    (STACK, PICTURES),
    (msgspec.structs.replace(STACK, head="flatten"), PICTURES),
    (ConvStack(blocks=(), activation="gelu"), PICTURES),
)
each = pytest.mark.parametrize(("found", "ends"), FOUND, ids=lambda one: str(one)[:20])


@each
def test_the_graph_is_the_one_that_its_file_is_read_as(found: Network, ends: Ends) -> None:
    draft = draft_network(found, ends)
    content = ir.to_proto(draft.model).SerializeToString()
    read = parse_network(content, name="read")

    expected, drafted = cut_into_blocks(read, "paper"), cut_into_blocks(draft, "paper")
    assert drafted.blocks == expected.blocks
    np.testing.assert_array_equal(block_features(draft, drafted), block_features(read, expected))
    assert (draft.inputs, draft.outputs) == (read.inputs, read.outputs)


@each
def test_it_computes_and_holds_what_the_record_counts(found: Network, ends: Ends) -> None:
    draft = draft_network(found, ends)

    assert sum(block.macs for block in cut_into_blocks(draft, "paper").blocks) == macs(found, ends)


@each
def test_its_file_is_about_as_large_as_it_says(found: Network, ends: Ends) -> None:
    draft = draft_network(found, ends)
    content = ir.to_proto(draft.model).SerializeToString()

    assert weights(found, ends) * 4 < file_bytes(draft)
    assert file_bytes(draft) == pytest.approx(len(content), rel=0.05, abs=1000)


def test_weights_depend_on_the_seed_alone() -> None:
    def layer(seed: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
        network = draft_network(FOUND[0][0], TABLE, seed=seed)
        constant = network.model.graph.initializers["layer1.weight"].const_value
        assert constant is not None
        return constant.numpy()

    np.testing.assert_array_equal(layer(1), layer(1))
    assert not np.array_equal(layer(1), layer(2))
    assert layer(1).std() == pytest.approx((2 / 64) ** 0.5, rel=0.1)


def test_a_network_that_reads_pictures_needs_some() -> None:
    with pytest.raises(InputError, match="reads pictures, and a row is 64 numbers in no order"):
        draft_network(STACK, TABLE)


def test_what_computes_nothing_is_named() -> None:
    with pytest.raises(InputError, match="nothing feeds layer 1"):
        draft_network(LayerGraph(widths=(8,), links=((0, 2),)), TABLE)


def test_a_forest_has_no_layers() -> None:
    with pytest.raises(InputError, match="forest of 10 has no layers to plan"):
        draft_network(Architecture(family="forest", trees=10), TABLE)
