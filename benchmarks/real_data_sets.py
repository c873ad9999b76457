"""Real data sets as projects: which files, how networks are searched and trained, and what counts.

SETS is a folder with the files as published: `mnist/mnist.npz` (Keras' arrays), `imdb/train.csv.gz`
and `test.csv.gz` (columns id, rating, label, text), `reuters-21578/reuters21578.csv.gz` (ModApte's
columns), `tabular/NAME.csv.gz`, and `cifar-10/` and `cifar-100/` with an npz of JPEGs (bytes one
behind another in `train_jpeg`, where each begins in `train_offsets`, classes in `y_train`, and the
same of `test`). JPEGs cost a little accuracy beside the original pixels.
"""

import csv
import gzip
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from evener.artifacts.files import write_whole
from evener.artifacts.project import DataSection, SearchSection, TrainSection
from evener.errors import InputError

FOLDS: Final = 10
_FOLD_SEED: Final = 0
_SPLIT: Final = "split"
Parts = Callable[[Path, Path], Sequence[DataSection]]
"""Given SETS and a folder to write into, returns the data of each project: one, or one a fold."""


@dataclass(frozen=True, slots=True)
class Bar:
    """What a model of a data set is to come to on the test split.

    Attributes:
        model: "evolved", or "recommended" whatever its family.
        metric: of the test split.
        limit: at least; of `mae` at most.
    """

    model: Literal["evolved", "recommended"]
    metric: str
    limit: float

    def holds(self, value: float) -> bool:
        """Whether a value reaches it."""
        return value <= self.limit if self.metric == "mae" else value >= self.limit


@dataclass(frozen=True, slots=True)
class RealSet:
    """A data set, and how it is searched.

    Attributes:
        name: by which it is asked for.
        title: for people.
        parts: makes its data.
        search: how networks are searched; the budget is given for all folds together.
        train: how networks are trained in full.
        metrics: shown, the first of them first.
        bars: what is wanted.
        workers: processes; one where rows take so much memory that none is to be copied.
        trainings: in full, from other seeds, whose mean counts.
        note: what a reader must know.
    """

    name: str
    title: str
    parts: Parts
    search: SearchSection
    train: TrainSection
    metrics: tuple[str, ...]
    bars: tuple[Bar, ...] = ()
    workers: int = 2
    trainings: int = 1
    note: str = ""


def _one(**data: Any) -> Parts:  # noqa: ANN401 - fields of a section
    return lambda _sets, _kept: [DataSection(**data)]


def fold_tables(sets: Path, kept: Path, *, source: str, target: str) -> list[DataSection]:
    """Write a table once for each fold, with a column that says which rows are tested.

    Args:
        sets: the folder of data.
        kept: folder to write into.
        source: a table, compressed by gzip.
        target: the column to predict.
    """
    with gzip.open(sets / source, "rt", encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    fold = np.random.default_rng(_FOLD_SEED).permutation(len(rows)) % FOLDS
    found = []
    for number in range(FOLDS):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*head, _SPLIT])
        writer.writerows(
            [*row, "test" if fold[place] == number else "train"] for place, row in enumerate(rows)
        )
        path = kept / f"fold-{number}.csv"
        write_whole(path, text.getvalue().encode())
        found.append(DataSection(source=str(path), target=target, split_column=_SPLIT))
    return found


def open_jpegs(
    sets: Path, kept: Path, *, source: str, first: int | None = None
) -> list[DataSection]:
    """Write the pixels of a file of JPEGs, once.

    Args:
        sets: the folder of data.
        kept: folder to write into.
        source: the file, as said above.
        first: how many pictures of either part; all if None.
    """
    path = kept / ("pixels.npz" if first is None else f"pixels-{first}.npz")
    starts = None if first is None else first + 1
    if not path.exists():
        content = io.BytesIO()
        with np.load(sets / source) as file:
            np.savez(
                content,
                x_train=_pixels(file["train_jpeg"], file["train_offsets"][:starts]),
                y_train=file["y_train"].reshape(-1)[:first].astype(np.int64),
                x_test=_pixels(file["test_jpeg"], file["test_offsets"][:starts]),
                y_test=file["y_test"].reshape(-1)[:first].astype(np.int64),
            )
        write_whole(path, content.getvalue())
    return [DataSection(source=str(path), validation_share=0.1)]


