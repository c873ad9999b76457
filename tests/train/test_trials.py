"""Scoring networks by a short training in one batch."""

import pickle
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from evener.artifacts.homology import Homology
from evener.artifacts.layer_graph import LayerGraph, Recipe, Spread
from evener.artifacts.project import DataSection
from evener.artifacts.topology import Topology
from evener.data.dataset import Dataset
from evener.errors import InputError
from evener.train import trials
from evener.train.head import smoothed
from evener.train.population.course import Rows as Lesson
from evener.train.population.divided import masks_of
from evener.train.population.state import State
from evener.train.population.training import train_population
from evener.train.trials import Rows, Terms, Trial, score_rows, score_together, try_together

CHAIN = LayerGraph(widths=(16,), links=((0, 1), (1, 2)))
WIDE = LayerGraph(widths=(24,), links=((0, 1), (0, 2), (1, 2)))
SKIPPING = LayerGraph(
    widths=(24, 8), links=((0, 1), (0, 2), (1, 2), (1, 3), (2, 3)), activation="gelu"
)
LINEAR = LayerGraph()
TERMS = Terms(epochs=20, batch=16, learning_rate=0.02, seed=3)


def trial(network: LayerGraph, cost: float = 0.0) -> Trial:
    return Trial(network=network, spread=Spread(), costs=(cost,))


def with_rate(rate: float) -> LayerGraph:
    return msgspec.structs.replace(CHAIN, recipe=Recipe(optimiser="sgd", learning_rate=rate))


def test_scores_come_in_order_with_cost_and_error(rings: Dataset) -> None:
    scores = score_together([trial(SKIPPING), trial(LINEAR)], rings, TERMS)

    assert [one.id for one in scores] == [SKIPPING.id, LINEAR.id]
    assert [one.macs for one in scores] == [SKIPPING.macs(3, 2), LINEAR.macs(3, 2)]
    assert [one.weights for one in scores] == [SKIPPING.weights(3, 2), LINEAR.weights(3, 2)]
    assert [one.status for one in scores] == ["ok", "ok"]
    best, line = (one.quality or 0.0 for one in scores)
    assert best >= 0.9 > line
    assert scores[0].quality_error == pytest.approx((best * (1 - best) / 60) ** 0.5)


def test_a_score_is_that_of_the_network_alone(rings: Dataset) -> None:
    networks = [CHAIN, SKIPPING, LINEAR]

    together = score_together([trial(one) for one in networks], rings, TERMS)
    alone = [score_together([trial(one)], rings, TERMS)[0] for one in reversed(networks)]

    assert together == alone[::-1]


def test_a_score_depends_on_the_seed(rings: Dataset) -> None:
    terms = [msgspec.structs.replace(TERMS, epochs=2, seed=seed) for seed in range(5)]

    assert len({score_together([trial(CHAIN)], rings, one)[0].quality for one in terms}) > 1


