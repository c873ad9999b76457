"""Train one network on a dataset and say how good it is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from msgspec.structs import replace

from evener.artifacts.architecture import Architecture
from evener.artifacts.dataset import DatasetFacts
from evener.artifacts.layer_graph import Spread
from evener.artifacts.networks import Ends, Network, units, weights
from evener.artifacts.project import TrainSection
from evener.artifacts.pruned import Pruned
from evener.data.dataset import Dataset, SplitName
from evener.errors import InputError
from evener.train.augment import Augmentation
from evener.train.finite import check_answers
from evener.train.head import Head
from evener.train.loop import OnEpoch, one_thread, train
from evener.train.metrics import quality
from evener.train.model import Classifier, predict
from evener.train.shrink import Shrink, prunable_layers, smaller

_GENTLY: Final = 1 / 3  # of the learning rate, once units were taken out


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
        pruned: what was taken out of it; None if nothing was.
    """

    architecture: Network
    model: Classifier
    weights: int
    section: TrainSection
    validation: dict[str, float]
    test: dict[str, float]
    losses: tuple[float, ...]
    communication_share: float | None = None
    pruned: Pruned | None = None


def train_network(
    architecture: Network,
    dataset: Dataset,
    section: TrainSection,
    *,
    spread: Spread | None = None,
    on_epoch: OnEpoch | None = None,
    on_step: Callable[[], object] | None = None,
    shrink: Shrink | None = None,
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
        shrink: says which units go, where some are to; see `evener.train.shrink`.

    Raises:
        InputError: the architecture is no network, or pictures are wanted where rows are none.
        DivergedError: the learning rate was too high.
        InvalidDataError: its answers are no finite numbers, of rows far beyond those learned from.
    """
    features, targets = dataset.examples(*section.learned_from)
    losses: list[float] = []

    def begin(network: Network) -> Classifier:
        return Classifier(
            network,
            features,
            Head(dataset.task, targets, class_weight=section.class_weight),
            seed=section.seed,
            spread=spread,
            picture=dataset.picture,
            words=dataset.words,
            dropout=section.dropout,
        )

    def see(_: int, loss: float) -> None:
        losses.append(loss)
        if on_epoch is not None:
            on_epoch(len(losses), loss)

    def learn(model: Classifier, network: Network, epochs: int, gently: float) -> None:
        recipe = None if isinstance(network, Architecture) else network.recipe
        if recipe is not None:
            recipe = replace(recipe, learning_rate=recipe.learning_rate * gently)
        train(
            model,
            features,
            targets,
            epochs=epochs,
            batch=section.batch,
            learning_rate=section.learning_rate * gently,
            seed=section.seed,
            recipe=recipe,
            augmentation=augmentation_of(section, dataset),
            on_epoch=see,
            on_step=on_step,
        )
        model.eval()

    model = begin(architecture)
    learn(model, architecture, section.epochs, 1.0)
    pruned = None
    if section.prune and shrink is not None:
        before, ends = architecture, ends_of(dataset)
        known = {} if section.refit else _quality(model, dataset, "validation")
        architecture, left = smaller(model, before, features, targets, shrink, section.prune)
        model = begin(architecture)
        prunable_layers(model, architecture).fill(left)
        learn(model, architecture, section.passes - section.epochs, _GENTLY)
        pruned = Pruned(
            share=section.prune,
            units_before=units(before),
            units=units(architecture),
            weights_before=weights(before, ends),
            weights=weights(architecture, ends),
            validation=known,
        )
    validation = _quality(model, dataset, "validation")  # refused too where it was learned from
    return Trained(
        architecture=architecture,
        model=model,
        weights=weights(architecture, ends_of(dataset)),
        section=section,
        validation={} if section.refit else validation,
        test=_quality(model, dataset, "test"),
        losses=tuple(losses),
        pruned=pruned,
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
