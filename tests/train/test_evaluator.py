"""Scoring architectures by a short training."""

from collections.abc import Iterator
from itertools import count

import pytest

from evener.artifacts.architecture import Architecture
from evener.artifacts.project import SearchSection, TrainSection
from evener.data.dataset import Dataset
from evener.search.evaluate import Evaluate
from evener.train import evaluator
from evener.train.evaluator import make_evaluate

SMALL, LARGE = Architecture(hidden=(4,)), Architecture(hidden=(32,), activation="gelu")


def evaluate_on(
    rings: Dataset, *, learning_rate: float = 0.01, ticks: Iterator[float] | None = None
) -> Evaluate:
    """Bind the rings; one tick of the clock passes at each look at it."""
    train = TrainSection(learning_rate=learning_rate)
    seconds = ticks or iter(count(0.0))
    return make_evaluate(rings, SearchSection(epochs=10), train, clock=lambda: next(seconds))


def test_scores_come_in_the_order_of_the_batch_with_cost_and_error(rings: Dataset) -> None:
    scores = evaluate_on(rings)([LARGE, SMALL], budget_s=None, seed=0)

    assert [score.id for score in scores] == [LARGE.id, SMALL.id]
    assert [score.macs for score in scores] == [LARGE.macs(3, 2), SMALL.macs(3, 2)]
    assert [score.weights for score in scores] == [LARGE.weights(3, 2), SMALL.weights(3, 2)]
    assert all(score.status == "ok" for score in scores)
    quality = scores[0].quality
    assert quality is not None
    assert scores[0].quality_error == pytest.approx((quality * (1 - quality) / 60) ** 0.5)


def test_a_score_depends_on_the_seed_but_not_on_its_neighbours(rings: Dataset) -> None:
    evaluate = evaluate_on(rings)

    alone, in_company = (
        evaluate([SMALL], budget_s=None, seed=1)[0],
        evaluate([LARGE, SMALL], budget_s=None, seed=1)[1],
    )
    many_seeds = {evaluate([SMALL], budget_s=None, seed=seed)[0].quality for seed in range(5)}

    assert alone == in_company
    assert len(many_seeds) > 1


def test_what_no_time_is_left_for_is_out_of_budget(rings: Dataset) -> None:
    # one look at the start, then one before and ten during each training
    scores = evaluate_on(rings)([SMALL, LARGE, SMALL], budget_s=15, seed=0)

    assert [score.status for score in scores] == ["ok", "out_of_budget", "out_of_budget"]
    assert scores[1].quality is None
    assert scores[1].message == "the time was up before its training ended; raise search.budget"


def test_a_divergence_is_a_status(rings: Dataset) -> None:
    score = evaluate_on(rings, learning_rate=1e30)([SMALL], budget_s=None, seed=0)[0]

    assert score.status == "diverged"
    assert "Lower train.learning_rate" in score.message


def test_what_cannot_be_trained_is_a_status(rings: Dataset) -> None:
    forest = Architecture(family="forest", trees=3)

    score = evaluate_on(rings)([forest], budget_s=None, seed=0)[0]

    assert score.status == "failed"
    assert "forest of 3 is no network" in score.message


def test_even_an_error_without_a_text_has_a_message(
    rings: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(evaluator, "train_network", fail)

    assert evaluate_on(rings)([SMALL], budget_s=None, seed=0)[0].message == "MemoryError"
