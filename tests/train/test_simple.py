"""Training the simple model that is delivered."""

from collections.abc import Callable, Mapping

import pytest

from evener.artifacts.project import TrainSection
from evener.data.dataset import Dataset
from evener.train.baselines import TrainedBaseline
from evener.train.card import make_card
from evener.train.metrics import quality
from evener.train.simple import fit_simple, numbers_in
from evener.train.verify import answers

Models = Callable[[Dataset], Mapping[str, TrainedBaseline]]


@pytest.mark.parametrize("name", ["linear", "forest", "boosting"])
@pytest.mark.parametrize("data", ["rings", "hills", "corners"])
def test_its_figures_are_those_of_its_file(
    name: str, data: str, simple_models: Models, request: pytest.FixtureRequest
) -> None:
    dataset: Dataset = request.getfixturevalue(data)
    before = simple_models(dataset)[name].record

    found = fit_simple(before, dataset, TrainSection())

    features, targets = dataset.examples("test")
    found_by_file = quality(
        dataset.task, targets, answers(found.content, features, dataset.outputs)
    )
    assert found.test == pytest.approx(found_by_file, abs=1e-3)
    card = make_card(found, dataset, found.content, export_error=found.export_error, baselines=[])
    assert (card.family, card.epochs) == (name, 0)
    assert list(card.validation.values()) == [before.validation]
    assert card.learned_from == ("train", "validation")


def test_without_a_refit_it_is_the_model_that_was_chosen(
    rings: Dataset, simple_models: Models
) -> None:
    for one in simple_models(rings).values():
        found = fit_simple(one.record, rings, TrainSection(refit=False))

        assert found.content == one.content
        assert found.test == one.record.test


def test_a_line_has_a_coefficient_for_each_feature_and_its_scaling(
    rings: Dataset, simple_models: Models
) -> None:
    linear = simple_models(rings)["linear"]

    # Two classes: three coefficients and an intercept each; of each feature a mean and a spread.
    assert numbers_in(linear.content) == 2 * (3 + 1) + 2 * 3


@pytest.mark.parametrize("name", ["forest", "boosting"])
def test_trees_that_a_refit_makes_too_large_are_those_that_were_chosen(
    rings: Dataset, simple_models: Models, name: str
) -> None:
    chosen = simple_models(rings)[name]
    refit = fit_simple(chosen.record, rings, TrainSection())
    assert len(refit.content) > chosen.record.size_bytes

    found = fit_simple(chosen.record, rings, TrainSection(), size_bytes=len(refit.content) - 1)

    assert found.content == chosen.content
    assert (found.test, found.section.learned_from) == (chosen.record.test, ("train",))
    as_large = fit_simple(chosen.record, rings, TrainSection(), size_bytes=len(refit.content))
    assert as_large.content == refit.content
