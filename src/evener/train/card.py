"""Put together the card of a network: what it is, how it was made, how good it is."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol

from evener.artifacts.card import Baseline, Card
from evener.artifacts.networks import Network
from evener.artifacts.project import TrainSection
from evener.artifacts.pruned import Pruned
from evener.artifacts.recommended import Recommended
from evener.artifacts.topology import Topology
from evener.data.dataset import Dataset


class Figures(Protocol):
    """What a card says of a training, whoever trained."""

    @property
    def architecture(self) -> Network:
        """The shape of the network."""

    @property
    def weights(self) -> int:
        """How many numbers training set."""

    @property
    def section(self) -> TrainSection:
        """How it was trained."""

    @property
    def validation(self) -> dict[str, float]:
        """Quality on the validation split, by metric; empty where it was learned from."""

    @property
    def test(self) -> dict[str, float]:
        """Quality on the test split, by metric."""

    @property
    def losses(self) -> tuple[float, ...]:
        """Mean loss of each epoch."""

    @property
    def communication_share(self) -> float | None:
        """Of its time in messages between ranks; None where that is not known."""


def make_card(
    trained: Figures,
    dataset: Dataset,
    content: bytes,
    *,
    export_error: float,
    baselines: Sequence[Baseline],
    topology: Topology | None = None,
    before: Mapping[str, float] | None = None,
    recommended: Recommended | None = None,
    pruned: Pruned | None = None,
) -> Card:
    """Describe a network and its file.

    Args:
        trained: the network.
        dataset: what it learned from.
        content: its ONNX file.
        export_error: what `verify_export` found.
        baselines: simple models of the same split, learned from the training rows alone.
        topology: which neurons see which; None where all see all.
        before: quality on the validation split, by metric, of the same network before it learned
            from these rows; None if it did not, or that is not known.
        recommended: the model that is best on the validation split, whatever was delivered.
        pruned: what was taken out of the network; None if nothing was.
    """
    return Card(
        network_sha256=hashlib.sha256(content).hexdigest(),
        network_bytes=len(content),
        architecture=trained.architecture,
        weights=trained.weights,
        features=dataset.features.shape[1],
        data_sha256=dataset.sha256,
        rows=dataset.row_counts,
        classes=dataset.classes,
        task=dataset.task,
        encoding=dataset.encoding,
        seed=trained.section.seed,
        epochs=trained.section.epochs,
        validation=trained.validation or dict(before or {}),
        test=trained.test,
        export_error=export_error,
        baselines=tuple(baselines),
        feature_names=dataset.feature_names,
        topology=topology,
        losses=trained.losses,
        communication_share=trained.communication_share,
        learned_from=trained.section.learned_from,
        recommended=recommended,
        pruned=pruned,
    )
