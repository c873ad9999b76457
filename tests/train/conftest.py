"""A dataset small enough to train on in every test."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from evener.data.dataset import Dataset, make_dataset
from evener.data.split import Split, split_at_random, split_rows
from evener.train.baselines import TrainedBaseline, train_baselines


@pytest.fixture(scope="session")
def known() -> Callable[[Dataset], Dataset]:
    """Return what makes training rows of all rows but those of the test."""

    def make(dataset: Dataset) -> Dataset:
        split = dataset.split
        train = np.sort(np.concatenate([split.train, split.validation]))
        return replace(dataset, split=Split(train, split.validation, split.test))

    return make


@pytest.fixture(scope="session")
def simple_models() -> Callable[[Dataset], Mapping[str, TrainedBaseline]]:
    """Return what trains the simple models of a dataset once, from the seed 0."""
    trained: dict[str, Mapping[str, TrainedBaseline]] = {}

    def make(dataset: Dataset) -> Mapping[str, TrainedBaseline]:
        if dataset.sha256 not in trained:
            models = train_baselines(dataset, seed=0)
            trained[dataset.sha256] = {one.record.name: one for one in models}
        return trained[dataset.sha256]

    return make


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


@pytest.fixture(scope="session")
def hills() -> Dataset:
    """Return two numbers that follow two features and no straight line, in large units."""
    rng = np.random.default_rng(0)
    features = rng.uniform(-2, 2, (400, 2))
    heights = np.sin(features[:, 0]) * features[:, 1]
    return make_dataset(
        "hills",
        features.astype(np.float32),
        np.stack([5000 + 1000 * heights, 1e-3 * heights**2], axis=1).astype(np.float32),
        classes=("height", "square"),
        feature_names=("x", "y"),
        split=split_at_random(400, validation_share=0.2, test_share=0.2, seed=0),
        task="numbers",
    )


@pytest.fixture(scope="session")
def corners() -> Dataset:
    """Return rows with three labels: right, above, and the rare both."""
    rng = np.random.default_rng(0)
    features = rng.uniform(-1, 1, (400, 2))
    right, above = features.T > 0.2
    return make_dataset(
        "corners",
        features.astype(np.float32),
        np.stack([right, above, right & above], axis=1).astype(np.float32),
        classes=("right", "above", "both"),
        feature_names=("x", "y"),
        split=split_at_random(400, validation_share=0.2, test_share=0.2, seed=0),
        task="labels",
    )


@pytest.fixture(scope="session")
def bars() -> Dataset:
    """Return noisy pictures of an upright or a level bar, anywhere."""
    rng = np.random.default_rng(3)
    labels = rng.integers(2, size=600)
    pictures = rng.normal(0, 0.3, (600, 1, 8, 8)).astype(np.float32)
    for picture, upright, place in zip(pictures, labels, rng.integers(1, 7, 600), strict=True):
        shown = picture[0].T if upright else picture[0]
        shown[place, 1:7] += 1.5
    return make_dataset(
        "bars",
        pictures.reshape(600, 64),
        labels,
        classes=("level", "upright"),
        feature_names=tuple(f"pixel {one}" for one in range(64)),
        split=split_at_random(600, validation_share=0.2, test_share=0.2, seed=0),
        picture=(1, 8, 8),
    )
