"""Write and read artifacts so that a file is whole, true to its hash, or not there at all.

A file is JSON: `kind`, `schema`, `made_from` (sha256 of each input), `content`, `sha256` over those
four, and `made` (when, how long, by which version), which stands outside the hash so that the same
inputs give the same hash on any day.
"""

import hashlib
import io
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Final, Generic, Literal, Protocol, TypeVar

import msgspec

from evener.errors import InvalidFileError


class Artifact(Protocol):
    """A frozen record that can be written to a file of its own.

    Attributes:
        kind: what it is, in one word; names its file in a project.
        schema: number of its form; another number cannot be read.
    """

    kind: ClassVar[str]
    schema: ClassVar[int]


ArtifactT = TypeVar("ArtifactT", bound=Artifact)
PARTIAL_PREFIX: Final = ".partial-"


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """When and how an artifact came to be; no part of its hash.

    Attributes:
        at: UTC time in ISO 8601.
        took_s: how long making it took, in seconds.
        by: version of Evener.
    """

    at: str
    took_s: float
    by: str


class Kept(msgspec.Struct, Generic[ArtifactT], frozen=True, kw_only=True):
    """An artifact as read from its file.

    Attributes:
        value: the artifact.
        sha256: hash of its content and of what it was made from.
        made_from: sha256 of each input, by name.
        made: when and how.
    """

    value: ArtifactT
    sha256: str
    made_from: dict[str, str]
    made: Made


def encode(value: object, *, order: Literal["sorted"] | None = None) -> bytes:
    r"""Return anything msgspec can encode as JSON.

    A file's name need not be UTF-8, and JSON is: what is not becomes an escape.

    Args:
        value: what to encode.
        order: whether keys are sorted.

    Example:
        >>> encode({"name": "caf\udce9.onnx"}) == encode({"name": r"caf\udce9.onnx"})
        True
    """
    try:
        return msgspec.json.encode(value, order=order)
    except UnicodeEncodeError:
        return msgspec.json.encode(_escaped(msgspec.to_builtins(value)), order=order)


def digest(value: object) -> str:
    """Return the sha256 of anything msgspec can encode, keys sorted.

    Example:
        >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
        True
    """
    return hashlib.sha256(encode(value, order="sorted")).hexdigest()


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def save(
    path: Path, value: Artifact, *, made_from: Mapping[str, str] | None = None, took_s: float = 0.0
) -> str:
    """Write an artifact to its file and return its sha256.

    Args:
        path: the file; its folder is made if need be.
        value: the artifact.
        made_from: sha256 of each input, by name.
        took_s: how long making it took, in seconds.

    Raises:
        InvalidFileError: the file cannot be written; nothing is left behind.
    """
    kept = in_memory(value, made_from=made_from or {}, took_s=took_s)
    write_kept(path, kept)
    return kept.sha256


def write_kept(path: Path, kept: Kept[ArtifactT]) -> None:
    """Write an artifact to its file as it is in memory, so that `load` returns just that.

    Args:
        path: the file; its folder is made if need be.
        kept: the artifact.

    Raises:
        InvalidFileError: the file cannot be written; nothing is left behind.
    """
    hashed = _hashed(kept.value, kept.made_from, msgspec.to_builtins(kept.value))
    body = encode(hashed | {"sha256": kept.sha256, "made": kept.made}, order="sorted")
    write_whole(path, msgspec.json.format(body, indent=1) + b"\n")


def in_memory(
    value: ArtifactT, *, made_from: Mapping[str, str], took_s: float = 0.0
) -> Kept[ArtifactT]:
    """Return an artifact as `load` would, had it been written.

    Args:
        value: the artifact.
        made_from: sha256 of each input, by name.
        took_s: how long making it took, in seconds.
    """
    from evener import __version__

    return Kept(
        value=value,
        sha256=digest(_hashed(value, made_from, msgspec.to_builtins(value))),
        made_from=dict(made_from),
        made=Made(
            at=datetime.now(UTC).isoformat(timespec="seconds"), took_s=took_s, by=__version__
        ),
    )


def load(path: Path, of: type[ArtifactT]) -> Kept[ArtifactT]:
    """Read an artifact and check it against its hash.

    Args:
        path: the file.
        of: the record it must hold.

    Raises:
        InvalidFileError: missing, not JSON, another kind, a newer schema, an unknown or wrong
            field, or content that does not match its hash.
    """
    raw = _decode(path)
    if raw.get("kind") != of.kind:
        given = raw.get("kind") or "none"
        raise InvalidFileError(
            f"{path} is of the kind {given}, but {of.kind} is wanted; give one made by Evener",
            path=str(path),
        )
    if raw.get("schema") != of.schema:
        given = f"has schema {raw['schema']}" if "schema" in raw else "names no schema"
        raise InvalidFileError(
            f"{path} {given} of {of.kind}, this version reads {of.schema}; "
            "make the file again with this version",
            path=str(path),
        )
    try:
        value = msgspec.convert(raw["content"], of)
        made = msgspec.convert(raw["made"], Made)
        made_from = msgspec.convert(raw["made_from"], dict[str, str])
    except (KeyError, msgspec.ValidationError) as error:
        raise InvalidFileError(
            f"{path} is no {of.kind} this version can read: {error}; make the file again",
            path=str(path),
        ) from error
    # The content as it stands in the file: a whole number in a field of floats is read as a float,
    # and would not be written as it was.
    sha256 = digest(_hashed(value, made_from, raw["content"]))
    if sha256 != raw.get("sha256"):
        raise InvalidFileError(
            f"{path} does not match its own sha256: it was changed or damaged after it was made; "
            "make the file again",
            path=str(path),
        )
    return Kept(value=value, sha256=sha256, made_from=made_from, made=made)


