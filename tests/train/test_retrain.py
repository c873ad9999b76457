"""Training in full tells why it came to nothing, whatever went wrong."""

import dataclasses
import time
from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.layer_graph import LayerGraph, Recipe, Spread
from evener.artifacts.networks import chain_of
from evener.artifacts.project import DataSection, TrainSection
from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.data.load import load_dataset
from evener.errors import InputError

pytest.importorskip("torch", reason="training needs the extra 'train'")

from evener.train import retrain
from evener.train.retrain import LATE, Found, Full, Gone, train_in_full
from evener.train.sharded_fit import fit_sharded
from evener.train.trials import Rows

SECTION = DataSection(source="digits")
DATASET = load_dataset(SECTION, Path())
ROWS = Rows(".", SECTION, DATASET.sha256, loaded=DATASET)
TRAIN = TrainSection(epochs=1)
NETWORK = LayerGraph(widths=(8,), links=((0, 1), (1, 2)))


def full(network: LayerGraph = NETWORK) -> Full:
    return Full(network=network, spread=Spread(), seed=0)


def test_a_network_comes_to_a_figure_on_either_split() -> None:
    found = train_in_full(ROWS, TRAIN, None, full())

    assert isinstance(found, Found)
    assert 0.1 < found.validation < 1
    assert 0.1 < found.test < 1


def test_when_the_time_was_up_that_is_said() -> None:
    assert train_in_full(ROWS, TRAIN, time.time() - 1, full()) == LATE


def test_one_that_diverges_is_told() -> None:
    wild = LayerGraph(
        widths=(8,),
        links=((0, 1), (1, 2)),
        recipe=Recipe(optimiser="sgd", learning_rate=1e30, momentum=0.0, weight_decay=0.0),
    )

    found = train_in_full(ROWS, TRAIN, None, full(wild))

    assert isinstance(found, Gone)
    assert "diverged" in found.message


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError("no 8 GB are left"), "no 8 GB are left"),
        (MemoryError(), "MemoryError"),
        (RuntimeError("the allocator gave up"), "the allocator gave up"),
    ],
)
def test_whatever_is_raised_is_told(
    error: Exception, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_choices: object) -> None:
        raise error

    monkeypatch.setattr(retrain, "train_network", fail)

    assert train_in_full(ROWS, TRAIN, None, full()) == Gone(told)


def test_answers_that_are_no_numbers_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclasses.dataclass
    class Trained:
        validation: dict[str, float]
        test: dict[str, float]
        pruned: None = None

    def answer(*_args: object, **_choices: object) -> Trained:
        return Trained({"accuracy": float(np.nan)}, {"accuracy": 0.9})

    monkeypatch.setattr(retrain, "train_network", answer)

    found = train_in_full(ROWS, TRAIN, None, full())

    assert isinstance(found, Gone)
    assert "no finite numbers" in found.message


def test_rows_that_changed_end_it_for_all() -> None:
    with pytest.raises(InputError, match="changed during the search"):
        train_in_full(Rows(".", SECTION, "another"), TRAIN, None, full())


def test_a_divided_network_is_trained_by_shards_and_stops_when_the_time_is_up() -> None:
    divided = LayerGraph(
        widths=(16, 16),
        links=((0, 1), (1, 2), (2, 3)),
        topology=Topology(shards=4, halo=1),
    )
    section = TrainSection(epochs=2)

    found = train_in_full(ROWS, section, None, full(divided))

    sharded = fit_sharded(
        chain_of(divided),
        DATASET,
        TrainSection(epochs=2, shards=4, halo=1, refit=False),
        Alone(),
        spread=Spread(),
    )
    assert found == Found(sharded.validation["accuracy"], sharded.test["accuracy"])
    long = TrainSection(epochs=100_000)
    assert train_in_full(ROWS, long, time.time() + 0.5, full(divided)) == LATE
