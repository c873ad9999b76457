"""Make a folder of files so that it is there with all of them or not at all; the user's cache."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evener.artifacts.files import PARTIAL_PREFIX, sync_folder
from evener.errors import InvalidFileError


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Make a folder and its files in one step.

    Args:
        path: the folder; those above it are made if need be.

    Yields:
        A folder beside it to write into. It gets its name when the block ends, and is removed if
        the block raises.

    Raises:
        InvalidFileError: something of that name exists, or the folder cannot be written.
    """
    refuse_existing(path)
    partial = path.absolute().with_name(f"{PARTIAL_PREFIX}{secrets.token_hex(8)}")
    try:
        partial.mkdir(parents=True)
        yield partial
        sync_folder(partial)
        partial.rename(path)
        sync_folder(partial.parent)
    except OSError as error:
        raise InvalidFileError(
            f"cannot write the folder {path}: {error.strerror or error}; choose a place you may "
            "write to",
            path=str(path),
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def refuse_existing(path: Path) -> None:
    """Check that there is nothing that a new folder would replace.

    Raises:
        InvalidFileError: something of that name exists.
    """
    if path.exists() or path.is_symlink():
        raise InvalidFileError(
            f"{path} exists already, and nothing is overwritten: name a folder that does not exist",
            path=str(path),
        )


def check_place(folder: Path) -> None:
    """Check that files can be written into a folder, which may have to be made first.

    Raises:
        InvalidFileError: it, or what is there of its path, is no folder, or nothing may be written.
    """
    path = folder.absolute()
    there = next(up for up in (path, *path.parents) if os.path.lexists(up))
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise InvalidFileError(
            f"cannot write into {folder}: {there} is no folder that you may write to; choose "
            "another",
            path=str(folder),
        )


def cache_folder() -> Path:
    """Return `$XDG_CACHE_HOME/evener`; below `~/.cache` where that is not an absolute path."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "evener"
