"""A dataset small enough to train on in every test."""

import numpy as np
import pytest

from evener.data.dataset import Dataset, make_dataset
from evener.data.split import split_rows


@pytest.fixture(scope="session")
def rings() -> Dataset:
    """Return a disc inside a ring: 300 rows that no straight line divides, and a constant."""
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 2
    radius = 1 + 1.5 * labels + rng.uniform(-0.4, 0.4, 300)
    angle = rng.uniform(0, 2 * np.pi, 300)
    features = np.stack(
        [100 * radius * np.cos(angle), 1e-3 * radius * np.sin(angle), np.full(300, 7.0)], axis=1
    )
    classes = ("disc", "ring")
    return make_dataset(
        "rings",
        features.astype(np.float32),
        labels,
        classes=classes,
        feature_names=("x", "y", "seven"),
        split=split_rows(labels, classes, validation_share=0.2, test_share=0.2, seed=0),
    )