def test_classes_are_smoothed_as_in_the_final_training(
    rings: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    lessons: list[Lesson] = []

    def train(members: Any, lesson: Lesson, *given: Any, **options: Any) -> list[State]:  # noqa: ANN401 - handed on
        lessons.append(lesson)
        return train_population(members, lesson, *given, **options)

    monkeypatch.setattr(trials, "train_population", train)
    terms = msgspec.structs.replace(TERMS, epochs=1)

    score_together([trial(CHAIN)], rings, terms)

    targets = rings.examples("train")[1]
    assert torch.equal(lessons[0].wanted, smoothed(torch.from_numpy(targets)))


def test_rare_classes_count_as_in_the_final_training(rings: Dataset) -> None:
    rare = np.flatnonzero((rings.labels == 0) | (np.arange(len(rings.labels)) % 10 == 1))
    train = np.intersect1d(rings.split.train, rare)
    skewed = replace(rings, split=replace(rings.split, train=train))
    plain = msgspec.structs.replace(TERMS, epochs=8)
    balanced = msgspec.structs.replace(plain, class_weight="balanced")

    scores = [score_together([trial(CHAIN)], skewed, terms)[0] for terms in (plain, balanced)]

    assert (scores[1].quality or 0) > (scores[0].quality or 0)  # validation has as many of both


def test_units_are_left_out_as_in_the_final_training(rings: Dataset) -> None:
    dropping = msgspec.structs.replace(TERMS, epochs=2, dropout=0.9)

    plain, dropped = (
        score_together([trial(CHAIN)], rings, terms)[0]
        for terms in (msgspec.structs.replace(TERMS, epochs=2), dropping)
    )

    assert plain.quality != dropped.quality


def test_only_so_many_rows_teach_and_all_of_them_standardise(rings: Dataset) -> None:
    some = msgspec.structs.replace(TERMS, rows=40)
    drawn = np.random.default_rng([TERMS.seed, 180]).choice(180, 40, replace=False)
    others = np.delete(rings.split.train, drawn)
    wrong = rings.targets.copy()
    wrong[others] = wrong[others, ::-1]

    scores = score_together([trial(CHAIN), trial(SKIPPING)], rings, some)

    assert len(rings.split.train) == 180
    unheard = score_together([trial(CHAIN), trial(SKIPPING)], replace(rings, targets=wrong), some)
    assert scores == unheard
    assert scores != score_together([trial(CHAIN), trial(SKIPPING)], rings, TERMS)


def test_more_rows_than_there_are_is_all_of_them(rings: Dataset) -> None:
    more = msgspec.structs.replace(TERMS, rows=181)

    assert score_together([trial(CHAIN)], rings, more) == score_together(
        [trial(CHAIN)], rings, TERMS
    )


def test_one_that_diverges_says_why_and_changes_no_other(rings: Dataset) -> None:
    wild = with_rate(1e30)

    [beside, score] = score_together([trial(CHAIN), trial(wild)], rings, TERMS)

    assert (score.status, score.quality) == ("diverged", None)
    assert "Lower its learning rate" in score.message
    assert beside == score_together([trial(CHAIN)], rings, TERMS)[0]


def test_answers_that_are_no_numbers_make_a_score_without_quality(rings: Dataset) -> None:
    features = rings.features.copy()
    features[rings.split.validation[0], 1] = 3e35  # far beyond what was learned from
    far = replace(rings, features=features)

    [score] = score_together([trial(CHAIN)], far, TERMS)

    assert (score.status, score.quality) == ("diverged", None)
    assert score.message == "its answers to the validation rows are no finite numbers"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a device of CUDA")
def test_a_device_that_is_not_there_is_refused(rings: Dataset) -> None:
    rows = Rows("", DataSection(source="digits"), rings.sha256, loaded=rings)
    terms = msgspec.structs.replace(TERMS, device="cuda")

    with pytest.raises(InputError, match=r"search.device = 'cuda', and torch .* finds no such"):
        score_rows(rows, terms, None, None, [trial(CHAIN)])


def test_one_that_is_no_network_fails_and_changes_no_other(rings: Dataset) -> None:
    loose = LayerGraph(widths=(4,), links=((0, 1),))

    [beside, score] = score_together([trial(CHAIN), trial(loose)], rings, TERMS)

    assert (score.status, score.quality) == ("failed", None)
    assert "nothing leads to its output" in score.message
    assert beside == score_together([trial(CHAIN)], rings, TERMS)[0]


@pytest.mark.parametrize("late", [0, 1])  # between two epochs, and within one
def test_what_no_time_is_left_for_is_out_of_budget(rings: Dataset, late: int) -> None:
    ticks = count()

    steps = -(-len(rings.examples("train")[0]) // TERMS.batch)
    deadline = 5 * steps + late

    [score] = score_together(
        [trial(CHAIN)], rings, TERMS, deadline=deadline, clock=lambda: next(ticks)
    )

    assert (score.status, score.epochs, score.quality) == ("out_of_budget", 5, None)
    assert "the time was up after 5 of 20 epochs" in score.message


def test_at_a_rung_those_stop_that_are_not_chosen_and_keep_their_quality(rings: Dataset) -> None:
    terms = msgspec.structs.replace(TERMS, rungs=(5,))
    seen: list[Sequence[tuple[float, ...]]] = []

    def first_only(objectives: Sequence[tuple[float, ...]]) -> list[bool]:
        seen.append(objectives)
        return [True, *[False] * (len(objectives) - 1)]

    scores = score_together([trial(CHAIN, 1.0), trial(LINEAR, 2.0)], rings, terms, go_on=first_only)

    assert [(one.status, one.epochs) for one in scores] == [("ok", 20), ("stopped", 5)]
    assert scores[0] == score_together([trial(CHAIN)], rings, TERMS)[0]
    quality = scores[1].quality
    assert quality is not None
    assert [cost for _, cost in seen[0]] == [1.0, 2.0]
    assert seen[0][1][0] == pytest.approx(1 - quality)


def test_another_process_loads_the_rows_by_itself(rings: Dataset) -> None:
    section = DataSection(source="digits")
    here = Rows("", section, rings.sha256, loaded=rings)
    there: Rows = pickle.loads(pickle.dumps(here))  # noqa: S301 - what was just written

    assert score_rows(here, TERMS, None, None, [trial(LINEAR)])[0].score.status == "ok"
    with pytest.raises(InputError, match="the rows of digits changed during the search"):
        score_rows(there, TERMS, None, None, [trial(LINEAR)])


def test_a_child_begins_from_what_its_parent_learned(rings: Dataset) -> None:
    [parent] = try_together([trial(CHAIN)], rings, TERMS)
    assert parent.learned is not None
    short = msgspec.structs.replace(TERMS, epochs=1, learning_rate=1e-6)
    heir = msgspec.structs.replace(trial(CHAIN), parents=((CHAIN, parent.learned),))

    [inherited, drawn] = score_together([heir, trial(CHAIN)], rings, short)

    assert inherited.quality == pytest.approx(parent.score.quality, abs=0.02)
    assert (drawn.quality or 0) < (inherited.quality or 0)


def test_a_child_begins_from_what_the_crossover_gave_it(rings: Dataset) -> None:
    """A child that takes all of its second parent answers as that one, not as the first."""
    [first, second] = try_together([trial(CHAIN), trial(WIDE)], rings, TERMS)
    assert first.learned is not None
    assert second.learned is not None
    nodes = ((0, 0), (1, 1), (2, 2))
    still = msgspec.structs.replace(TERMS, epochs=1, learning_rate=1e-9)
    heir = msgspec.structs.replace(
        trial(WIDE),
        parents=((CHAIN, first.learned), (WIDE, second.learned)),
        homologies=(Homology(nodes=nodes, links=()), Homology(nodes=nodes, links=WIDE.links)),
    )

    [begun] = try_together([heir], rings, still)

    assert begun.score.quality == second.score.quality
    assert begun.learned is not None
    for link, array in second.learned.links.items():
        np.testing.assert_allclose(begun.learned.links[link], array, atol=1e-5)


def test_what_was_scored_says_what_it_learned_and_what_failed_nothing(rings: Dataset) -> None:
    loose = LayerGraph(widths=(4,), links=((0, 1),))

    whole, failed = try_together([trial(CHAIN), trial(loose)], rings, TERMS)

    assert whole.learned is not None
    assert set(whole.learned.links) == set(CHAIN.links)
    assert failed.learned is None


ROW = LayerGraph(widths=(16, 12), links=((0, 1), (1, 2), (2, 3)))
DIVIDED = msgspec.structs.replace(ROW, topology=Topology(shards=4, halo=1))
MASKS = masks_of(DIVIDED.divided, (3, 16, 12, 2))


def test_a_divided_network_learns_by_the_weights_that_it_has(rings: Dataset) -> None:
    [divided, row] = try_together([trial(DIVIDED), trial(ROW)], rings, TERMS)

    assert divided.score.macs == DIVIDED.macs(3, 2) < row.score.macs
    assert divided.score.quality is not None
    assert divided.score.quality > 0.8
    assert divided.learned is not None
    for link, mask in MASKS.items():
        assert not divided.learned.links[link][~mask].any()
        assert divided.learned.links[link][mask].all()
    assert divided.score == score_together([trial(DIVIDED)], rings, TERMS)[0]
    assert row.score == score_together([trial(ROW)], rings, TERMS)[0]


@pytest.mark.parametrize(
    ("parent", "child"), [(DIVIDED, DIVIDED), (DIVIDED, ROW), (ROW, DIVIDED)], ids=str
)
def test_a_child_that_is_divided_otherwise_keeps_to_its_own_weights(
    parent: LayerGraph, child: LayerGraph, rings: Dataset
) -> None:
    [known] = try_together([trial(parent)], rings, TERMS)
    assert known.learned is not None
    unmasked = replace(known.learned, masks={})  # as it lies in a file
    heir = msgspec.structs.replace(trial(child), parents=((parent, unmasked),))
    still = msgspec.structs.replace(TERMS, epochs=1, learning_rate=1e-9)

    [begun] = try_together([heir], rings, still)

    assert begun.learned is not None
    kept = msgspec.structs.replace(TERMS, epochs=1)
    [on] = try_together([heir], rings, kept)
    assert on.learned is not None
    if child is DIVIDED:
        assert all(not on.learned.links[link][~mask].any() for link, mask in MASKS.items())
    else:
        assert on.learned.links[1, 2][~MASKS[1, 2]].any()
    if parent is DIVIDED:  # all that it has is inherited, and so its function
        assert begun.score.quality == pytest.approx(known.score.quality, abs=0.02)