def peek(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, whatever its kind, unchecked.

    Raises:
        InvalidFileError: missing or not a JSON object.
    """
    return _decode(path)


def regular_target(path: Path) -> Path:
    """Return the file that writing to a path would write: what it links to, or itself.

    Raises:
        InvalidFileError: it is a folder, a device or a pipe, which no file may replace, or a link
            that leads nowhere.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return Path(os.path.realpath(path))  # it is made, or the folder says why it cannot be
    except OSError as error:
        raise _not_writable(path, error.strerror or str(error)) from error
    if stat.S_ISDIR(mode):
        raise InvalidFileError(f"cannot write {path}: it is a folder; name a file", path=str(path))
    if not stat.S_ISREG(mode):
        raise InvalidFileError(
            f"cannot write {path}: it is a device or a pipe, and no regular file; name a file",
            path=str(path),
        )
    return Path(os.path.realpath(path))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that any reader, at any moment, sees all of it or none.

    A link stays, and what it leads to is written.

    Raises:
        InvalidFileError: the folder or file cannot be written, or it is no regular file; nothing
            is left behind.
    """
    with whole_file(path) as file:
        file.write(content)


def write_first(path: Path, content: bytes) -> None:
    """Write a file unless it is there: of several processes one's stays, and that whole.

    It is the first one's, unless two write at the same moment.

    Raises:
        InvalidFileError: as `write_whole`.
    """
    if not path.exists():
        write_whole(path, content)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file to be written bit by bit that any reader sees whole or not at all.

    Args:
        path: the file; its folder is made if need be, and a link stays.

    Yields:
        A new file beside it, which takes its name when the block ends, and is removed if the block
        raises.

    Raises:
        InvalidFileError: the folder or file cannot be written, or it is no regular file; raised by
            writing to what is yielded too.
    """
    target = regular_target(path)
    partial = target.with_name(f"{PARTIAL_PREFIX}{secrets.token_hex(8)}")
    try:
        with _writable(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            raw = _Written(partial, path)
        with io.BufferedWriter(raw) as file:
            yield file
            file.flush()
            with _writable(path):
                os.fsync(file.fileno())
        with _writable(path):
            partial.replace(target)
            sync_folder(target.parent)
    except BaseException:
        with suppress(OSError):  # the folder itself may be missing or no folder
            partial.unlink(missing_ok=True)
        raise


class _Written(io.FileIO):
    """A new file whose errors of writing are told of the file that it is for."""

    def __init__(self, partial: Path, path: Path) -> None:
        super().__init__(partial, "xb")
        self._path = path

    def write(self, content: Any, /) -> int:  # noqa: ANN401 - any buffer, as its base
        with _writable(self._path):
            return super().write(content) or 0


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _not_writable(path, error.strerror or str(error)) from error


def sweep(folder: Path) -> None:
    """Remove what a killed process left half written in a folder and below it."""
    for partial in list(folder.rglob(f"{PARTIAL_PREFIX}*")):
        if partial.is_dir():
            shutil.rmtree(partial)
        else:
            partial.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _hashed(value: Artifact, made_from: Mapping[str, str], content: object) -> dict[str, object]:
    return {
        "kind": value.kind,
        "schema": value.schema,
        "made_from": dict(made_from),
        "content": content,
    }


def _escaped(value: object) -> object:
    match value:
        case str():
            return value.encode(errors="backslashreplace").decode()
        case dict():
            return {_escaped(key): _escaped(one) for key, one in value.items()}
        case list() | tuple():
            return [_escaped(one) for one in value]
    return value


def _not_writable(path: Path, why: str) -> InvalidFileError:
    return InvalidFileError(
        f"cannot write {path}: {why}; choose a place you may write to", path=str(path)
    )


def _decode(path: Path) -> dict[str, Any]:
    try:
        raw = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise InvalidFileError(
            f"cannot read {path}: {error.strerror or error}; check the path", path=str(path)
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidFileError(
            f"{path} is not JSON ({error}); give a file made by Evener", path=str(path)
        ) from error
    if not isinstance(raw, dict):
        raise InvalidFileError(
            f"{path} holds no JSON object; give a file made by Evener", path=str(path)
        )
    return raw
