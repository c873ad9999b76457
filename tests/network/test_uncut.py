"""A network that is one block is refused with the reason, and with the rule that cuts it."""

from itertools import pairwise

import numpy as np
import pytest
from onnx import helper

from evener.artifacts.profile import Granularity
from evener.errors import InputError
from evener.network.blocks import cut_into_blocks
from evener.network.model import parse_network
from evener.network.uncut import check_can_be_cut
from evener.testing import tiny


def refusal(content: bytes, granularity: Granularity = "paper", max_live: int | None = None) -> str:
    network = parse_network(content, name="net")
    blocks = cut_into_blocks(network, granularity, max_live=max_live)
    with pytest.raises(InputError) as caught:
        check_can_be_cut(network, blocks)
    return str(caught.value)


def skipping(depth: int, also: tuple[str, ...] = ()) -> bytes:
    """Make a row of layers whose input, and others, the last node reads too."""
    names = ["x", *(f"h{index}" for index in range(depth))]
    nodes = [
        helper.make_node("MatMul", [read, "w"], [made], f"layer{index}")
        for index, (read, made) in enumerate(pairwise(names))
    ]
    nodes.append(helper.make_node("Sum", [names[-1], "x", *also], ["y"], "sum"))
    return tiny.network(
        nodes,
        inputs=[tiny.floats(name, 2, 8) for name in ("x", *also)],
        outputs=[tiny.floats("y", 2, 8)],
        weights={"w": np.eye(8, dtype=np.float32)},
    )


def test_a_network_with_a_cut_is_let_through() -> None:
    network = parse_network(tiny.dense(layers=2), name="net")

    check_can_be_cut(network, cut_into_blocks(network, "paper"))


def test_a_single_layer_has_nothing_to_cut() -> None:
    assert refusal(tiny.dense(layers=1)) == (
        "net is one block by the rule 'paper' and cannot be cut: it has a single main layer, and "
        "cuts are between those. No rule cuts it where up to 8 tensors cross: take it whole"
    )


def test_what_skips_a_layer_is_named_and_the_rule_node_that_lets_it_cross() -> None:
    assert refusal(skipping(2), "strict") == (
        "net is one block by the rule 'strict' and cannot be cut: at the best place, between "
        "layer0 and layer1 (x, h0), 2 tensors would cross. Give --granularity node --max-live 2: "
        "it then has 1 cut"
    )


@pytest.mark.parametrize(("granularity", "max_live"), [("paper", None), ("node", 2)])
def test_the_fewest_tensors_with_which_it_can_be_cut_are_found(
    granularity: Granularity, max_live: int | None
) -> None:
    content = skipping(4, also=("z",))

    message = refusal(content, granularity, max_live)

    assert "3 tensors would cross. Give --granularity node --max-live 3: it then has 3" in message
    network = parse_network(content, name="net")
    assert len(cut_into_blocks(network, "node", max_live=3).cuts) == 3
    assert not cut_into_blocks(network, "node", max_live=2).cuts
