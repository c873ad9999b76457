"""A search and random search in step, nothing evaluated twice, the same after a restart."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import inf

import msgspec
import pytest

from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.score import Score
from evener.artifacts.search_state import SearchState
from evener.search.chain_space import ChainSpace
from evener.search.homology import Descent
from evener.search.layer_space import LayerSpace
from evener.search.nsga2 import Nsga2
from evener.search.rivals import Rivals
from evener.search.space import Space

SPACE = LayerSpace(depth=3, widths=(8, 16, 32, 64))


@dataclass
class MadeUp:
    """An evaluation of no training: wide networks are good; those of one width fail."""

    asked: list[str] = field(default_factory=list)
    bred: dict[str, tuple[str, ...]] = field(default_factory=dict)
    until: int = 10_000
    budgets_s: list[float] = field(default_factory=list)

    def __call__(
        self,
        batch: Sequence[LayerGraph],
        *,
        budget_s: float | None,
        seed: int,
        descents: Mapping[str, Descent | None],
    ) -> list[Score]:
        for id_, one in descents.items():
            self.bred[id_] = () if one is None else tuple(dict.fromkeys(one.parents))
        assert seed == 5
        assert budget_s is not None
        self.budgets_s.append(budget_s)
        self.asked += [one.id for one in batch]
        return [self._score(one, place) for place, one in enumerate(batch)]

    def _score(self, one: LayerGraph, place: int) -> Score:
        if place >= self.until:
            return Score(id=one.id, status="out_of_budget", message="late")
        if one.widths == (8,):
            return Score(id=one.id, status="failed", message="too narrow")
        return Score(id=one.id, quality=1 - 1 / (2 + sum(one.widths)))


def started(
    evaluate: MadeUp,
    state: SearchState | None = None,
    *,
    most: int = 60,
    space: Space[LayerGraph] = SPACE,
    price: Callable[[LayerGraph], float] = lambda one: float(one.macs(16, 4)),
    limits: Callable[[LayerGraph], float] = lambda one: float(len(one.widths) > 2),
) -> Rivals[LayerGraph]:
    return Rivals(
        space,
        Nsga2(space, population=10, children=10),
        seed=5,
        population=10,
        most=most,
        evaluate=evaluate,
        prices=lambda networks: [(price(one),) for one in networks],
        names=("macs",),
        limits=limits,
        state=state,
    )


@pytest.mark.parametrize("space", [SPACE, ChainSpace(recipes=True), LayerSpace(recipes=True)])
def test_both_get_as_many_evaluations_and_no_network_is_evaluated_twice(
    space: Space[LayerGraph],
) -> None:
    evaluate = MadeUp()
    rivals = started(evaluate, space=space)

    while rivals.advance(900.0):
        pass

    state = rivals.state()
    assert len(state.scored) == len(state.random) == 60
    assert len(evaluate.asked) == len(set(evaluate.asked)) < 120
    graphs = [one.architecture for one in (*state.scored, *state.random)]
    assert all(isinstance(one, LayerGraph) and len(one.widths) <= 2 for one in graphs)
    last = state.generations[-1]
    assert last.evaluations == 60
    assert last.best == max(one.score.quality or 0 for one in state.scored)
    assert last.random_best == max(one.score.quality or 0 for one in state.random)
    assert last.front == len(rivals.front())


def test_what_proposing_took_is_not_left_for_the_trainings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks = count()
    monkeypatch.setattr("evener.search.rivals.time.monotonic", lambda: float(next(ticks)))
    evaluate = MadeUp()

    started(evaluate).advance(900.0)

    # The clock begins at 0; either search asks it before it breeds.
    assert evaluate.budgets_s == [900.0 - 3]


def test_a_search_of_which_every_network_breaks_a_limit_ends_with_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks, asked = count(), list[LayerGraph]()

    def broken(one: LayerGraph) -> float:
        asked.append(one)
        return 1.0

    rivals = started(MadeUp(), limits=broken)
    monkeypatch.setattr("evener.search.rivals.time.monotonic", lambda: float(next(ticks)))

    assert not rivals.advance(4.0)

    # Of three generations, not of two hundred.
    assert 0 < len(asked) <= 30


def test_one_that_failed_has_no_objectives_and_stands_on_no_front() -> None:
    rivals = started(MadeUp())
    while rivals.advance(900.0):
        pass

    state = rivals.state()

    failed = [one for one in (*state.scored, *state.random) if one.score.status == "failed"]
    assert failed
    assert {one.objectives for one in failed} == {()}
    assert not {one.score.id for one in failed} & {one.id for one in rivals.front()}


def test_what_no_processor_holds_stands_on_no_front_and_the_state_can_be_read_again() -> None:
    rivals = started(MadeUp(), price=lambda one: inf if 64 in one.widths else 1.0)
    rivals.advance(900.0)

    state = msgspec.json.decode(msgspec.json.encode(rivals.state()), type=SearchState)

    assert state.scored == rivals.state().scored
    wide = [one for one in state.scored if 64 in getattr(one.architecture, "widths", ())]
    assert wide
    assert {one.objectives for one in wide} == {()}
    assert not {one.score.id for one in wide} & {one.id for one in rivals.front()}


def test_a_search_that_goes_on_from_its_file_ends_as_if_it_had_not_stopped() -> None:
    whole, broken = started(MadeUp()), started(MadeUp())
    while whole.advance(900.0):
        pass
    while broken.advance(900.0):
        written = msgspec.json.encode(broken.state())
        broken = started(MadeUp(), msgspec.json.decode(written, type=SearchState))

    assert broken.state() == whole.state()
    assert broken.front() == whole.front()


def test_what_no_time_was_left_for_is_asked_for_again_and_makes_no_difference() -> None:
    whole, slow = started(MadeUp()), started(MadeUp(until=4))
    while whole.advance(900.0):
        pass
    while slow.advance(900.0):
        pass

    assert {one.score.id for one in slow.state().scored} == {
        one.score.id for one in whole.state().scored
    }
    assert slow.front() == whole.front()


def test_it_ends_where_nothing_new_is_left() -> None:
    rivals = started(MadeUp(), space=ChainSpace(depth=1, widths=(8, 16)))

    while rivals.advance(900.0):
        pass

    assert len(rivals.state().scored) == 3


def test_each_network_that_was_bred_names_networks_that_were_proposed_before() -> None:
    evaluate = MadeUp()
    rivals = started(evaluate)
    while rivals.advance(900.0):
        pass

    state = rivals.state()

    born = {one.score.id: one.generation for one in state.scored}
    assert {one.parents for one in state.scored if one.generation == 0} == {()}
    for one in state.scored:
        if one.generation:
            assert 1 <= len(one.parents) <= 2
            assert all(born[parent] < one.generation for parent in one.parents)
    assert {one.parents for one in state.random} == {()}
    assert {one.score.id: one.parents for one in state.scored} == evaluate.bred
