"""How ranks train together is chosen by the cost model, and explained."""

import msgspec
import pytest

from evener.artifacts.calibration import Calibration, Link, Rate
from evener.errors import InputError
from evener.train.layout import LayoutChoice, choose_layout
from evener.train.shape import Shape

CORE = Calibration(
    processor="core",
    updates=(Rate(1.0, 2e10),),
    reads=(Rate(1.0, 1e10),),
    products=(Rate(1.0, 1e10), Rate(64.0, 1e11)),
    dense_layer_s=1e-5,
    sharded_layer_s=3e-5,
    shard_s=1e-6,
)
QUICK = Link(name="quick", latency_s=1e-6, gap_s=1e-7, bandwidth_bytes_per_s=1e10)
SLOW = Link(name="slow", latency_s=1e-2, gap_s=1e-3, bandwidth_bytes_per_s=1e6)
NARROW = Link(name="narrow", latency_s=1e-4, gap_s=1e-6, bandwidth_bytes_per_s=1e10)
WIDE = Shape((512, 2048, 2048, 512), ("relu", "relu", "identity"))
SMALL = Shape((32, 128, 128, 32), ("relu", "relu", "identity"))


def choose(
    shape: Shape, link: Link, *, ranks: int = 4, batch: int = 1, may_change: bool = False
) -> LayoutChoice:
    return choose_layout(shape, CORE, ranks=ranks, batch=batch, link=link, may_change=may_change)


def test_large_layers_share_their_neurons() -> None:
    choice = choose(WIDE, QUICK)

    assert (choice.chosen.kind, choice.chosen.ranks, choice.chosen.replicas) == ("dense", 4, 1)
    assert "dense, the neurons of each layer on 4 ranks: " in choice.reasons[0]
    assert "by the cost model" in choice.reasons[0]
    assert "times as long" in choice.reasons[1]


def test_one_rank_is_left_alone_where_messages_cost_more_than_they_save() -> None:
    choice = choose(WIDE, SLOW)

    assert (choice.chosen.kind, choice.chosen.ranks) == ("one rank", 1)
    assert any(reason.startswith("more ranks do not pay") for reason in choice.reasons)


def test_small_networks_with_many_rows_are_copied() -> None:
    choice = choose(SMALL, NARROW, batch=8192)

    assert (choice.chosen.kind, choice.chosen.replicas) == ("data parallel", 4)


def test_both_at_once_are_looked_at() -> None:
    kinds = {one.kind for one in choose(WIDE, QUICK, batch=64).others}

    assert kinds == {"one rank", "dense", "data parallel", "hybrid", "halo"}


def test_a_halo_is_told_of_and_chosen_only_where_the_network_may_change() -> None:
    told, changed = choose(WIDE, QUICK), choose(WIDE, QUICK, may_change=True)

    assert told.chosen.kind == "dense"
    assert "is another network, with" in told.reasons[-1]
    assert changed.chosen.kind == "halo"
    assert "evener train --sweep" in changed.reasons[-1]
    assert changed.chosen.weights_bytes < told.chosen.weights_bytes


def test_the_chosen_layout_is_the_quickest_of_its_kind_or_nearly() -> None:
    choice = choose(WIDE, QUICK, ranks=6, batch=12)
    same = [one for one in choice.others if one.kind != "halo"]

    assert choice.chosen.cost.iteration_s <= same[0].cost.iteration_s / 0.95


def test_the_link_of_the_calibration_is_taken_where_none_is_given() -> None:
    known = msgspec.structs.replace(CORE, link=QUICK)

    assert choose_layout(WIDE, known, ranks=4, batch=1) == choose(WIDE, QUICK)


def test_no_rank_is_refused() -> None:
    with pytest.raises(InputError, match="0 ranks: give 1 or more"):
        choose(WIDE, QUICK, ranks=0)
