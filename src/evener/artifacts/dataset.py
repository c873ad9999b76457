"""A dataset by its facts: what a later step needs to know without loading the rows."""

from typing import ClassVar, Final, Literal

import msgspec

from evener.artifacts.networks import Ends

Task = Literal["classes", "numbers", "labels"]
"""What is predicted: one of several classes, numbers, or any of several labels at once."""

SplitName = Literal["train", "validation", "test"]
"""A part of the split: rows to learn from, to choose by, and for the final figures."""

MAIN_METRIC: Final[dict[Task, str]] = {"classes": "accuracy", "numbers": "r2", "labels": "f1"}
"""What a search maximises by itself."""

TASK_METRICS: Final[dict[Task, tuple[str, ...]]] = {
    "classes": ("accuracy", "balanced_accuracy", "f1", "log_loss", "auc"),
    "numbers": ("mae", "rmse", "r2"),
    "labels": ("accuracy", "f1", "log_loss", "auc"),
}
"""How good answers are: what can be required of a network for each task."""


class DatasetFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Size, classes and hash of a dataset and its split.

    Attributes:
        name: where it came from.
        sha256: hash of the rows and of which split each is in.
        features: columns of the feature matrix.
        classes: names of the classes in the order of the labels; of the target columns where the
            task is not to tell classes apart.
        rows: rows of each split, by name.
        task: what is predicted.
        picture: channels, height and width where a row is a flattened picture.
        notes: what was missing, rare or left out, for people.
    """

    kind: ClassVar[str] = "dataset"
    schema: ClassVar[int] = 1

    name: str
    sha256: str
    features: int
    classes: tuple[str, ...]
    rows: dict[str, int]
    task: Task = "classes"
    picture: tuple[int, int, int] | None = None
    notes: tuple[str, ...] = ()

    @property
    def ends(self) -> Ends:
        """What a network of its rows stands between."""
        return Ends(features=self.features, outputs=len(self.classes), picture=self.picture)
