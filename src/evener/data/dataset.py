"""A checked dataset: rows of numbers, what is to be answered to them and the split, under one hash.

Shapes in names: R rows, F features, O outputs.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from evener.artifacts.dataset import SplitName as SplitName
from evener.artifacts.dataset import Task
from evener.artifacts.encoding import Encoding, TextColumns
from evener.data.split import Split


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Rows to learn from; its arrays cannot be written to.

    Attributes:
        name: for people, such as "digits".
        features: float32 (rows, features), C-contiguous, finite.
        labels: int64 (rows,), indices into `classes`; empty where the task has no classes.
        targets: float32 (rows, outputs), what is to be answered: a 1 at the class and 0 elsewhere,
            a 1 for each label that a row has, or numbers in their own units.
        classes: names of the outputs: the classes, or the target columns of numbers and labels.
        feature_names: names of the columns of `features`; a category is named "column=value".
        split: which rows are for training, for choosing and for the final test.
        sha256: hash of everything here except the name and the notes.
        task: what is predicted.
        picture: channels, height and width where a row is a picture, flattened in this order.
        encoding: how columns of a table became the features; None of other sources.
        notes: what was missing, rare or left out, for people; not hashed.
    """

    name: str
    features: NDArray[np.float32]
    labels: NDArray[np.int64]
    targets: NDArray[np.float32]
    classes: tuple[str, ...]
    feature_names: tuple[str, ...]
    split: Split
    sha256: str
    task: Task = "classes"
    picture: tuple[int, int, int] | None = None
    encoding: Encoding | None = None
    notes: tuple[str, ...] = ()

    @property
    def outputs(self) -> int:
        """How many numbers answer a row."""
        return len(self.classes)

    @property
    def words(self) -> int:
        """How many of the last features are weights of words, and so of one kind."""
        columns = () if self.encoding is None else self.encoding.columns
        return sum(len(one.names) for one in columns if isinstance(one, TextColumns))

    @property
    def bins(self) -> tuple[int, ...]:
        """Places of the features that say how much of a bin a number fills, which another says."""
        return () if self.encoding is None else self.encoding.bins

    def rows(self, *parts: SplitName) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return features and classes of parts of the split, as arrays of their own."""
        index = self._index(parts)
        return self.features[index], self.labels[index]

    def examples(self, *parts: SplitName) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return features and targets of parts of the split, as arrays of their own."""
        index = self._index(parts)
        return self.features[index], self.targets[index]

    def _index(self, parts: Sequence[SplitName]) -> NDArray[np.int64]:
        """Return the rows of some parts, each once and in ascending order."""
        return reduce(np.union1d, (getattr(self.split, part) for part in parts))

    @property
    def row_counts(self) -> dict[str, int]:
        """Rows of each part of the split, by its name."""
        return {name: len(getattr(self.split, name)) for name in ("train", "validation", "test")}


def make_dataset(
    name: str,
    features: NDArray[np.float32],
    answers: NDArray[Any],
    *,
    classes: tuple[str, ...],
    feature_names: tuple[str, ...],
    split: Split,
    task: Task = "classes",
    picture: tuple[int, int, int] | None = None,
    encoding: Encoding | None = None,
    notes: tuple[str, ...] = (),
) -> Dataset:
    """Freeze the arrays of a dataset and hash them.

    Args:
        name: for people.
        features: (rows, features), already checked.
        answers: (rows,), indices into `classes`; of another task float32 (rows, outputs).
        classes: names of the outputs.
        feature_names: names of the columns.
        split: a split of the rows.
        task: what is predicted.
        picture: channels, height and width of a row, if it is a picture.
        encoding: how columns of a table became the features.
        notes: for people.

    Example:
        >>> from evener.data.split import split_at_random
        >>> split = split_at_random(5, validation_share=0.2, test_share=0.2, seed=0)
        >>> rows = np.ones((5, 2), np.float32)
        >>> made = make_dataset("fives", rows, rows[:, :1], classes=("five",),
        ...                     feature_names=("a", "b"), split=split, task="numbers")
        >>> made.outputs, made.examples("train")[1].shape, made.labels.shape
        (1, (3, 1), (0,))
    """
    features = np.ascontiguousarray(features, dtype="<f4")
    if task == "classes":
        labels = np.ascontiguousarray(answers, dtype="<i8")
        targets = np.eye(len(classes), dtype="<f4")[labels]
    else:
        labels = np.empty(0, "<i8")
        targets = np.ascontiguousarray(answers, dtype="<f4")
    parts = (split.train, split.validation, split.test)
    lengths = [len(part) for part in parts]
    head = [features.shape, lengths, classes, feature_names, task, picture, encoding]
    hashed = hashlib.sha256(msgspec.json.encode(head))
    hashed.update(features.data)
    hashed.update(targets.tobytes() if task != "classes" else labels.tobytes())
    for array in parts:
        hashed.update(array.astype("<i8").tobytes())
    for frozen in (features, labels, targets, *parts):
        frozen.setflags(write=False)
    return Dataset(
        name=name,
        features=features,
        labels=labels,
        targets=targets,
        classes=classes,
        feature_names=feature_names,
        split=split,
        sha256=hashed.hexdigest(),
        task=task,
        picture=picture,
        encoding=encoding,
        notes=notes,
    )
