"""Recommending a model whatever its family."""

import msgspec

from evener.artifacts.card import Baseline, Baselines
from evener.artifacts.front import Front, Retrained, Scored
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.score import Score
from evener.workflow.recommend import Recommended, recommend

NETWORK = LayerGraph(widths=(8,), links=((0, 1), (1, 2)))
RETRAINED = Retrained(
    id=NETWORK.id, of="front", validation=(0.90, 0.91, 0.92), test=(0.88, 0.89, 0.90)
)


def front(*retrained: Retrained, shortly: float = 0.8) -> Front:
    scored = Scored(architecture=NETWORK, score=Score(id=NETWORK.id, quality=shortly))
    return Front(scored=(scored,), front=(NETWORK.id,), chosen=NETWORK.id, retrained=retrained)


def simple(**validation: float) -> Baselines:
    return Baselines(
        models=tuple(
            Baseline(name=name, validation=quality, test={"accuracy": 0.5}, size_bytes=1)
            for name, quality in validation.items()
        )
    )


def test_boosting_is_recommended_where_it_answers_the_validation_split_best() -> None:
    found = recommend(front(RETRAINED), simple(linear=0.85, boosting=0.93))

    assert found == Recommended(family="boosting", validation=0.93, test=0.5, network=0.91)


def test_a_network_counts_as_it_was_trained_in_full() -> None:
    found = recommend(front(RETRAINED, shortly=0.99), simple(linear=0.85, forest=0.905))

    assert found == Recommended(family="network", validation=0.91, test=0.89, network=0.91)


def test_a_network_that_there_was_no_time_to_train_in_full_counts_as_in_the_search() -> None:
    found = recommend(front(shortly=0.87), simple(linear=0.85))

    assert found == Recommended(family="network", validation=0.87, test=None, network=0.87)


def test_of_equal_ones_the_simple_model_is_recommended() -> None:
    assert recommend(front(RETRAINED), simple(linear=0.91)).family == "linear"


def test_a_simple_model_whose_file_is_too_large_is_not_recommended() -> None:
    models = simple(forest=0.99, linear=0.95).models
    large = Baselines(models=(msgspec.structs.replace(models[0], size_bytes=1001), models[1]))

    assert recommend(front(RETRAINED), large).family == "forest"
    assert recommend(front(RETRAINED), large, size_bytes=1000).family == "linear"
