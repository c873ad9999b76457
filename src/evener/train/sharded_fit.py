"""Train one architecture on a dataset, divided into shards, on the ranks that are there.

The recipe is that of `evener.train.loop`, which trains on one process a network that is not
divided. Weights, rows and noise are drawn by where they stand, so that any number of ranks ends in
the same network: to the bit with a halo, to rounding where shards see everything.
"""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from evener.artifacts.architecture import Architecture
from evener.artifacts.dataset import DatasetFacts, SplitName
from evener.artifacts.files import write_whole
from evener.artifacts.layer_graph import Spread
from evener.artifacts.project import TrainSection
from evener.artifacts.topology import Topology
from evener.comm.communicator import Communicator
from evener.comm.share import together
from evener.comm.timed import Timed
from evener.data.dataset import Dataset
from evener.errors import InputError
from evener.train.answers import TOGETHER, whole_answers
from evener.train.checkpoint import newest, steps_of
from evener.train.finite import check_answers
from evener.train.grid import Grid
from evener.train.head import INPUT_NOISE, LABEL_SMOOTHING
from evener.train.loop import WEIGHT_DECAY, one_thread
from evener.train.metrics import quality
from evener.train.population.divided import draw_divided, masks_of
from evener.train.population.individual import Individual
from evener.train.ranked import RankedNetwork
from evener.train.recipe import Recipe
from evener.train.scaling import Scaling
from evener.train.shape import Shape
from evener.train.sharded_onnx import export_sharded, gather_parts
from evener.train.sharding import count_weights
from evener.train.trainer import Progress, Trainer
from evener.train.verify import TOLERANCE, largest_error
from evener.train.views import parts

OnEpoch = Callable[[int], object]
"""Called by the first rank after each pass with its number, from 1."""

_CHECKPOINTS: Final = 10  # of a training
_LOSSES: Final = "losses.json"


class ShardedFit(msgspec.Struct, frozen=True, kw_only=True):
    """A trained network that is a file.

    Attributes:
        architecture: its shape.
        topology: which of its neurons see which.
        weights: how many numbers training set.
        section: how it was trained.
        validation: quality on the validation split, by metric; empty where it was learned from.
        test: quality on the test split, by metric.
        losses: mean loss of each epoch, to six digits: more depend on the number of ranks.
        communication_share: of the time in messages between ranks, of the rank that waited most,
            in the steps that this call took; None with one rank, or where no step was left.
        export_error: largest difference between a probability of the file and of the trainer.
        content: the ONNX file on the first rank, nothing on others.
    """

    architecture: Architecture
    topology: Topology
    weights: int
    section: TrainSection
    validation: dict[str, float]
    test: dict[str, float]
    losses: tuple[float, ...]
    communication_share: float | None
    export_error: float
    content: bytes


