"""Read rows of numbers from a text file: one row a line, numbers apart by blanks or commas."""

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evener.errors import InputError, InvalidFileError


def read_rows(path: Path) -> NDArray[np.float32]:
    r"""Return the rows of a text file, (rows, numbers); empty lines are left out.

    Args:
        path: of the file.

    Raises:
        InvalidFileError: missing, unreadable, without a row, with something that is no number, or
            with rows of unequal length.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "rows.txt").write_text("1 2\n3,4\n")
        ...     read_rows(Path(folder) / "rows.txt").tolist()
        [[1.0, 2.0], [3.0, 4.0]]
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise InvalidFileError(
            f"cannot read {path}: {why}; check the path", path=str(path)
        ) from error
    rows: list[NDArray[np.float32]] = []
    for number, line in enumerate(lines, 1):
        words = line.replace(",", " ").split()
        if not words:
            continue
        try:
            rows.append(np.array(words, np.float32))
        except ValueError as error:
            raise InvalidFileError(
                f"{path}, line {number}: {error}; give numbers apart by blanks or commas",
                path=str(path),
            ) from error
        if len(words) != len(rows[0]):
            raise InvalidFileError(
                f"{path}, line {number}: {len(words)} numbers, but the first row has "
                f"{len(rows[0])}; give every row as many",
                path=str(path),
            )
    if not rows:
        raise InvalidFileError(f"{path} holds no row of numbers; check the path", path=str(path))
    return np.stack(rows)


def as_rows(given: ArrayLike | Path | str) -> NDArray[np.float32]:
    """Return rows as a table in single precision: those of a text file, or of an array.

    Args:
        given: the path of a file for `read_rows`, or anything numpy makes a table of.

    Raises:
        InvalidFileError: the file cannot be read.
        InputError: it is no table of numbers.
    """
    if isinstance(given, Path | str):
        return read_rows(Path(given))
    try:
        table = np.asarray(given, np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"no table of numbers: {error}; give rows of equal length") from error
    if table.ndim == 1:
        table = table[:, np.newaxis]
    if table.ndim != 2:
        raise InputError(
            f"an array of shape {list(table.shape)}: give a table, a row for each example"
        )
    return table
