"""Find out what the target of a file is, before there is a project that says more of it."""

from collections.abc import Mapping
from pathlib import Path

from evener.artifacts.dataset import Task
from evener.data.cells import Column
from evener.data.csv_file import open_table
from evener.data.npz_file import read_npz
from evener.data.targets import find_targets
from evener.errors import InvalidDataError


def task_of(path: Path, target: str) -> Task | None:
    """Return what is predicted where a target is, as a build finds it out by itself.

    Args:
        path: a CSV table, or an NPZ file by its suffix ".npz".
        target: a column or array that it has.

    Returns:
        None of a target that nothing can be learned from, such as one without rows; what is wrong
        with it the build says, of those rows that a project reads.

    Raises:
        InvalidFileError: the file cannot be read.
        InvalidDataError: an NPZ file has no features.
    """
    columns: Mapping[str, Column]
    if path.suffix.lower() == ".npz":
        columns = read_npz(path, (target,)).targets
    else:
        with open_table(path) as (header, reader):
            place = header.index(target)
            columns = {target: [row[place] for row in reader if len(row) == len(header)]}
    try:
        return find_targets(columns, task=None, separator=None, where=str(path)).task
    except InvalidDataError:
        return None
