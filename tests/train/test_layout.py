"""How ranks train together is chosen by the cost model, and explained."""

from dataclasses import replace

import msgspec
import pytest

from evener.artifacts.calibration import Calibration, Link, Rate
from evener.artifacts.topology import Topology
from evener.errors import InfeasibleError, InputError
from evener.train.cost_model import iteration_cost
from evener.train.layout import WORTH, Freedom, Layout, LayoutChoice, choose_layout
from evener.train.layout_words import reasons, why
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
FOUR = Freedom(ranks=4)
OPEN = Freedom(ranks=4, halo=True)
EIGHT = replace(WIDE, topology=Topology(shards=8, halo=4))


def choose(shape: Shape, link: Link, free: Freedom = FOUR, *, batch: int = 1) -> LayoutChoice:
    return choose_layout(shape, CORE, free, batch=batch, link=link)


def whys(choice: LayoutChoice) -> dict[str, str]:
    return {str(one): why(choice, one) for one in choice.candidates}


def of_halo(choice: LayoutChoice, halo: int) -> Layout:
    return next(one for one in choice.candidates if one.halo == halo)


def test_large_layers_share_their_neurons() -> None:
    choice = choose(WIDE, QUICK)
    said = list(reasons(choice))

    chosen = choice.chosen
    assert (chosen.kind, chosen.ranks, chosen.replicas) == ("shards", 4, 1)
    assert chosen.cost == iteration_cost(
        replace(WIDE, topology=Topology(shards=4)), CORE, ranks=4, link=QUICK
    )
    assert said[0].startswith("dense on 4 ranks: ")
    assert "an iteration by the cost model" in said[0]
    assert said[1].startswith("dense on 1 rank would take")
    assert "times as long" in said[1]
    assert "a rank that trains alone gets all cores: see with --ranks 1" in said[2]


def test_one_rank_is_left_alone_where_messages_cost_more_than_they_save() -> None:
    choice = choose(WIDE, SLOW)

    assert (choice.chosen.kind, choice.chosen.ranks) == ("one rank", 1)
    assert any(reason.startswith("more ranks do not pay") for reason in reasons(choice))


def test_small_networks_with_many_rows_are_copied() -> None:
    choice = choose(SMALL, NARROW, batch=8192)

    assert (choice.chosen.kind, choice.chosen.replicas) == ("data parallel", 4)


def test_every_grid_is_looked_at_quickest_first_and_each_says_why_not() -> None:
    choice = choose(WIDE, QUICK, batch=64)
    said = whys(choice)

    grids = [(one.ranks, one.replicas) for one in choice.candidates if one.halo == "full"]
    assert sorted(grids) == [(1, 1), (2, 1), (2, 2), (3, 1), (3, 3), (4, 1), (4, 2), (4, 4)]
    times = [one.cost.iteration_s for one in choice.candidates]
    assert times == sorted(times)
    assert [one for one, word in said.items() if word == "chosen"] == [str(choice.chosen)]
    assert said["halo 1 on 4 ranks"].startswith("another network, ")
    slow = said["dense, 4 replicas of 1 rank"]
    assert slow.endswith(" times as long")
    assert float(slow.split()[0]) > 1


