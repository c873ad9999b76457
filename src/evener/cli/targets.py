"""Refuse a file to be written before the work begins, if writing it would fail or destroy."""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

from evener.artifacts.files import peek, regular_target
from evener.cli.options import read_path
from evener.errors import InputError, InvalidFileError


def artifact(kind: str, *others: str) -> Callable[[str], Path]:
    """Make the reader of a file that an artifact will be written to.

    The reader raises InvalidFileError where the file cannot be written, or is there already,
    with something in it that is no artifact of this kind.

    Args:
        kind: of the artifact.
        others: further kinds that may be overwritten.
    """

    def read(text: str) -> Path:
        path = _writable(text)
        if _holds_something(path) and not _is_artifact(path, (kind, *others)):
            raise InvalidFileError(
                f"{path} is already there, holds no {kind} made by Evener, and is not overwritten; "
                "choose another name, or remove it",
                path=text,
            )
        return path

    return read


def read_npz(text: str) -> Path:
    """Read an NPZ file to be written.

    Raises:
        InvalidFileError: it cannot be written, or is there already and is no NPZ file.
        InputError: its name does not end in .npz.
    """
    path = _writable(text)
    if path.suffix != ".npz":
        raise InputError(f"'{text}' does not end in .npz: write answers.npz")
    if _holds_something(path) and not zipfile.is_zipfile(path):
        raise InvalidFileError(
            f"{path} is already there, is no npz file, and is not overwritten; choose another "
            "name, or remove it",
            path=text,
        )
    return path


def spare(target: Path | None, *inputs: object) -> None:
    """Refuse a target that is a file which the command reads.

    Args:
        target: the file to be written, if any.
        inputs: names and paths that were given; whatever else is given reads no file.

    Raises:
        InvalidFileError: target and input are one file, by whatever name.
    """
    for one in inputs:
        if target is not None and isinstance(one, str | Path) and _same(target, one):
            raise InvalidFileError(
                f"cannot write {target}: it is {one}, which this command reads; choose another "
                "name",
                path=str(target),
            )


def _writable(text: str) -> Path:
    path = read_path(text)
    target = regular_target(path)
    # What is written is a new file beside it, which then takes its name: the folder must allow it.
    there = next(up for up in target.parents if os.path.lexists(up))
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise InvalidFileError(
            f"cannot write {path}: {there} is no place you may write to; choose another", path=text
        )
    if target.exists() and not os.access(target, os.W_OK):
        raise InvalidFileError(
            f"cannot write {path}: you may not write to it; choose another", path=text
        )
    return path


def _holds_something(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _is_artifact(path: Path, kinds: tuple[str, ...]) -> bool:
    try:
        return peek(path).get("kind") in kinds
    except InvalidFileError:
        return False


def _same(target: Path, given: str | Path) -> bool:
    try:
        return target.samefile(given)
    except (OSError, ValueError):
        return False  # one of them is not there: the name of a built-in network, or a new file
