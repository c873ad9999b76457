"""Train one network on a dataset and say how good it is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from evener.artifacts.architecture import Architecture
from evener.artifacts.dataset import DatasetFacts
from evener.artifacts.layer_graph import Spread
from evener.artifacts.networks import Ends, Network, weights
from evener.artifacts.project import TrainSection
from evener.data.dataset import Dataset, SplitName
from evener.errors import InputError
from evener.train.augment import Augmentation
from evener.train.finite import check_answers
from evener.train.head import Head
from evener.train.loop import OnEpoch, one_thread, train
from evener.train.metrics import quality
from evener.train.model import Classifier, predict


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A network with its weights, before it is a file.

    Attributes:
        architecture: its shape.
        model: the torch module; not to be trained on.
        weights: how many numbers training set.
        section: how it was trained.
        validation: quality on the validation split, by metric; empty where it was learned from.
        test: quality on the test split, by metric.
        losses: mean loss of each epoch.
        communication_share: of its time in messages between ranks; None where one process trained.
    """

    architecture: Network
    model: Classifier
    weights: int
    section: TrainSection
    validation: dict[str, float]
    test: dict[str, float]
    losses: tuple[float, ...]
    communication_share: float | None = None


def train_network(
    architecture: Network,
    dataset: Dataset,
    section: TrainSection,
    *,
    spread: Spread | None = None,
    on_epoch: OnEpoch | None = None,
    on_step: Callable[[], object] | None = None,
) -> Trained:
    """Train a network on the training split, and the validation split where it is to be refitted.

    Means, spreads and weights of classes are of the rows that are learned from; how columns became
    features is the dataset's, and stays what the training split says.

    It takes seconds, so it keeps no checkpoints: killed and started again with the same inputs,
    it ends in the same weights to the bit (on one kind of machine and version of torch).

    Args:
        architecture: a graph of layers, blocks of convolutions, an mlp or a linear model.
        dataset: what it learns from; the test split is only looked at for the final figure.
        section: rows, epochs, batch, learning rate, views of pictures and seed; a recipe of the
            network's own counts before that learning rate.
        spread: of the weights that a graph of layers or blocks begin with.
        on_epoch: called after each pass with its number, from 1, and the mean loss.
        on_step: called before each step; what it raises ends the training.

    Raises:
        InputError: the architecture is no network, or pictures are wanted where rows are none.
        DivergedError: the learning rate was too high.
        InvalidDataError: its answers are no finite numbers, of rows far beyond those learned from.
    """
    features, targets = dataset.examples(*section.learned_from)
    model = Classifier(
        architecture,
        features,
        Head(dataset.task, targets, class_weight=section.class_weight),
        seed=section.seed,
        spread=spread,
        picture=dataset.picture,
        words=dataset.words,
        dropout=section.dropout,
    )
    losses: list[float] = []

    def see(epoch: int, loss: float) -> None:
        losses.append(loss)
        if on_epoch is not None:
            on_epoch(epoch, loss)

    train(
        model,
        features,
        targets,
        epochs=section.epochs,
        batch=section.batch,
        learning_rate=section.learning_rate,
        seed=section.seed,
        recipe=None if isinstance(architecture, Architecture) else architecture.recipe,
        augmentation=augmentation_of(section, dataset),
        on_epoch=see,
        on_step=on_step,
    )
    model.eval()
    validation = _quality(model, dataset, "validation")  # refused too where it was learned from
    return Trained(
        architecture=architecture,
        model=model,
        weights=weights(architecture, ends_of(dataset)),
        section=section,
        validation={} if section.refit else validation,
        test=_quality(model, dataset, "test"),
        losses=tuple(losses),
    )


class Viewing(Protocol):
    """How pictures may be seen; see `TrainSection`."""

    @property
    def shift(self) -> int:
        """By how many places they are moved, at most."""

    @property
    def mirror(self) -> bool:
        """Whether left and right may change places."""


def augmentation_of(section: Viewing, dataset: Dataset | DatasetFacts) -> Augmentation | None:
    """Return how pictures are seen anew in each pass; None if they are not.

    Args:
        section: of a project.
        dataset: whose rows they are.

    Raises:
        InputError: rows are no pictures, or smaller than the shift.
    """
    if not section.shift and not section.mirror:
        return None
    if dataset.picture is None:
        raise InputError(
            f"train.shift = {section.shift} and train.mirror = {str(section.mirror).lower()} are "
            f"for pictures, and rows of {dataset.name} are none: leave them out"
        )
    return Augmentation(picture=dataset.picture, shift=section.shift, mirror=section.mirror)


def ends_of(dataset: Dataset) -> Ends:
    """Return what a network of some rows stands between."""
    return Ends(
        features=dataset.features.shape[1], outputs=dataset.outputs, picture=dataset.picture
    )


def _quality(model: Classifier, dataset: Dataset, part: SplitName) -> dict[str, float]:
    features, targets = dataset.examples(part)
    with one_thread():
        answers = predict(model, features)
    check_answers(dataset, part, answers)
    return quality(dataset.task, targets, answers)
