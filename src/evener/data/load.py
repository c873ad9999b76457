"""Load the dataset that a project names: read, find what is to be predicted, split, encode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.project import DataSection
from evener.data.cells import Column
from evener.data.dataset import Dataset, make_dataset
from evener.data.digits import read_digits
from evener.data.encode import encode, told_far
from evener.data.far_rows import check_far
from evener.data.idx_file import is_idx, labels_beside, read_idx
from evener.data.learn_encoding import learn_encoding
from evener.data.npz_file import read_npz
from evener.data.picture_rows import read_picture_rows
from evener.data.raw import SUFFIXES, RawTable
from evener.data.select import read_selected
from evener.data.split import (
    FEWEST_ROWS,
    TEST,
    TRAIN,
    Split,
    split_as_given,
    split_at_random,
    split_rows,
)
from evener.data.table import Table, missing_target
from evener.data.table_rows import kind_of
from evener.data.targets import Targets, find_targets
from evener.errors import InvalidDataError
from evener.units import count

KNOWN_SOURCES: Final = (
    "'digits', a .csv, .tsv, .parquet or .jsonl file (.gz too), an .npz file, IDX files, or a "
    "folder of pictures"
)
_DIGITS: Final = "digits"
_NPZ: Final = ".npz"
_SHOWN: Final = 5  # classes that a note lists


def load_dataset(section: DataSection, folder: Path) -> Dataset:
    """Load, check and split the rows of a project.

    Args:
        section: what the project says about its data.
        folder: the project, which file names are relative to.

    Raises:
        InvalidFileError: the file cannot be read.
        InvalidDataError: it can, but nothing can be learned from it; the text says why.
        MissingExtraError: a built-in set, or texts, need scikit-learn, Parquet PyArrow, pictures
            Pillow.

    Example:
        >>> dataset = load_dataset(DataSection(source="digits"), Path())
        >>> dataset.features.shape, dataset.row_counts["test"], dataset.picture
        ((1797, 64), 359, (1, 8, 8))
    """
    path = folder / section.source
    if section.source == _DIGITS or not _is_raw(path, section):
        return _load_numbers(_read_numbers(path, section), section)
    table, parts, notes = read_selected(section, folder)
    names = section.targets
    for name in names:
        if name not in table.columns:
            raise missing_target(name, table.columns, table.where, "column")
    chosen = _choose({name: table.columns[name] for name in names}, parts, section, table.where)
    table = table.without(names).take(chosen.targets.rows)
    targets = chosen.targets
    encoding, more = learn_encoding(
        table,
        chosen.split.train,
        text=section.texts,
        text_features=section.text_features,
        text_run=section.text_run,
        bins=section.bins,
        targets=None if targets.task == "numbers" else _marks(targets),
    )
    features = encode(encoding, table)
    _check_finite(features, encoding.feature_names, table)
    return _made(
        section,
        features,
        encoding.feature_names,
        chosen,
        encoding=encoding,
        notes=(*notes, *chosen.notes, *more, *told_far(encoding, table)),
    )


def files_of(section: DataSection, folder: Path) -> tuple[Path, ...]:
    """Return every file that rows are read from; none where they come with a package.

    Args:
        section: what the project says about its data.
        folder: the project, which file names are relative to.

    Example:
        >>> section = DataSection(source="train.csv", test_source="test.csv")
        >>> [str(path) for path in files_of(section, Path("project"))]
        ['project/train.csv', 'project/test.csv']
    """
    if section.source == _DIGITS:
        return ()
    path = folder / section.source
    if path.is_dir():
        return tuple(sorted(one for one in path.rglob("*") if one.is_file()))
    if is_idx(path):
        return path, labels_beside(path)
    return (path,) if section.test_source is None else (path, folder / section.test_source)


@dataclass(frozen=True, slots=True, eq=False)
class _Chosen:
    """Rows with their targets, and which part of the split each is in."""

    targets: Targets
    split: Split
    notes: tuple[str, ...]


def _load_numbers(table: Table, section: DataSection) -> Dataset:
    chosen = _choose(table.targets, table.parts, section, table.where)
    rows = chosen.targets.rows
    features = table.features if len(rows) == len(table.features) else table.features[rows]
    _check_finite(features, table.feature_names, table, rows)
    check_far(
        features,
        chosen.split,
        table.feature_names,
        where=table.where,
        row_name=lambda row: table.row_name(int(rows[row])),
    )
    return _made(
        section, features, table.feature_names, chosen, picture=table.picture, notes=chosen.notes
    )


def _made(
    section: DataSection,
    features: NDArray[np.float32],
    feature_names: tuple[str, ...],
    chosen: _Chosen,
    **more: Any,  # noqa: ANN401 - as `make_dataset` takes them
) -> Dataset:
    targets = chosen.targets
    return make_dataset(
        Path(section.source).name.split(".")[0],
        features,
        targets.answers,
        classes=targets.classes,
        feature_names=feature_names,
        split=chosen.split,
        task=targets.task,
        **more,
    )


def _is_raw(path: Path, section: DataSection) -> bool:
    """Whether a source is a table whose columns are still to be made numbers of."""
    kind = kind_of(path)
    if path.is_dir() or is_idx(path):
        return False
    if kind not in (*SUFFIXES, _NPZ):
        raise InvalidDataError(
            f"'{section.source}' is no known source of rows; give one of {KNOWN_SOURCES}, as "
            "--data or as data.source of a project"
        )
    return kind != _NPZ or bool(section.texts)


def _read_numbers(path: Path, section: DataSection) -> Table:
    """Read a source whose features are numbers already."""
    names = section.targets
    section.check_numbers()
    if section.source == _DIGITS:
        table = read_digits()
    elif kind_of(path) == _NPZ:
        return read_npz(path, names)
    elif is_idx(path):
        table = read_idx(path, names[0])
    else:
        table = read_picture_rows(path, names[0], size=section.size, colours=section.colours)
    if tuple(table.targets) != names:
        raise missing_target(names[-1], table.targets, table.where, "target")
    return table


def _choose(
    columns: Mapping[str, Column],
    parts: NDArray[np.int64] | None,
    section: DataSection,
    where: str,
) -> _Chosen:
    """Find the targets of rows, and split those that have one."""
    targets = find_targets(columns, task=section.task, separator=section.separator, where=where)
    notes = list(targets.notes)
    if parts is not None:
        parts = parts[targets.rows]
        if targets.task == "classes":
            targets, parts, more = _in_both(targets, parts)
            notes += more
    labels = targets.answers if targets.task == "classes" else None
    if parts is not None:
        split = split_as_given(
            parts, labels, validation_share=section.validation_share, seed=section.seed, where=where
        )
    elif labels is not None:
        split = split_rows(
            labels,
            targets.classes,
            validation_share=section.validation_share,
            test_share=section.test_share,
            seed=section.seed,
            where=where,
        )
        notes += _rare(targets)
    else:
        split = split_at_random(
            len(targets.answers),
            validation_share=section.validation_share,
            test_share=section.test_share,
            seed=section.seed,
            where=where,
        )
    return _Chosen(targets, split, tuple(notes))


def _in_both(
    targets: Targets, parts: NDArray[np.int64]
) -> tuple[Targets, NDArray[np.int64], list[str]]:
    """Leave out classes that do not occur both where is learned and where is tested."""
    labels = targets.answers
    both = np.intersect1d(labels[parts == TRAIN], labels[parts == TEST])
    if len(both) == len(targets.classes) or len(both) < 2:
        return targets, parts, []
    kept = np.isin(labels, both)
    gone = sorted(set(targets.classes) - {targets.classes[label] for label in both})
    note = (
        f"{count(int((~kept).sum()), 'row')} left out, of classes that do not occur both in "
        f"training and in test rows: {_list(gone)}"
    )
    left = Targets(
        "classes",
        np.searchsorted(both, labels[kept]),
        tuple(targets.classes[label] for label in both),
        targets.rows[kept],
    )
    return left, parts[kept], [note]


def _rare(targets: Targets) -> list[str]:
    counts = np.bincount(targets.answers)
    rare = [
        f"{name} ({rows})"
        for name, rows in zip(targets.classes, counts, strict=True)
        if rows < FEWEST_ROWS
    ]
    if not rare:
        return []
    few = f"{len(rare)} of {len(targets.classes)} classes have fewer than {FEWEST_ROWS} rows"
    return [f"{few} and are not in every part of the split: {_list(rare)}"]


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _marks(targets: Targets) -> NDArray[np.float32]:
    """Return a 1 for each class or label of a row."""
    marks: NDArray[np.float32] = targets.answers
    if targets.task == "classes":
        marks = np.eye(len(targets.classes), dtype=np.float32)[targets.answers]
    return marks


def _check_finite(
    features: NDArray[np.float32],
    names: Sequence[str],
    table: Table | RawTable,
    rows: NDArray[np.int64] | None = None,
) -> None:
    wrong = ~np.isfinite(features)
    if wrong.any():
        column = int(np.argmax(wrong.any(axis=0)))
        name = names[column]
        places = np.flatnonzero(wrong[:, column])
        first = int(places[0] if rows is None else rows[places[0]])
        bad = int(wrong.sum())
        raise InvalidDataError(
            f"{table.where}: column '{name}' is {features[places[0], column]} as float32 in "
            f"{len(places)} of {len(wrong)} rows, first in {table.row_name(first)}; "
            f"{count(bad, 'value')} in all {'is' if bad == 1 else 'are'} not finite. Fill in what "
            "is missing, or remove these rows.",
            column=name,
        )
