"""Load the dataset that a project names: read, check, encode, split."""

from pathlib import Path
from typing import Final

import numpy as np

from evener.artifacts.project import DataSection
from evener.data.csv_file import read_csv
from evener.data.dataset import Dataset, make_dataset
from evener.data.digits import read_digits
from evener.data.labels import encode_labels
from evener.data.npz_file import read_npz
from evener.data.split import split_rows
from evener.data.table import Table, missing_target
from evener.errors import InvalidDataError
from evener.units import count

KNOWN_SOURCES: Final = "'digits', a .csv or .tsv file, or an .npz file"


def load_dataset(section: DataSection, folder: Path) -> Dataset:
    """Load, check and split the rows of a project.

    Args:
        section: what the project says about its data.
        folder: the project, which file names are relative to.

    Raises:
        InvalidFileError: the file cannot be read.
        InvalidDataError: it can, but nothing can be learned from it; the text says why.
        MissingExtraError: a built-in set needs scikit-learn.

    Example:
        >>> dataset = load_dataset(DataSection(source="digits"), Path())
        >>> dataset.features.shape, dataset.row_counts["test"]
        ((1797, 64), 359)
    """
    table = _read(section, folder)
    _check_finite(table)
    labels, classes = encode_labels(table.target, target=table.target_name, where=table.where)
    split = split_rows(
        labels,
        classes,
        validation_share=section.validation_share,
        test_share=section.test_share,
        seed=section.seed,
        where=table.where,
    )
    return make_dataset(
        Path(section.source).stem,
        table.features,
        labels,
        classes=classes,
        feature_names=table.feature_names,
        split=split,
    )


def _read(section: DataSection, folder: Path) -> Table:
    if section.source == "digits":
        table = read_digits()
        if section.target != table.target_name:
            raise missing_target(section.target, [table.target_name], table.where, "target")
        return table
    path = folder / section.source
    match path.suffix.lower():
        case ".csv" | ".tsv":
            return read_csv(path, section.target)
        case ".npz":
            return read_npz(path, section.target)
    raise InvalidDataError(
        f"'{section.source}' is no known source of rows; give one of {KNOWN_SOURCES}, as --data or "
        "as data.source of a project"
    )


def _check_finite(table: Table) -> None:
    wrong = ~np.isfinite(table.features)
    if wrong.any():
        column = int(np.argmax(wrong.any(axis=0)))
        name = table.feature_names[column]
        rows = np.flatnonzero(wrong[:, column])
        bad = int(wrong.sum())
        raise InvalidDataError(
            f"{table.where}: column '{name}' is {table.features[rows[0], column]} as float32 in "
            f"{len(rows)} of {len(wrong)} rows, first in {table.row_name(int(rows[0]))}; "
            f"{count(bad, 'value')} in all {'is' if bad == 1 else 'are'} not finite. Fill in what "
            "is missing, or remove these rows.",
            column=name,
        )