def test_no_more_replicas_than_rows_and_no_more_ranks_than_shards() -> None:
    few = choose(WIDE, QUICK, Freedom(ranks=6), batch=2)
    assert max(one.replicas for one in few.candidates) == 2

    bound = choose(WIDE, QUICK, Freedom(ranks=6, shards=2), batch=8)
    assert max(one.ranks // one.replicas for one in bound.candidates) == 2


def test_a_network_with_a_halo_stays_itself() -> None:
    choice = choose(EIGHT, QUICK, batch=16)

    assert {one.shape for one in choice.candidates} == {EIGHT}
    assert {one.cost.weights for one in choice.candidates} == {choice.chosen.cost.weights}
    assert str(choice.chosen).startswith("halo 4")


def test_a_halo_is_told_of_and_chosen_only_where_the_network_may_change() -> None:
    told, changed = choose(WIDE, QUICK), choose(WIDE, QUICK, OPEN)

    assert told.chosen.halo == "full"
    assert "is another network, with" in list(reasons(told))[-1]
    assert changed.chosen.halo != "full"
    assert changed.best_same.halo == "full"
    assert "evener train --sweep" in list(reasons(changed))[-1]
    assert changed.chosen.memory_bytes < told.chosen.memory_bytes
    assert whys(changed)[str(told.chosen)].endswith("times as long")


def test_a_halo_that_saves_next_to_nothing_is_not_worth_its_weights() -> None:
    core = msgspec.structs.replace(CORE, dense_layer_s=1.0, sharded_layer_s=0.99, shard_s=0.0)

    choice = choose_layout(SMALL, core, Freedom(ranks=4, halo=True), batch=1, link=QUICK)

    assert choice.chosen.halo == "full"
    assert "of the weights, to save less than 5% of the time" in why(choice, of_halo(choice, 1))


def test_of_a_limited_time_the_network_of_most_weights_is_chosen_that_keeps_it() -> None:
    free = choose(WIDE, QUICK, OPEN)
    sixteen, one = of_halo(free, 16), of_halo(free, 1)
    between_s = (sixteen.cost.iteration_s + of_halo(free, 64).cost.iteration_s) / 2

    choice = choose(WIDE, QUICK, replace(OPEN, iteration_s=between_s))

    assert choice.chosen == sixteen
    assert why(choice, one).endswith("of the weights, and the chosen one is quick enough")
    assert why(choice, of_halo(choice, 64)).startswith("longer than ")
    assert choose(WIDE, QUICK, replace(OPEN, iteration_s=1.0)).chosen.halo == "full"


@pytest.mark.parametrize("halo", [True, False])
def test_a_time_that_no_layout_keeps_is_refused_with_the_quickest_one(halo: bool) -> None:
    with pytest.raises(InfeasibleError, match=r"takes 0.001 µs an .*: .* is predicted") as no:
        choose(WIDE, QUICK, Freedom(ranks=4, halo=halo, iteration_s=1e-9))

    assert ("halo 1" in str(no.value)) == halo
    assert ("--halo auto" in str(no.value)) != halo


def test_what_memory_does_not_hold_is_left_out_or_refused() -> None:
    everything = choose(SMALL, NARROW, batch=8192)
    least = min(one.memory_bytes for one in everything.candidates if one.halo == "full")
    assert everything.chosen.memory_bytes > least

    choice = choose(SMALL, NARROW, replace(FOUR, memory_bytes=least), batch=8192)

    assert choice.chosen.memory_bytes == least
    assert why(choice, everything.chosen).startswith("more memory than the ")
    with pytest.raises(InfeasibleError, match=r"the arrays of .* take .* by an estimate, and 10 B"):
        choose(SMALL, NARROW, replace(FOUR, memory_bytes=10))


@pytest.mark.parametrize("ranks", [4, 6])
def test_a_rank_that_saves_less_than_a_twentieth_is_not_used(ranks: int) -> None:
    choice = choose(WIDE, QUICK, Freedom(ranks=ranks), batch=12)
    same = [one for one in choice.candidates if one.halo == "full"]

    assert WORTH * choice.chosen.cost.iteration_s <= same[0].cost.iteration_s
    fewer = [one for one in same if one.ranks < choice.chosen.ranks]
    assert all(WORTH * one.cost.iteration_s > same[0].cost.iteration_s for one in fewer)


def test_what_more_ranks_would_save_is_told() -> None:
    core = msgspec.structs.replace(CORE, dense_layer_s=1.0)  # for calls, on each rank

    choice = choose_layout(SMALL, core, Freedom(ranks=2), batch=1, link=QUICK)

    assert str(choice.chosen) == "dense on 1 rank"
    assert whys(choice)["dense on 2 ranks"] == "2 ranks, to save less than 5% of the time"


def test_ranks_that_are_started_are_all_used() -> None:
    choice = choose(WIDE, SLOW, replace(FOUR, exactly=True), batch=64)

    assert {one.ranks for one in choice.candidates} == {4}


def test_of_many_ranks_divisors_are_looked_at() -> None:
    choice = choose(WIDE, QUICK, Freedom(ranks=34))

    assert {one.ranks for one in choice.candidates} == {1, 2, 17, 34}


def test_what_an_optimiser_remembers_takes_time_and_memory() -> None:
    plain, adamw = (
        choose_layout(WIDE, CORE, Freedom(ranks=1), batch=1, remembered=kept).chosen
        for kept in (None, 2)
    )
    weights = plain.cost.weights

    assert adamw.memory_bytes - plain.memory_bytes == 4 * 3 * (weights + 2048 + 2048 + 512)
    assert adamw.cost.iteration_s > plain.cost.iteration_s + 3 * 2 * 4 * weights / 2e10


def test_the_link_of_the_calibration_is_taken_where_none_is_given() -> None:
    known = msgspec.structs.replace(CORE, link=QUICK)

    assert choose_layout(WIDE, known, Freedom(ranks=4), batch=1) == choose(WIDE, QUICK)


def test_no_rank_is_refused() -> None:
    with pytest.raises(InputError, match="0 ranks: give 1 or more"):
        choose(WIDE, QUICK, Freedom(ranks=0))
