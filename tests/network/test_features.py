"""What the time of a block depends on is counted from shapes."""

from collections.abc import Callable

import msgspec
import numpy as np
import onnx
import pytest

from evener.artifacts.board_file import FEATURES
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import Ends
from evener.artifacts.topology import Topology
from evener.network.blocks import cut_into_blocks
from evener.network.draft import draft_network
from evener.network.features import block_features
from evener.network.merge import merge_blocks
from evener.network.model import Network, parse_network

Loader = Callable[[str], Network]


def features_of(text: str) -> dict[str, float]:
    """Count the features of a network that is one block, those that are not 0."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')
    network = parse_network(model.SerializeToString(), name="net")
    (found,) = block_features(network, cut_into_blocks(network, "strict"))
    return {name: value for name, value in zip(FEATURES, found.tolist(), strict=True) if value}


@pytest.mark.parametrize(
    ("weight", "attributes", "out", "kind", "macs"),
    [
        ("4,8,1,1", "", "1,4,6,6", "pointwise_gmac", 4 * 36 * 8),
        ("4,8,3,3", "", "1,4,4,4", "winograd_gmac", 4 * 16 * 72),
        ("4,8,3,3", "<strides = [2, 2]>", "1,4,2,2", "dense_gmac", 4 * 4 * 72),
        ("4,8,5,5", "", "1,4,2,2", "dense_gmac", 4 * 4 * 200),
        ("8,1,3,3", "<group = 8>", "1,8,4,4", "depthwise_gmac", 8 * 16 * 9),
        ("4,4,3,3", "<group = 2>", "1,4,4,4", "winograd_gmac", 4 * 16 * 36),
    ],
)
def test_convolutions_are_told_apart_by_how_they_are_computed(
    weight: str, attributes: str, out: str, kind: str, macs: int
) -> None:
    sizes = np.prod([int(size) for size in weight.split(",")])
    found = features_of(
        f"(float[1,8,6,6] x) => (float[{out}] y) <float[{weight}] w = "
        f"{{{', '.join(['1'] * sizes)}}}> {{ y = Conv {attributes} (x, w) }}"
    )

    assert found == {
        kind: pytest.approx(macs / 1e9),
        "conv_weights_mb": pytest.approx(4 * sizes / 1e6),
        "conv_in_mb": pytest.approx(4 * 8 * 36 / 1e6),
        "conv_out_mb": pytest.approx(4 * np.prod([int(s) for s in out.split(",")]) / 1e6),
        "layers": 1,
    }


def test_a_product_counts_its_work_and_other_operators_nothing() -> None:
    found = features_of(
        "(float[1,3] x) => (float[1,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> "
        "{ a = MatMul (x, w)  b = Relu (a)  y = Softmax (b) }"
    )

    assert found == {"product_gmac": pytest.approx(6e-9), "layers": 1}


def test_normalisation_counts_what_it_reads() -> None:
    found = features_of(
        "(float[1,8,6,6] x) => (float[1,4,6,6] y) <float[4,8,1,1] w = "
        f"{{{', '.join(['1'] * 32)}}}> {{ a = LRN <size = 3> (x)  y = Conv (a, w) }}"
    )

    assert found["lrn_mb"] == pytest.approx(4 * 8 * 36 / 1e6)


@pytest.mark.parametrize("name", ["alexnet", "googlenet", "squeezenet"])
def test_no_work_is_lost_or_counted_twice(light_network: Loader, name: str) -> None:
    network = light_network(name)
    blocks = cut_into_blocks(network, "paper")
    found = block_features(network, blocks)
    of_work = [FEATURES.index(feature) for feature in FEATURES if feature.endswith("_gmac")]

    assert found[:, of_work].sum(axis=1) * 1e9 == pytest.approx([one.macs for one in blocks.blocks])


def test_merged_blocks_have_the_features_of_their_blocks_together(light_network: Loader) -> None:
    network = light_network("googlenet")
    blocks = cut_into_blocks(network, "paper")
    apart = block_features(network, blocks)

    together = block_features(network, merge_blocks(blocks, [1, 2, *[1] * 8, 2]))

    assert together[1] == pytest.approx(apart[1] + apart[2])
    assert together.sum(axis=0) == pytest.approx(apart.sum(axis=0))


def test_a_layer_of_shards_counts_what_exists_and_where_it_gathers() -> None:
    row = LayerGraph(widths=(64, 64), links=((0, 1), (1, 2), (2, 3)))
    ends = Ends(features=8, outputs=4)
    counted = [
        dict(zip(FEATURES, block_features(network, blocks).sum(axis=0).tolist(), strict=True))
        for network in (
            draft_network(row, ends),
            draft_network(msgspec.structs.replace(row, topology=Topology(shards=16, halo=0)), ends),
        )
        for blocks in [cut_into_blocks(network, "paper")]
    ]

    assert [one["layers"] for one in counted] == [3, 3]
    assert [one["gathers"] for one in counted] == [0, 1]  # 4 outputs see a quarter each: zeros
    assert counted[1]["product_gmac"] * 1e9 == pytest.approx(8 * 64 + 64 * 4 + 4 * 64)