def fit_sharded(
    architecture: Architecture,
    dataset: Dataset,
    section: TrainSection,
    communicator: Communicator,
    *,
    spread: Spread | None = None,
    checkpoints: Path | None = None,
    on_epoch: OnEpoch | None = None,
    on_step: Callable[[], object] | None = None,
) -> ShardedFit:
    """Train an architecture; every rank calls it with the same.

    It learns from the training split, and the validation split where it is to be refitted.
    Each rank computes with one thread, as many ranks as cores use them all.

    Args:
        architecture: an mlp or a linear model.
        dataset: what it learns from; the test split is only looked at for the final figure.
        section: how; its ranks count for nothing, the communicator's do.
        communicator: the ranks.
        spread: of the weights that it begins with, where a halo says which there are; one over the
            neurons that each sees, evenly, if None.
        checkpoints: folder to go on from, if it has any, and to save into.
        on_epoch: called after each pass.
        on_step: called after each step; what it raises ends the training.

    Raises:
        InputError: ranks or shards that the section's replicas or shards do not fit, or a task
            other than to tell classes apart.
        DivergedError: the learning rate was too high.
        InvalidFileError: a checkpoint cannot be written, or is of another training.
        EvenerError: the file answers otherwise than the network that was trained.
        InvalidDataError: answers are no finite numbers, of rows far beyond those learned from.
        RankError: ranks lost one another.
    """
    check_task(dataset)
    classes = dataset.outputs
    widths = architecture.widths(dataset.features.shape[1], classes)
    hidden = (architecture.activation,) * (len(widths) - 2)
    shape = Shape(widths, (*hidden, "softmax"), section.topology, section.seed)
    features, labels = dataset.rows(*section.learned_from)
    scaling = Scaling.of(features, shape.topology)
    smoothed = LABEL_SMOOTHING / classes + (1 - LABEL_SMOOTHING) * np.eye(classes)
    recipe = Recipe(
        epochs=section.epochs,
        batch=section.batch,
        learning_rate=section.learning_rate,
        optimiser="adamw",
        weight_decay=WEIGHT_DECAY,
        schedule="one-cycle",
        input_noise=INPUT_NOISE["classes"],
    )
    with one_thread():
        grid = Grid.of(Timed(communicator), section.replicas)
        network = RankedNetwork(shape, grid.shards, loss="cross-entropy")
        if spread is not None and not shape.topology.dense:
            _begin(network, spread)
        inputs = torch.from_numpy(scaling.apply(features))
        wanted = torch.from_numpy(smoothed[labels].astype(np.float32))
        trainer = Trainer(network, recipe, inputs, wanted, grid=grid)
        per_epoch = recipe.steps_per_epoch(len(features))
        watch = _Watch(grid, per_epoch, checkpoints, on_epoch, on_step)
        together(grid.world, watch.forget)
        every = -(-recipe.epochs // _CHECKPOINTS) * per_epoch
        trainer.run(watch.see, checkpoints=checkpoints, every=every)
        scaling.fold(network)
        share = watch.largest_share()
        found = _finish(network, grid, dataset, architecture, refit=section.refit)
        network.close()
        grid.close()
    return ShardedFit(
        architecture=architecture,
        topology=shape.topology,
        weights=count_weights(shape.topology, widths) + sum(widths[1:]),
        section=section,
        losses=watch.losses,
        communication_share=share,
        **found,
    )


def check_task(dataset: Dataset | DatasetFacts) -> None:
    """Refuse rows that shards cannot learn from.

    Raises:
        InputError: numbers or labels are to be predicted.
    """
    if dataset.task != "classes":
        raise InputError(
            f"{dataset.name}: ranks and shards train networks that tell classes apart, and this "
            f"dataset's task is {dataset.task}; train it on one rank, without train.ranks, "
            "train.shards and search.shards"
        )


class _Watch:
    """Sees each step, and keeps the losses of epochs beside the checkpoints."""

    def __init__(
        self,
        grid: Grid,
        per_epoch: int,
        folder: Path | None,
        on_epoch: OnEpoch | None,
        on_step: Callable[[], object] | None,
    ) -> None:
        self._grid = grid
        self._per_epoch = per_epoch
        self._on_epoch = on_epoch
        self._on_step = on_step
        self._sum = 0.0
        self._share: float | None = None  # of the steps that were seen
        self._path = None if folder is None else folder / _LOSSES
        self._losses: list[float] = []
        if self._path is not None and self._path.is_file():
            self._losses = msgspec.json.decode(self._path.read_bytes(), type=list[float])

    @property
    def losses(self) -> tuple[float, ...]:
        """Mean loss of each epoch."""
        return tuple(self._losses)

    def forget(self) -> None:
        """Remove a checkpoint of an epoch whose loss is not kept: it was stopped between both."""
        if self._path is None or self._grid.world.rank > 0:
            return
        known = len(self._losses) * self._per_epoch
        while (path := newest(self._path.parent)) is not None and steps_of(path) > known:
            shutil.rmtree(path)

    def see(self, progress: Progress) -> None:
        """Note a step; checkpoints are between epochs, and so whole ones are seen."""
        if self._on_step is not None:
            self._on_step()
        self._share = progress.communication_share
        self._sum += progress.loss
        if progress.step % self._per_epoch:
            return
        mean = float(f"{self._sum / self._per_epoch:.6g}")
        self._sum = 0.0
        self._losses = [*self._losses[: progress.epoch - 1], mean]
        if self._grid.world.rank > 0:
            return
        if self._path is not None:
            write_whole(self._path, msgspec.json.encode(self._losses))
        if self._on_epoch is not None:
            self._on_epoch(progress.epoch)

    def largest_share(self) -> float | None:
        """Return the share of time in messages of the rank that waited most; every rank asks."""
        world = self._grid.world
        if world.size == 1 or self._share is None:
            return None
        shares = np.zeros((world.size, 1))
        world.all_gather(np.array([self._share]), list(shares))
        return float(shares.max())


def _finish(
    network: RankedNetwork,
    grid: Grid,
    dataset: Dataset,
    architecture: Architecture,
    *,
    refit: bool,
) -> dict[str, Any]:
    """Write the network, hold the file against it, and say how good it is."""
    found: dict[str, Any] = {"content": b"", "export_error": 0.0, "validation": {}}
    parts_answered: tuple[SplitName, ...] = ("validation", "test")
    answered = {}
    for part in parts_answered:
        features, targets = dataset.examples(part)
        answered[part] = _probabilities(network, features)
        together(grid.world, partial(check_answers, dataset, part, answered[part]))
        if part == "test" or not refit:
            found[part] = quality(dataset.task, targets, answered[part])
    gathered = gather_parts(network)

    def write() -> None:
        if gathered is None or grid.replicas.rank > 0:
            return
        found["content"] = export_sharded(network.shape, gathered)
        features, _ = dataset.examples("test")
        found["export_error"] = largest_error(
            str(architecture), found["content"], features, answered["test"], tolerance=TOLERANCE
        )

    together(grid.world, write)
    return found


def _begin(network: RankedNetwork, spread: Spread) -> None:
    """Give a network the weights that an individual of a population begins from.

    Each rank draws all of them and takes its own.
    """
    shape = network.shape
    individual = Individual(
        widths=shape.widths,
        seed=shape.seed,
        weight_variance=spread.weight_variance,
        bias_variance=spread.bias_variance,
    )
    drawn = draw_divided(individual, masks_of(shape.topology, shape.widths))
    for layer, bias in enumerate(drawn.biases, 1):
        for neurons, columns, weight_MC, bias_M in parts(network, layer):
            own = drawn.links[layer - 1, layer][columns, neurons.start : neurons.stop]
            weight_MC.copy_(torch.from_numpy(own.T))
            bias_M.copy_(torch.from_numpy(bias[neurons.start : neurons.stop]))


def _probabilities(
    network: RankedNetwork, features: NDArray[np.float32]
) -> NDArray[np.floating[Any]]:
    """Return the probabilities (rows, classes) of some rows, on every rank."""
    rows = torch.split(torch.tensor(features), TOGETHER)
    return np.concatenate([whole_answers(network, some).T.numpy() for some in rows])
