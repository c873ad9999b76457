"""Training one architecture by shards, on any number of ranks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray
from onnx import numpy_helper

from evener.artifacts.architecture import Architecture
from evener.artifacts.layer_graph import Spread
from evener.artifacts.project import TrainSection
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.virtual import run_ranks
from evener.data.dataset import Dataset, SplitName
from evener.errors import DivergedError, EvenerError, InputError, InvalidDataError
from evener.train import sharded_fit
from evener.train.answers import whole_answers
from evener.train.population.divided import draw_divided, masks_of
from evener.train.population.individual import Individual
from evener.train.ranked import RankedNetwork
from evener.train.sharded_fit import OnEpoch, ShardedFit, fit_sharded
from evener.train.verify import TOLERANCE, answers

SMALL = Architecture(hidden=(16, 12), activation="tanh")
HALO = TrainSection(epochs=4, learning_rate=0.02, shards=4, halo=2)
FULL = TrainSection(epochs=4, learning_rate=0.02, shards=4)


def fitted(
    rings: Dataset,
    section: TrainSection,
    ranks: int = 1,
    *,
    of: Architecture = SMALL,
    checkpoints: Path | None = None,
    on_epoch: OnEpoch | None = None,
) -> ShardedFit:
    def program(communicator: Communicator) -> ShardedFit:
        return fit_sharded(
            of, rings, section, communicator, checkpoints=checkpoints, on_epoch=on_epoch
        )

    if ranks == 1:
        return program(Alone())
    first, *others = run_ranks(ranks, program)
    assert all(other.test == first.test and not other.content for other in others)
    return first


def weights_of(found: ShardedFit) -> dict[str, Any]:
    model = onnx.load_from_string(found.content)
    return {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}


def test_it_learns_what_a_straight_line_cannot_and_says_what_it_trained(rings: Dataset) -> None:
    section = msgspec.structs.replace(HALO, epochs=40)
    network = fitted(rings, section)
    line = fitted(rings, section, of=Architecture(family="linear"))

    assert network.test["accuracy"] >= 0.95
    assert line.test["accuracy"] < 0.75
    assert 0 < network.export_error <= TOLERANCE
    assert (network.architecture, network.section) == (SMALL, section)
    assert network.topology == section.topology
    features, labels = rings.rows("test")
    right = (answers(network.content, features, 2).argmax(axis=1) == labels).mean()
    assert right == network.test["accuracy"]
    exist = sum(np.count_nonzero(array) for name, array in weights_of(network).items())
    assert network.weights == exist
    assert len(network.losses) == 40
    assert network.losses[-1] < network.losses[0]


def test_a_refit_is_the_training_of_a_split_without_rows_to_choose_by(
    rings: Dataset, known: Callable[[Dataset], Dataset]
) -> None:
    refitted = fitted(rings, HALO)
    whole = fitted(known(rings), HALO.chooses)

    assert refitted.content == whole.content
    assert (refitted.validation, refitted.test) == ({}, whole.test)
    assert fitted(rings, HALO.chooses).content != whole.content


@pytest.mark.parametrize("ranks", [2, 3])
def test_any_number_of_ranks_writes_the_same_file(rings: Dataset, ranks: int) -> None:
    together = fitted(rings, HALO, ranks)

    assert together.communication_share is not None
    assert 0 < together.communication_share < 1
    assert msgspec.structs.replace(together, communication_share=None) == fitted(rings, HALO)


@pytest.mark.parametrize(("ranks", "replicas"), [(3, 1), (2, 2), (4, 2)])
@pytest.mark.parametrize("section", [HALO, FULL], ids=["halo", "full"])
def test_dense_networks_and_replicas_come_to_the_same_weights_to_rounding(
    rings: Dataset, section: TrainSection, ranks: int, replicas: int
) -> None:
    alone = weights_of(fitted(rings, section))

    found = weights_of(fitted(rings, msgspec.structs.replace(section, replicas=replicas), ranks))

    assert set(found) == set(alone)
    for name, array in found.items():
        np.testing.assert_allclose(array, alone[name], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("after", [1, 2])
def test_stopped_it_goes_on_with_other_ranks_to_the_same_file(
    rings: Dataset, tmp_path: Path, after: int
) -> None:
    def stop(epoch: int) -> None:
        if epoch == 3:
            raise EvenerError("the lights went out")

    with pytest.raises(EvenerError, match="lights"):
        fitted(rings, HALO, 3, checkpoints=tmp_path, on_epoch=stop)
    told: list[int] = []

    resumed = fitted(rings, HALO, after, checkpoints=tmp_path, on_epoch=told.append)

    resumed = msgspec.structs.replace(resumed, communication_share=None)
    assert resumed == fitted(rings, HALO)
    assert len(resumed.losses) == 4
    assert told == [4]  # the checkpoint of the third was whole


def test_a_checkpoint_whose_loss_was_not_kept_is_not_gone_on_from(
    rings: Dataset, tmp_path: Path
) -> None:
    fitted(rings, HALO, checkpoints=tmp_path)
    (tmp_path / "losses.json").write_text("[0.7, 0.7, 0.7]")
    told: list[int] = []

    again = fitted(rings, HALO, 2, checkpoints=tmp_path, on_epoch=told.append)

    assert told == [4]
    assert again.losses[:3] == (0.7, 0.7, 0.7)
    assert again.content == fitted(rings, HALO).content


def test_where_no_step_is_left_nothing_is_said_of_messages(rings: Dataset, tmp_path: Path) -> None:
    first = fitted(rings, HALO, 2, checkpoints=tmp_path)

    again = fitted(rings, HALO, 2, checkpoints=tmp_path)

    assert again == msgspec.structs.replace(first, communication_share=None)


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_first_rank_tells_of_every_epoch(rings: Dataset, ranks: int) -> None:
    told: list[int] = []

    fitted(rings, HALO, ranks, on_epoch=told.append)

    assert told == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("change", "ranks", "error", "message"),
    [
        ({"learning_rate": 1e30}, 1, DivergedError, "diverged in step"),
        ({"replicas": 2}, 3, InputError, "3 ranks for 2 replicas"),
        ({"shards": 2}, 3, InputError, "3 ranks for 2 shards"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    rings: Dataset, change: dict[str, Any], ranks: int, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        fitted(rings, msgspec.structs.replace(HALO, **change), ranks)


@pytest.mark.parametrize("part", ["validation", "test"])
@pytest.mark.parametrize("refit", [True, False])
def test_answers_that_are_no_numbers_are_refused(
    rings: Dataset, monkeypatch: pytest.MonkeyPatch, *, part: SplitName, refit: bool
) -> None:
    there, _ = rings.examples(part)

    def overflow(network: RankedNetwork, features: NDArray[np.float32]) -> NDArray[Any]:
        found = whole_answers(network, torch.tensor(features)).T.numpy()
        return np.full_like(found, np.nan) if np.array_equal(features, there) else found

    monkeypatch.setattr(sharded_fit, "_probabilities", overflow)

    section = TrainSection(epochs=1, shards=4, halo=2, refit=refit)
    with pytest.raises(InvalidDataError, match=f"answers to 60 of 60 {part} rows of rings are no"):
        fitted(rings, section)


@pytest.mark.parametrize("ranks", [1, 2])
def test_it_begins_as_an_individual_of_a_population_does_where_a_spread_is_given(
    rings: Dataset, ranks: int
) -> None:
    section = msgspec.structs.replace(HALO, epochs=1, learning_rate=1e-9, seed=3)
    widths = (3, *SMALL.hidden, 2)
    individual = Individual(widths=widths, seed=3, weight_variance=1.5, bias_variance=0.2)
    drawn = draw_divided(individual, masks_of(section.topology, widths))

    def program(communicator: Communicator) -> ShardedFit:
        spread = Spread(weight_variance=1.5, bias_variance=0.2)
        return fit_sharded(SMALL, rings, section, communicator, spread=spread)

    found = program(Alone()) if ranks == 1 else run_ranks(ranks, program)[0]

    weights = weights_of(found)
    for layer in (2, 3):  # the first one standardises too
        expected = drawn.links[layer - 1, layer].T
        np.testing.assert_allclose(weights[f"layer{layer}.weight"], expected, atol=1e-5)
        np.testing.assert_allclose(
            weights[f"layer{layer}.bias"], drawn.biases[layer - 1], atol=1e-5
        )


def test_what_is_raised_at_a_step_ends_it(rings: Dataset) -> None:
    steps = iter(range(3))

    with pytest.raises(StopIteration):
        fit_sharded(SMALL, rings, HALO, Alone(), on_step=lambda: next(steps))
