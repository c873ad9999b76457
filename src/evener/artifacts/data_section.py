"""The section [data] of a project: where the rows come from, and what is predicted of them."""

from typing import Final, Literal

import msgspec

from evener.artifacts.dataset import Task
from evener.errors import InvalidProjectError

Colours = Literal["grey", "rgb"]

_WIDEST: Final = 1024  # places of a picture's side


class DataSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the rows come from, and what is predicted of them.

    Attributes:
        source: "digits", a table, an NPZ file, IDX files or a folder of pictures, relative to the
            project.
        target: the column (table) or array (NPZ) to predict; several for several at once.
        task: "classes", "numbers" or "labels"; found from the target if None.
        test_source: a table of the same columns whose rows are the test split.
        split_column: the column that says train, validation or test of each row.
        only: "column=value" for each value that rows must have to be read.
        drop: columns that are not read.
        separator: what stands between the labels of one target.
        text: the column, or columns, whose words are features.
        text_features: most words, or runs of words.
        text_run: most words that stand one behind another and are a feature together.
        bins: into how many each column of numbers is divided, whose filling is features too; 0 for
            none.
        size: width and height that each picture of a folder gets.
        colours: whether a pixel of such is one number or three.
        test_share: share of the rows kept for the test split, in (0, 1).
        validation_share: share of the rows kept to choose by, in (0, 1); of the training rows
            where the test split is given.
        seed: what the split is drawn from.
    """

    source: str
    target: str | tuple[str, ...] = "label"
    task: Task | None = None
    test_source: str | None = None
    split_column: str | None = None
    only: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    separator: str | None = None
    text: str | tuple[str, ...] = ()
    text_features: int = 5000
    text_run: int = 1
    bins: int = 0
    size: tuple[int, int] = (32, 32)
    colours: Colours = "rgb"
    test_share: float = 0.2
    validation_share: float = 0.2
    seed: int = 0

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of what is predicted."""
        return (self.target,) if isinstance(self.target, str) else self.target

    @property
    def texts(self) -> tuple[str, ...]:
        """Names of the columns whose words are features."""
        return (self.text,) if isinstance(self.text, str) else self.text

    def check_numbers(self) -> None:
        """Refuse choices for tables, where the source holds numbers or pictures.

        Raises:
            InvalidProjectError: names the first of them.
        """
        for key in ("test_source", "split_column", "only", "drop", "separator", "bins"):
            if getattr(self, key):
                raise InvalidProjectError(
                    f"data.{key} is for tables, and {self.source} is none: leave it out",
                    key=f"data.{key}",
                )


def check_data(data: DataSection) -> None:
    """Check what no type says.

    Raises:
        InvalidProjectError: shares that leave no row, or a name or a number that says nothing.
    """
    shares = (("test_share", data.test_share), ("validation_share", data.validation_share))
    for name, share in shares:
        if not 0 < share < 1:
            raise InvalidProjectError(
                f"data.{name} = {share} must lie between 0 and 1, such as 0.2", key=f"data.{name}"
            )
    if data.test_share + data.validation_share >= 1:
        raise InvalidProjectError(
            f"data.test_share + data.validation_share = {data.test_share + data.validation_share} "
            "leaves no row to train on; keep their sum below 1",
            key="data.test_share",
        )
    _check_columns(data)
    for one in data.only:
        if "=" not in one:
            raise InvalidProjectError(
                f"data.only says '{one}', which is no column and its value: write \"{one}=value\"",
                key="data.only",
            )
    if data.bins < 0 or data.bins == 1:
        raise InvalidProjectError(
            f"data.bins = {data.bins} must be 0 for none, or 2 or more, such as 16", key="data.bins"
        )
    if min(data.size) < 1:
        raise InvalidProjectError(
            f"data.size = {list(data.size)} must be a width and a height above 0", key="data.size"
        )
    if max(data.size) > _WIDEST:
        raise InvalidProjectError(
            f"data.size = {list(data.size)} must be a width and a height up to {_WIDEST}: each "
            "place of a picture is an input of a network; write smaller ones, such as [32, 32]",
            key="data.size",
        )
    if data.separator == "":
        raise InvalidProjectError(
            "data.separator is empty: write what stands between labels, such as ' '",
            key="data.separator",
        )


def _check_columns(data: DataSection) -> None:
    if not data.targets or not all((*data.targets, *data.texts)):
        raise InvalidProjectError(
            "data.target and data.text name columns, and one of them has no name; write it",
            key="data.target",
        )
    named = (*data.targets, *data.texts)
    twice = [name for number, name in enumerate(named) if name in named[:number]]
    if twice:
        raise InvalidProjectError(
            f"data.target and data.text name '{twice[0]}' twice: a column is predicted or read, "
            "once; name it in one of them",
            key="data.target",
        )
    gone = [name for name in named if name in data.drop]
    if gone:
        raise InvalidProjectError(
            f"data.drop names '{gone[0]}', which data.target or data.text needs: leave it out of "
            "one of them",
            key="data.drop",
        )
    if data.test_source is not None and data.split_column is not None:
        raise InvalidProjectError(
            f"data.test_source = '{data.test_source}' and data.split_column = "
            f"'{data.split_column}' both say which rows are for the test: keep one",
            key="data.split_column",
        )
