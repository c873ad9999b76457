"""Say why a file of rows cannot be read."""

import gzip
import zlib
from pathlib import Path
from typing import Final

from evener.errors import InvalidFileError

DAMAGED: Final = (gzip.BadGzipFile, EOFError, zlib.error)
"""What reading a file raises that gzip compressed and that was cut off or changed since."""


def damaged(path: Path, error: Exception) -> InvalidFileError:
    """Return the error of a file that was compressed and cannot be read to its end.

    Args:
        path: the file.
        error: one of `DAMAGED`.

    Example:
        >>> print(damaged(Path("rows.csv.gz"), EOFError("it ended early")))
        rows.csv.gz is damaged: it ended early; compress it again, or fetch it again
    """
    return InvalidFileError(
        f"{path} is damaged: {error}; compress it again, or fetch it again", path=str(path)
    )


def unreadable(path: Path, error: OSError) -> InvalidFileError:
    """Return the error of a file of rows that is not there, or that the system does not give.

    Args:
        path: the file.
        error: the system's.
    """
    return InvalidFileError(
        f"cannot read {path}: {error.strerror or error}; check the path (data.source of a "
        "project is relative to it)",
        path=str(path),
    )
