"""Put together the card of a network: what it is, how it was made, how good it is."""

import hashlib
from collections.abc import Sequence

from evener.artifacts.card import Baseline, Card
from evener.data.dataset import Dataset
from evener.train.fit import Trained


def make_card(
    trained: Trained,
    dataset: Dataset,
    content: bytes,
    *,
    export_error: float,
    baselines: Sequence[Baseline],
) -> Card:
    """Describe a network and its file.

    Args:
        trained: the network.
        dataset: what it learned from.
        content: its ONNX file.
        export_error: what `verify_export` found.
        baselines: simple models trained on the same split.
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
        seed=trained.section.seed,
        epochs=trained.section.epochs,
        validation=trained.validation,
        test=trained.test,
        export_error=export_error,
        baselines=tuple(baselines),
        feature_names=dataset.feature_names,
        losses=trained.losses,
        communication_share=trained.communication_share,
    )
