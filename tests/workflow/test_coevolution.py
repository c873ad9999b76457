"""The paper's Algorithm 1 on a dataset."""

import msgspec
import numpy as np
import pytest

from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.project import DataSection
from evener.artifacts.table1 import TABLE_1
from evener.data.dataset import Dataset
from evener.data.load import load_dataset
from evener.search.coevolution.hyperparameters import Hyperparameters
from evener.search.coevolution.sparsify import Terms
from evener.search.coevolution.trace import LINES, Event
from evener.workflow.coevolution import Course, coevolve_networks

TABLE = msgspec.structs.replace(
    TABLE_1,
    population=4,
    generations=2,
    epochs=2,
    back_propagation_cycles=3,
    maximum_nodes=96,
    maximum_depth=2,
    rows_per_update=32,
)
COURSE = Course(TABLE, widths=(16, 32), sets=2)


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return load_dataset(DataSection(source="digits"), tmp_path_factory.getbasetemp())


def at_the_edge(rng: np.random.Generator) -> Hyperparameters:
    return Hyperparameters(
        learning_rate=float(rng.choice([0.03, 0.1])),
        momentum=0.5,
        mutation_rate=0.05,
        crossover_rate=0.9,
    )


def test_networks_of_digits_grow_evolve_and_are_pruned(digits: Dataset) -> None:
    events: list[Event] = []

    found = coevolve_networks(digits, at_the_edge, COURSE, trace=events.append)

    assert found.best.score < min(found.scores[0]) < 0.1  # 0.18 is what equal answers come to
    assert {*LINES} - {"break"} - {"prune", "back-propagate"} <= {one.line for one in events}
    assert all(len(one.sets) == 2 for one in found.chromosomes)


def test_a_users_network_is_where_instances_begin(digits: Dataset) -> None:
    base = LayerGraph(widths=(32, 16), links=((0, 1), (0, 2), (1, 2), (2, 3)))
    course = Course(TABLE, widths=(16, 32), sets=1, terms=Terms(fitness_threshold=0.2))

    with_base = coevolve_networks(digits, at_the_edge, course, bases=[base])
    without = coevolve_networks(digits, at_the_edge, course)

    assert with_base.scores[0][0] != without.scores[0][0]
    assert with_base.scores[0][1:] == pytest.approx(without.scores[0][1:], rel=1e-3)
    assert with_base.reached  # every score is below 0.2, so that the first refusal ends it


def test_a_table_with_few_nodes_allows_narrow_networks_only(digits: Dataset) -> None:
    table = msgspec.structs.replace(TABLE, maximum_nodes=16, generations=1)

    found = coevolve_networks(digits, at_the_edge, Course(table, widths=(16, 32), sets=1))

    assert sum(found.best.network.widths) <= 16


def test_the_same_seed_comes_to_the_same(digits: Dataset) -> None:
    once, again = (coevolve_networks(digits, at_the_edge, COURSE) for _ in range(2))

    assert once.scores == again.scores
    assert once.best.network == again.best.network
    assert [one.scores for one in once.chromosomes] == [one.scores for one in again.chromosomes]
