"""A dataset by its facts: what a later step needs to know without loading the rows."""

from typing import ClassVar

import msgspec


class DatasetFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Size, classes and hash of a dataset and its split.

    Attributes:
        name: where it came from.
        sha256: hash of the rows and of which split each is in.
        features: columns of the feature matrix.
        classes: names of the classes in the order of the labels.
        rows: rows of each split, by name.
    """

    kind: ClassVar[str] = "dataset"
    schema: ClassVar[int] = 1

    name: str
    sha256: str
    features: int
    classes: tuple[str, ...]
    rows: dict[str, int]
