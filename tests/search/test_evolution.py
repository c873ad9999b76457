"""A search as questions and answers: nothing twice, limits first, the same after a restart."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.layer_graph import LayerGraph
from evener.errors import InputError
from evener.search.algorithm import Algorithm
from evener.search.bandit import LEARNED
from evener.search.breeding import FREE
from evener.search.evolution import Evolution
from evener.search.islands import Islands
from evener.search.layer_space import LayerSpace
from evener.search.nsga2 import Nsga2
from evener.search.paper import Paper
from evener.search.random_search import RandomSearch
from evener.search.regularized import Regularized
from evener.search.screened import Screened

SPACE = LayerSpace(depth=3, widths=(8, 16, 32, 64))
ALGORITHMS: dict[str, Algorithm] = {
    "paper": Paper(SPACE),
    "literal": Paper(SPACE, elite=0, band=FREE),
    "bandit": Paper(SPACE, arms=LEARNED),
    "regularized": Regularized(SPACE),
    "random": RandomSearch(SPACE),
    "nsga2": Nsga2(SPACE),
    "island": Islands(Paper(SPACE), count=3, every=2),
    "screened": Screened(SPACE, Paper(SPACE, band=FREE), pool=20),
    "screened bandit": Screened(
        SPACE, Nsga2(SPACE, children=5, band=FREE, arms=LEARNED), pool=20, near=10
    ),
    "island bandit": Islands(Nsga2(SPACE, arms=LEARNED), count=2),
    "screened nsga2": Screened(SPACE, Nsga2(SPACE, children=5, band=FREE), pool=20),
}


def objectives(network: LayerGraph) -> tuple[float, float]:
    """Tell a made-up error, least for one wide layer behind another, and the cost."""
    error = 1 / (1 + sum(network.widths)) + 0.01 * len(network.links)
    return error, float(network.macs(16, 4))


def evolve(evolution: Evolution[LayerGraph], asks: int) -> None:
    for _ in range(asks):
        evolution.tell({one.id: objectives(one) for one in evolution.ask()})


def started(name: str, **more: Any) -> Evolution[LayerGraph]:  # noqa: ANN401 - handed on
    return Evolution(SPACE, ALGORITHMS[name], seed=5, objectives=2, **more)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_no_network_is_asked_for_twice(name: str) -> None:
    evolution = started(name)
    asked: list[str] = []
    for _ in range(12):
        networks = evolution.ask()
        asked += [one.id for one in networks]
        evolution.tell({one.id: objectives(one) for one in networks})

    assert len(asked) == len(set(asked)) == evolution.evaluated
    assert len(asked) >= 20


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_search_that_goes_on_from_its_state_ends_as_if_it_had_not_stopped(name: str) -> None:
    whole = started(name)
    evolve(whole, 8)

    broken = started(name)
    for _ in range(8):  # written and read before and after each answer
        broken = started(name, state=json.loads(json.dumps(broken.state(), allow_nan=False)))
        networks = broken.ask()
        half = len(networks) // 2
        broken.tell({one.id: objectives(one) for one in networks[:half]})
        broken = started(name, state=json.loads(json.dumps(broken.state(), allow_nan=False)))
        assert broken.ask() == networks[half:]
        broken.tell({one.id: objectives(one) for one in networks[half:]})

    assert broken.state() == whole.state()
    assert broken.best() == whole.best()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_order_of_answers_makes_no_difference(name: str) -> None:
    forward, backward = started(name), started(name)
    for _ in range(6):
        forward.tell({one.id: objectives(one) for one in forward.ask()})
        backward.tell({one.id: objectives(one) for one in reversed(backward.ask())})

    assert backward.ask() == forward.ask()
    assert backward.best() == forward.best()
    assert backward.front() == forward.front()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_another_seed_asks_for_other_networks(name: str) -> None:
    other = Evolution(SPACE, ALGORITHMS[name], seed=6, objectives=2)

    assert other.ask() != started(name).ask()


def test_the_best_and_the_front_are_those_of_all_that_was_evaluated() -> None:
    evolution = started("nsga2")
    evolve(evolution, 10)
    known = [one.objectives for one in evolution.seen.values() if one.violation == 0]

    best = evolution.best()
    front = [seen.objectives for _, seen in evolution.front()]

    assert best is not None
    assert best[1].objectives[0] == min(error for error, _ in known)
    assert objectives(best[0]) == best[1].objectives
    beaten = [
        one
        for one in known
        if any(other != one and other[0] <= one[0] and other[1] <= one[1] for other in known)
    ]
    assert front == sorted({*known} - {*beaten})


def test_before_anything_was_evaluated_there_is_no_best() -> None:
    evolution = started("paper")

    assert evolution.best() is None
    assert evolution.front() == []
    assert evolution.lambda_ is None


def test_what_breaks_a_limit_is_never_asked_for_and_costs_nothing() -> None:
    def too_dear(network: LayerGraph) -> float:
        return max(0.0, network.macs(16, 4) / 1000 - 1)

    evolution = started("nsga2", limits=too_dear)
    for _ in range(8):
        networks = evolution.ask()
        assert all(one.macs(16, 4) <= 1000 for one in networks)
        evolution.tell({one.id: objectives(one) for one in networks})

    refused = [one for one in evolution.seen.values() if one.violation > 0]
    assert refused
    assert evolution.evaluated == len(evolution.seen) - len(refused)


def test_networks_whose_output_nothing_feeds_are_never_asked_for() -> None:
    space = LayerSpace(depth=2, widths=(8,), density=0.2)
    evolution = Evolution(space, RandomSearch(space, children=50), seed=0)

    assert all(one.connected for one in evolution.ask())
    assert any(seen.violation == 1 for seen in evolution.seen.values())


@pytest.mark.parametrize("failure", [None, (float("nan"), 1.0), (float("inf"), 1.0)])
def test_a_failed_evaluation_is_charged_and_is_neither_best_nor_asked_for_again(
    failure: tuple[float, float] | None,
) -> None:
    evolution = started("paper")
    first, *others = evolution.ask()

    evolution.tell({first.id: failure})
    evolution.tell({one.id: objectives(one) for one in others})

    best = evolution.best()
    assert best is not None
    assert best[0] in others
    assert evolution.evaluated == 1 + len(others)
    for _ in range(5):
        networks = evolution.ask()
        assert first not in networks
        evolution.tell({one.id: objectives(one) for one in networks})


def test_a_search_in_which_everything_fails_goes_on() -> None:
    for name in ALGORITHMS:
        evolution = started(name)
        for _ in range(4):
            evolution.tell(dict.fromkeys(one.id for one in evolution.ask()))

        assert evolution.best() is None
        assert evolution.ask()


def test_a_space_without_anything_new_ends_the_search() -> None:
    space = LayerSpace(depth=1, widths=(8,))  # no layer, one, or one and a way around it
    evolution = Evolution(space, Paper(space), seed=0)
    while networks := evolution.ask():
        evolution.tell({one.id: (1.0,) for one in networks})

    assert evolution.evaluated == 3


def test_answers_that_nobody_waits_for_change_nothing() -> None:
    evolution = started("paper")
    networks = evolution.ask()
    before = evolution.state()

    with pytest.raises(InputError, match="nobody asked for the network nonsense"):
        evolution.tell({networks[0].id: (1.0, 1.0), "nonsense": (1.0, 1.0)})
    with pytest.raises(InputError, match="1 objectives for the network .*: this search has 2"):
        evolution.tell({networks[0].id: (1.0,)})

    assert evolution.state() == before


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"seed": 6}, "its seed is 6, that of the state 5"),
        ({"algorithm": ALGORITHMS["nsga2"]}, "its algorithm is nsga2, that of the state paper"),
        ({"objectives": 1}, "its objectives is 1, that of the state 2"),
        ({"space": LayerSpace()}, "its length is 31, that of the state 16"),
    ],
)
def test_the_state_of_another_search_is_refused(other: dict[str, Any], message: str) -> None:
    own: dict[str, Any] = {"space": SPACE, "algorithm": ALGORITHMS["paper"]}

    with pytest.raises(InputError, match=message):
        Evolution(**{**own, "seed": 5, "objectives": 2, **other}, state=started("paper").state())


def test_the_state_of_an_earlier_version_is_refused() -> None:
    with pytest.raises(InputError, match="its schema is 3, that of the state 2; begin anew"):
        started("paper", state=started("paper").state() | {"schema": 2})


def test_lambda_is_the_share_of_offspring_that_were_new() -> None:
    evolution = Evolution(SPACE, RandomSearch(SPACE, children=40), seed=1)
    networks = evolution.ask()
    new = len(networks) + sum(one.violation > 0 for one in evolution.seen.values())
    evolution.tell({one.id: (1.0,) for one in networks})

    assert evolution.lambda_ == new / 40


@settings(max_examples=10)
@given(st.integers(0, 999))
def test_networks_that_somebody_has_are_where_a_search_begins(seed: int) -> None:
    own = LayerGraph(widths=(64, 32), links=((0, 1), (1, 2), (2, 3)))
    evolution = Evolution(SPACE, Paper(SPACE, seeds=SPACE.encode(own)), seed=seed)

    assert evolution.ask()[0] == own


def test_random_numbers_of_a_generation_do_not_depend_on_those_before() -> None:
    evolution = started("random")
    evolve(evolution, 3)
    state = evolution.state()
    state["seen"], state["brood"] = [], None

    again = started("random", state=state)

    assert {one.id for one in evolution.ask()} <= {one.id for one in again.ask()}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_children_know_their_parents_and_those_that_are_drawn_have_none(name: str) -> None:
    evolution = started(name)
    drawn = {one.id for one in evolution.ask()} | set(evolution.seen)  # broken limits too
    evolve(evolution, 4)

    seen = evolution.seen

    assert {evolution.parents(id_) for id_ in drawn} == {()}
    order = list(seen)
    bred = {id_: one.parents for id_, one in seen.items() if id_ not in drawn}
    if name == "random":
        assert set(bred.values()) == {()}
    else:
        assert all(
            1 <= len(parents) <= 2 and all(order.index(up) < order.index(id_) for up in parents)
            for id_, parents in bred.items()
        )


@pytest.mark.parametrize("name", ALGORITHMS)
def test_how_a_network_came_about_is_known_after_a_restart_too(name: str) -> None:
    whole = started(name)
    evolve(whole, 3)
    asked = whole.ask()

    again = started(name, state=json.loads(json.dumps(whole.state(), allow_nan=False)))

    assert asked
    for network in again.ask():
        one, other = again.descent(network.id), whole.descent(network.id)
        if name == "random":
            assert one is None
            assert other is None
            continue
        assert one is not None
        assert other is not None
        assert (one.parents, one.point) == (other.parents, other.point)
        assert (one.genomes == other.genomes).all()
        assert [each.id for each in SPACE.decode(one.genomes)] == [network.id, *one.parents]
        assert 1 <= one.point <= SPACE.length
        # Few bits are inverted, so that most are those of the parent whose they are.
        first, last = one.genomes[1], one.genomes[-1]
        given = np.where(np.arange(SPACE.length) < one.point, first, last)
        assert (one.genomes[0] != given).sum() <= 5


def test_it_goes_on_by_the_same_algorithm_with_other_settings_and_by_no_other() -> None:
    evolution = started("nsga2")
    evolve(evolution, 1)

    evolution.turn(Nsga2(SPACE, population=3, children=3))

    assert len(evolution.ask()) <= 3
    with pytest.raises(InputError, match="a search by nsga2 does not go on by random"):
        evolution.turn(RandomSearch(SPACE))
