"""The graph of a network before it is trained."""

import msgspec
import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import numpy_helper

from evener.artifacts.architecture import Architecture
from evener.artifacts.conv_stack import Block, ConvStack
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import Ends, Network, macs, stored, weights
from evener.artifacts.topology import Topology
from evener.errors import InputError
from evener.network.blocks import cut_into_blocks
from evener.network.draft import draft_file, draft_network, file_bytes
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


@pytest.mark.parametrize(
    ("widths", "topology"),
    [
        ((64, 64), Topology(shards=2, halo=1)),  # with zeros
        ((64, 64), Topology(shards=8, halo=1)),  # the output in shards of unequal size
        ((48, 33, 100), Topology(shards=11, halo=0)),
        ((96, 20), Topology(shards=16, halo=1)),
        ((40,), Topology(shards=64, halo=1)),  # more shards than neurons
    ],
    ids=str,
)
def test_shards_are_drafted_as_they_are_written(
    widths: tuple[int, ...], topology: Topology
) -> None:
    pytest.importorskip("torch", reason="shards are trained with the extra 'train'")
    from evener.comm.alone import Alone
    from evener.train.activations import Activation
    from evener.train.ranked import RankedNetwork
    from evener.train.shape import Shape
    from evener.train.sharded_onnx import export_sharded, gather_parts

    found = LayerGraph(
        widths=widths,
        links=tuple((node, node + 1) for node in range(len(widths) + 1)),
        activation="gelu",
        topology=topology,
    )
    gelu: Activation = "gelu"
    hidden = (gelu,) * len(widths)
    shape = Shape((64, *widths, 10), (*hidden, "softmax"), topology)
    parts = gather_parts(RankedNetwork(shape, Alone(), loss="cross-entropy"))
    assert parts is not None
    written = onnx.load_from_string(export_sharded(shape, parts))

    draft = draft_network(found, TABLE)
    drafted = onnx.load_from_string(draft_file(draft))

    assert [_told(one) for one in drafted.graph.node] == [_told(one) for one in written.graph.node]
    sizes = [
        {one.name: (one.data_type, tuple(one.dims)) for one in model.graph.initializer}
        for model in (drafted, written)
    ]
    assert sizes[0] == sizes[1]
    for one in written.graph.initializer:
        if one.name.endswith("columns"):
            [same] = [other for other in drafted.graph.initializer if other.name == one.name]
            np.testing.assert_array_equal(numpy_helper.to_array(one), numpy_helper.to_array(same))
    held = sum(4 * np.prod(dims) for name, (_, dims) in sizes[1].items() if "columns" not in name)
    assert file_bytes(draft) >= 4 * stored(found, TABLE) >= held
    onnx.checker.check_model(drafted, full_check=True)


def _told(node: onnx.NodeProto) -> tuple[object, ...]:
    """Return what a node is, but for the name of the last one."""
    name = "last" if node.op_type == "Softmax" else node.name
    return (node.op_type, name, list(node.input), sorted(map(str, node.attribute)))


def test_the_plan_of_shards_sees_what_they_cost() -> None:
    wide = tuple((node, node + 1) for node in range(4))
    row = LayerGraph(widths=(512, 512, 512), links=wide)
    few = msgspec.structs.replace(row, topology=Topology(shards=16, halo=1))

    whole, divided = (
        sum(block.macs for block in cut_into_blocks(draft_network(one, TABLE), "paper").blocks)
        for one in (row, few)
    )

    assert divided == few.macs(64, 10) < whole / 4
