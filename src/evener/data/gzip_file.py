"""Say that a file which gzip compressed was cut off or changed."""

import gzip
import zlib
from pathlib import Path
from typing import Final

from evener.errors import InvalidFileError

DAMAGED: Final = (gzip.BadGzipFile, EOFError, zlib.error)
"""What reading such a file raises, beside what reading any file does."""


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