def _pixels(data: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return pictures (rows, height, width, channels)."""
    return np.stack(
        [
            np.asarray(Image.open(io.BytesIO(data[first:last].tobytes())).convert("RGB"))
            for first, last in pairwise(starts)
        ]
    )


def _searching(epochs: int, **choices: Any) -> SearchSection:  # noqa: ANN401 - fields of a section
    return SearchSection(epochs=epochs, **({"generations": 30, "finalists": 1} | choices))


_TEXTS: Final[dict[str, Any]] = {"population": 6, "widths": (16, 32, 64, 128), "depth": 2}
_PICTURES: Final[dict[str, Any]] = {
    "population": 6,
    "rows": 10_000,
    "together": 1,
    "activations": ("relu",),
    "channels": (8, 16, 32),
}


def _cifar(name: str, source: str, bars: tuple[Bar, ...] = ()) -> RealSet:
    return RealSet(
        name=name,
        title=name.upper(),
        parts=lambda sets, kept: open_jpegs(sets, kept, source=source),
        search=_searching(1, **_PICTURES),
        train=TrainSection(epochs=5, batch=64, shift=2, mirror=True),
        metrics=("accuracy",),
        bars=bars,
        workers=1,
        note="pictures are JPEGs of the published ones",
    )


SETS: Final = (
    RealSet(
        name="boston",
        title="Boston housing, 10-fold",
        parts=lambda sets, kept: fold_tables(
            sets, kept, source="tabular/boston_house_prices.csv.gz", target="MEDV"
        ),
        search=_searching(20, population=6),
        train=TrainSection(epochs=60, batch=32, learning_rate=0.005),
        metrics=("mae", "r2"),
        bars=(Bar("recommended", "mae", 2.4),),
        workers=1,
        note="the mean of the folds, each of which is searched by itself",
    ),
    RealSet(
        name="california",
        title="California housing",
        parts=_one(source="tabular/california_housing.csv.gz", target="median_house_value"),
        search=_searching(6, population=8),
        train=TrainSection(epochs=25, batch=128, learning_rate=0.005),
        metrics=("r2", "mae"),
        bars=(Bar("evolved", "r2", 0.78), Bar("recommended", "r2", 0.82)),
    ),
    RealSet(
        name="adult",
        title="adult",
        parts=_one(
            source="tabular/adult_train.csv.gz",
            test_source="tabular/adult_test.csv.gz",
            target="income",
            bins=16,
        ),
        search=_searching(3, population=8, widths=(16, 32, 64, 128), generations=60),
        train=TrainSection(epochs=15, batch=256, learning_rate=0.004, dropout=0.4),
        metrics=("auc", "accuracy"),
        bars=(Bar("evolved", "auc", 0.91), Bar("recommended", "auc", 0.925)),
    ),
    RealSet(
        name="bank",
        title="bank marketing (full)",
        parts=_one(source="tabular/bank-full.csv.gz", target="y"),
        search=_searching(2, population=8, widths=(16, 32, 64, 128)),
        train=TrainSection(epochs=8, batch=128, learning_rate=0.002),
        metrics=("auc", "accuracy"),
        bars=(Bar("recommended", "auc", 0.93),),
        note="with the column `duration`, which is known only after the call",
    ),
    RealSet(
        name="reuters",
        title="Reuters-21578 R52",
        parts=_one(
            source="reuters-21578/reuters21578.csv.gz",
            target="topics",
            task="classes",
            separator=" ",
            split_column="lewissplit",
            only=("topics_attr=YES",),
            text=("title", "body"),
            drop=("newid", "cgisplit", "date"),
            validation_share=0.1,
        ),
        # As wide, and with as many units left out, as the wide perceptron of Galke and Scherp,
        # "Bag-of-words vs. graph vs. sequence in text classification" (ACL 2022).
        search=_searching(4, **_TEXTS | {"widths": (128, 256, 512, 1024), "max_nodes": 2048}),
        train=TrainSection(epochs=8, batch=32, learning_rate=0.002, dropout=0.5),
        metrics=("accuracy", "f1"),
        bars=(Bar("evolved", "accuracy", 0.94),),
        workers=1,
    ),
    RealSet(
        name="imdb",
        title="IMDB reviews",
        parts=_one(
            source="imdb/train.csv.gz",
            test_source="imdb/test.csv.gz",
            text="text",
            text_features=10_000,
            text_run=2,
            drop=("id", "rating"),
            validation_share=0.1,
        ),
        search=_searching(2, rows=8000, **_TEXTS),
        train=TrainSection(epochs=2, batch=64, learning_rate=0.001),
        metrics=("accuracy", "auc"),
        bars=(Bar("evolved", "accuracy", 0.89),),
        workers=1,
    ),
    RealSet(
        name="mnist",
        title="MNIST",
        parts=_one(source="mnist/mnist.npz", validation_share=0.1),
        search=_searching(1, **_PICTURES),
        train=TrainSection(epochs=4, batch=64, learning_rate=0.01, shift=1),
        metrics=("accuracy",),
        bars=(Bar("evolved", "accuracy", 0.985),),
    ),
    _cifar("cifar-10", "cifar-10/cifar-10-jpeg.npz"),
    _cifar("cifar-100", "cifar-100/cifar-100-jpeg90.npz"),
)
"""All of them, quickest first."""


def named(only: Sequence[str]) -> tuple[RealSet, ...]:
    """Return some of the sets; all where none is named.

    Raises:
        InputError: there is no set of a name.
    """
    known = {one.name: one for one in SETS}
    for name in only:
        if name not in known:
            raise InputError(f"no data set is called '{name}'; there is {', '.join(known)}")
    return tuple(one for one in SETS if not only or one.name in only)
