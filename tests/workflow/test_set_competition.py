"""Layers of the weight sets of one network compete; the champion takes the place of the worst."""

from collections.abc import Sequence
from math import inf

import numpy as np
import pytest

from evener.artifacts.score import Score

pytest.importorskip("torch", reason="weight sets are trained, which needs the extra 'train'")

from evener.train.evaluator import Evaluation
from evener.train.population.weights import Weights
from evener.train.trials import Tried
from evener.workflow.set_competition import contest


def net(first: float, second: float) -> Weights:
    """Return weights of two layers of one neuron each."""
    one = {(0, 1): np.array([[first]]), (1, 2): np.array([[second]])}
    return Weights(one, (np.zeros(1), np.zeros(1)))


def evaluate(batch: Sequence[Weights]) -> list[Evaluation]:
    """Say how far the layers are from 1 and 2."""
    found = [abs(one.links[0, 1].item() - 1) + abs(one.links[1, 2].item() - 2) for one in batch]
    return [Evaluation(quality=1 - one / 10, error=0.1, difference=one) for one in found]


def tried(*weights: Weights | None) -> list[Tried]:
    made = []
    for one in weights:
        if one is None:
            made.append(Tried(Score(id="a", status="diverged")))
            continue
        [known] = evaluate([one])
        score = Score(id="a", quality=known.quality, epochs=3)
        made.append(Tried(score, one, known.difference))
    return made


def test_the_champion_has_each_layer_from_the_set_that_has_it_best() -> None:
    before = tried(net(1, 5), net(9, 2), net(4, 4))

    after = contest(before, evaluate)

    assert after[0] is before[0]
    assert after[2] is before[2]
    champion = after[1]  # 8 was the largest difference
    assert champion.learned is not None
    assert (champion.learned.links[0, 1].item(), champion.learned.links[1, 2].item()) == (1, 2)
    assert (champion.difference, champion.score.quality, champion.score.epochs) == (0.0, 1.0, 3)


def test_where_nothing_better_comes_of_it_all_stay() -> None:
    before = tried(net(1, 2), net(9, 9))

    assert contest(before, evaluate) == before


@pytest.mark.parametrize("others", [(), (None,), (None, None)])
def test_one_set_has_nobody_to_compete_with(others: tuple[None, ...]) -> None:
    before = tried(net(1, 5), *others)

    assert contest(before, evaluate) == before


def test_a_set_that_diverged_stays_as_it_is() -> None:
    after = contest(tried(None, net(1, 5), net(9, 2)), evaluate)

    assert after[0].difference == inf
    assert after[2].difference == 0.0
