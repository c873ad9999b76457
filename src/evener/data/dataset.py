"""A checked dataset: rows of numbers, their classes and the split, under one hash."""

import hashlib
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from evener.data.split import Split

SplitName = Literal["train", "validation", "test"]


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Rows to learn from; its arrays cannot be written to.

    Attributes:
        name: for people, such as "digits".
        features: float32 (rows, features), C-contiguous, finite.
        labels: int64 (rows,), indices into `classes`.
        classes: names of the classes.
        feature_names: names of the columns of `features`; a category is named "column=value".
        split: which rows are for training, for choosing and for the final test.
        sha256: hash of everything above except the name.
    """

    name: str
    features: NDArray[np.float32]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]
    feature_names: tuple[str, ...]
    split: Split
    sha256: str

    def rows(self, part: SplitName) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return features and labels of one part of the split, as arrays of their own."""
        index = getattr(self.split, part)
        return self.features[index], self.labels[index]

    @property
    def row_counts(self) -> dict[str, int]:
        """Rows of each part of the split, by its name."""
        return {name: len(getattr(self.split, name)) for name in ("train", "validation", "test")}


def make_dataset(
    name: str,
    features: NDArray[np.float32],
    labels: NDArray[np.int64],
    *,
    classes: tuple[str, ...],
    feature_names: tuple[str, ...],
    split: Split,
) -> Dataset:
    """Freeze the arrays of a dataset and hash them.

    Args:
        name: for people.
        features: (rows, features), already checked.
        labels: (rows,), indices into `classes`.
        classes: names of the classes.
        feature_names: names of the columns.
        split: a split of the rows.
    """
    features = np.ascontiguousarray(features, dtype="<f4")
    labels = np.ascontiguousarray(labels, dtype="<i8")
    parts = (split.train, split.validation, split.test)
    head = [features.shape, [len(part) for part in parts], classes, feature_names]
    hashed = hashlib.sha256(msgspec.json.encode(head))
    hashed.update(features.tobytes())
    for array in (labels, *parts):
        hashed.update(array.astype("<i8").tobytes())
    for frozen in (features, labels, *parts):
        frozen.setflags(write=False)
    return Dataset(
        name=name,
        features=features,
        labels=labels,
        classes=classes,
        feature_names=feature_names,
        split=split,
        sha256=hashed.hexdigest(),
    )
