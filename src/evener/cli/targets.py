"""Refuse a file to be written before the work begins, if writing it would fail or destroy."""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from evener.artifacts.files import peek, regular_target
from evener.artifacts.folder import refuse_existing
from evener.artifacts.timeline import HEAD
from evener.cli.values import read_path
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


def read_answers(text: str) -> Path:
    """Read the name of a file that answers are to be written to.

    Raises:
        InvalidFileError: it cannot be written, or is there already and holds no answers.
        InputError: its name ends in nothing that answers are written as.
    """
    path = _writable(text)
    kind = path.suffix.lower()
    if kind not in _ANSWERS:
        raise InputError(
            f"'{text}' does not end in .npz, .jsonl, .csv or .parquet: write answers.npz"
        )
    if _holds_something(path) and not _ANSWERS[kind](path):
        raise InvalidFileError(
            f"{path} is already there, holds no answers as {kind}, and is not overwritten; choose "
            "another name, or remove it",
            path=text,
        )
    return path


def read_timeline(text: str) -> Path:
    """Read the name of a file that a timeline is to be written to.

    Raises:
        InvalidFileError: it cannot be written, or is there already and holds no timeline.
    """
    return _unlike_others(text, "timeline", _begins_with(HEAD))


def read_svg(text: str) -> Path:
    """Read the name of a file that a drawing is to be written to.

    Raises:
        InvalidFileError: it cannot be written, or is there already and holds no drawing.
    """
    return _unlike_others(text, "SVG drawing", _begins_with(b"<svg"))


def read_network(text: str) -> Path:
    """Read the name of a file that a network is to be written to.

    Raises:
        InvalidFileError: it cannot be written, or is there already and holds no network of ours.
    """
    return _unlike_others(text, "ONNX network", _is_own_network)


def read_network_or_page(text: str) -> Path:
    """Read the name of a file that a network is to be written to, or a page if it ends in .html.

    Raises:
        InvalidFileError: it cannot be written, or is there already and holds no such thing of ours.
    """
    if Path(text).suffix.lower() == ".html":
        return _unlike_others(text, "page", _begins_with(b"<!doctype html>"))
    return read_network(text)


def read_rows(text: str) -> Path:
    """Read the name of a file that pictures are to be written to as rows; none may be there yet.

    Raises:
        InvalidFileError: it, or the file of labels beside it, is there already, or cannot be
            written.
        InputError: its name ends in nothing that rows are written as.
    """
    from evener.data.convert import targets_of

    path = _writable(text)
    for one in targets_of(path):
        if os.path.lexists(one):
            raise InvalidFileError(
                f"{one} is already there, and is not overwritten; choose another name, or remove "
                "it",
                path=str(one),
            )
    return path


def read_new_folder(text: str) -> Path:
    """Read the name of a folder that is to be made, in one that is there.

    Raises:
        InvalidFileError: something of that name exists, or it cannot be made there.
    """
    path = read_path(text)
    refuse_existing(path)
    _check_folder(path, path.absolute().parent)
    return path


def _unlike_others(text: str, what: str, is_ours: Callable[[Path], bool]) -> Path:
    path = _writable(text)
    if _holds_something(path) and not is_ours(path):
        raise InvalidFileError(
            f"{path} is already there, holds no {what} made by Evener, and is not overwritten; "
            "choose another name, or remove it",
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
    _check_folder(path, target.parent)
    if target.exists() and not os.access(target, os.W_OK):
        raise InvalidFileError(
            f"cannot write {path}: you may not write to it; choose another", path=text
        )
    return path


def _check_folder(path: Path, folder: Path) -> None:
    """Refuse a folder that is not there: its name may be a slip, as for most tools that write."""
    there = next(up for up in (folder, *folder.parents) if os.path.lexists(up))
    if there.is_dir() and there != folder:
        raise InvalidFileError(
            f"cannot write {path}: there is no folder {folder}; make it first, or choose another",
            path=str(path),
        )
    # What is written is something new there, which then takes its name: the folder must allow it.
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise InvalidFileError(
            f"cannot write {path}: {there} is no place you may write to; choose another",
            path=str(path),
        )


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


def _is_own_network(path: Path) -> bool:
    """Whether a file begins as an ONNX network does whose producer (field 2) is Evener."""
    with path.open("rb") as file:
        return b"\x12\x06evener" in file.read(16)


def _begins_with(*starts: bytes) -> Callable[[Path], bool]:
    def begins(path: Path) -> bool:
        with path.open("rb") as file:
            return file.read(max(map(len, starts))).startswith(starts)

    return begins


# What tells answers from what somebody else may have written.
_ANSWERS: Final[dict[str, Callable[[Path], bool]]] = {
    ".npz": zipfile.is_zipfile,
    ".jsonl": _begins_with(b'{"frame":'),
    ".csv": _begins_with(b"frame,"),
    ".parquet": _begins_with(b"PAR1"),
}
