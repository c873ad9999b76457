"""Find the reader of the frames that a run is given, by the name of what they are in."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from math import prod
from pathlib import Path
from typing import Final

import msgspec

from evener.artifacts.encoding import Encoding
from evener.artifacts.tensor import Tensor
from evener.data import line_frames, picture_frames, table_rows, video_frames
from evener.data.json_rows import LINES, holds_rows
from evener.data.pixels import Pixels
from evener.data.source import Source, Sourced
from evener.data.table_frames import read_rows
from evener.data.table_rows import kind_of
from evener.errors import InputError
from evener.network.frames import load_frames

NPZ: Final = ".npz"
SUFFIXES: Final = (
    NPZ,
    *table_rows.SUFFIXES,
    *LINES,
    *picture_frames.SUFFIXES,
    *video_frames.SUFFIXES,
)


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How what a source holds becomes frames.

    Attributes:
        pixels: how a picture becomes numbers.
        columns: columns of a table that the network reads, in its order; None to find them.
        id_column: the column of a table that tells its rows apart in the answers.
        limit: most frames to read; None for all.
    """

    pixels: Pixels = Pixels()
    columns: tuple[str, ...] | None = None
    id_column: str | None = None
    limit: int | None = None


def open_source(
    path: Path,
    inputs: Sequence[Tensor],
    reading: Reading,
    *,
    features: Sequence[str] = (),
    encoding: Encoding | None = None,
) -> Source:
    """Open what frames are read from.

    Args:
        path: a folder of pictures, a file of one of `SUFFIXES` (tables of text and JSON lines also
            compressed, with ".gz" behind it), "camera:0", or "-" for JSON lines from standard
            input.
        inputs: what a frame holds.
        reading: how what is there becomes frames.
        features: names of the columns that the network learned from, where that is known.
        encoding: what the columns of a table became in training, where that is known.

    Raises:
        InputError: no such source, one that does not fit the network, or a choice that is not for
            it.
    """
    _check_choices(path, inputs, reading)
    source = _open(path, inputs, reading, features, encoding)
    if reading.limit is None:
        return source
    return replace(
        source,
        frames=islice(source.frames, reading.limit),
        count=None if source.count is None else min(source.count, reading.limit),
    )


def _check_choices(path: Path, inputs: Sequence[Tensor], reading: Reading) -> None:
    wants_columns = reading.columns is not None or reading.id_column is not None
    if wants_columns and not _is_table(path, inputs, reading):
        raise InputError(f"--columns and --id are for tables, and {path} is none; leave them out")
    if reading.pixels != Pixels() and not _is_video(path) and not _is_picture(path):
        raise InputError(
            f"--preset, --scale, --mean, --std and --fit are for pictures, and {path} holds none; "
            "leave them out"
        )


def _open(
    path: Path,
    inputs: Sequence[Tensor],
    reading: Reading,
    features: Sequence[str],
    encoding: Encoding | None,
) -> Source:
    if str(path).startswith(video_frames.CAMERA):
        return video_frames.read_camera(str(path), inputs, reading.pixels)
    if _is_video(path):
        return video_frames.read_video(path, inputs, reading.pixels)
    if _is_picture(path):
        return picture_frames.read_pictures(path, inputs, reading.pixels)
    if _is_table(path, inputs, reading):
        return read_rows(
            path,
            inputs,
            columns=reading.columns,
            features=features,
            id_column=reading.id_column,
            encoding=encoding,
        )
    if kind_of(path) in LINES or str(path) == line_frames.STDIN:
        return line_frames.read_lines(path, inputs)
    if path.suffix.lower() == NPZ:
        return _arrays(path, inputs)
    raise InputError(
        f"{path} is no source of frames: give a folder of pictures, camera:0, - or a file of "
        f"{', '.join(SUFFIXES)} (tables and lines also as .gz)"
    )


def _is_table(path: Path, inputs: Sequence[Tensor], reading: Reading) -> bool:
    kind = kind_of(path)
    if kind in LINES:
        frames = {} if reading.columns else {one.name: prod(one.shape) for one in inputs}
        return holds_rows(path, frames)
    return kind in table_rows.SUFFIXES


def _is_picture(path: Path) -> bool:
    return path.suffix.lower() in picture_frames.SUFFIXES or path.is_dir()


def _is_video(path: Path) -> bool:
    name = str(path)
    return path.suffix.lower() in video_frames.SUFFIXES or name.startswith(video_frames.CAMERA)


def _arrays(path: Path, inputs: Sequence[Tensor]) -> Source:
    frames = load_frames(path, inputs)
    named = (Sourced(frame, f"frame {number}") for number, frame in enumerate(frames))
    return Source(named, name=str(path), count=len(frames))
