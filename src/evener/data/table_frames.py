"""Make frames from the rows of a table, columns by name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan, prod
from pathlib import Path
from typing import Any

import numpy as np

from evener.artifacts.encoding import Encoding
from evener.artifacts.tensor import Tensor
from evener.data.encoded_frames import encoded_rows
from evener.data.source import Source, Sourced
from evener.data.table import missing_column
from evener.data.table_rows import count_rows, open_rows
from evener.errors import InvalidDataError
from evener.network.frames import Array
from evener.units import count


def read_rows(
    path: Path,
    inputs: Sequence[Tensor],
    *,
    columns: Sequence[str] | None = None,
    features: Sequence[str] = (),
    id_column: str | None = None,
    encoding: Encoding | None = None,
) -> Source:
    """Take each row of a table as a frame.

    Where the network has one input, its numbers are the named columns in their order: those of
    `columns`, else of `features`, else the one of the input's name, else all but the one of ids.
    Of several inputs each is one number, from the column that `columns` has in its place, else from
    the one of its name. "colour=red" stands for 1 where the column "colour" says "red", else 0.

    Args:
        path: the table, CSV, Parquet or JSON lines.
        inputs: what a frame holds.
        columns: names of columns.
        features: names of the columns that the network learned from, where that is known.
        id_column: what tells the rows apart in the answers, if a column does.
        encoding: what the network's columns became in training: they are taken by it, missing
            values, dates and texts too, unless `columns` names others.

    Raises:
        InvalidFileError: missing, or no table.
        MissingExtraError: it is Parquet, and PyArrow is not installed.

    Reading the frames raises InvalidDataError where a column is missing, there are not as many as
    the input has numbers, or a value is missing or cannot be taken.
    """
    if encoding is not None and columns is None:
        frames = encoded_rows(path, inputs, encoding, id_column=id_column)
    else:
        frames = _frames(path, inputs, columns, features, id_column)
    return Source(frames, name=str(path), count=count_rows(path))


def _frames(
    path: Path,
    inputs: Sequence[Tensor],
    columns: Sequence[str] | None,
    features: Sequence[str],
    id_column: str | None,
) -> Iterator[Sourced]:
    with open_rows(path) as table:
        header = {name: place for place, name in enumerate(table.header)}
        if id_column is not None and id_column not in header:
            raise missing_column(id_column, header, str(path), "--id names it")
        cells_of = _lay_out(path, header, inputs, columns, features, id_column)
        places_of = [_places(cells) for cells in cells_of]
        for where, row in table.rows:
            place = _Place(path, where)
            frame = tuple(
                _array(_read(row, cells, places, place), cells, tensor, place)
                for cells, places, tensor in zip(cells_of, places_of, inputs, strict=True)
            )
            id_ = None if id_column is None else str(row[header[id_column]])
            yield Sourced(frame, where=where, id=id_)


@dataclass(frozen=True, slots=True)
class _Place:
    """A row of a file."""

    path: Path
    where: str

    def refuse(self, column: str, what: str) -> InvalidDataError:
        return InvalidDataError(
            f"{self.where} of {self.path}: column '{column}' {what}", column=column
        )


@dataclass(frozen=True, slots=True)
class _Number:
    """A column whose value is a number of the frame."""

    column: str
    place: int

    def read(self, row: Sequence[Any], place: _Place) -> float:
        value = row[self.place]
        if value is None or (isinstance(value, str) and not value.strip()):
            raise place.refuse(self.column, "has no value; fill it in or remove the row")
        try:
            number = float(value)
        except (TypeError, ValueError) as error:
            raise place.refuse(
                self.column, f"holds {value!r}, which is no number; write one"
            ) from error
        if isnan(number):
            raise place.refuse(self.column, "holds NaN; replace it by a number")
        return number


@dataclass(frozen=True, slots=True)
class _Category:
    """A column that says a word, of which one makes the number a 1."""

    column: str
    place: int
    word: str
    words: tuple[str, ...]

    def read(self, row: Sequence[Any], place: _Place) -> float:
        value = "" if row[self.place] is None else str(row[self.place]).strip()
        if value not in self.words:
            raise place.refuse(
                self.column,
                f"says '{value}', and the network knows {', '.join(self.words)}; write one of them",
            )
        return float(value == self.word)


_Cell = _Number | _Category


def _places(cells: Sequence[_Cell]) -> Sequence[int]:
    """Return the places of columns in a row, if all hold numbers; else none."""
    found = [cell.place for cell in cells if isinstance(cell, _Number)]
    return found if len(found) == len(cells) else ()


def _read(
    row: Sequence[Any], cells: Sequence[_Cell], places: Sequence[int], place: _Place
) -> list[float]:
    """Return the numbers of one input; see `_places`."""
    if places:
        try:
            numbers = [float(row[index]) for index in places]
        except (TypeError, ValueError):
            numbers = [nan]
        if not isnan(sum(numbers)):
            return numbers
    # Slower, and with words about what is wrong, if something is.
    return [cell.read(row, place) for cell in cells]


def _lay_out(
    path: Path,
    header: Mapping[str, int],
    inputs: Sequence[Tensor],
    columns: Sequence[str] | None,
    features: Sequence[str],
    id_column: str | None,
) -> list[list[_Cell]]:
    """Say which column each number of each input comes from."""
    if len(inputs) > 1:
        for tensor in inputs:
            if prod(tensor.shape) != 1:
                raise InvalidDataError(
                    f"the input '{tensor.name}' takes {prod(tensor.shape)} numbers, and each of "
                    f"{len(inputs)} inputs is read from one column; give the frames as an npz file",
                    column=tensor.name,
                )
        named = [tensor.name for tensor in inputs] if columns is None else list(columns)
        _check_as_many(path, named, len(inputs), "the network")
        return [[cell] for cell in _cells(path, header, named)]
    (tensor,) = inputs
    width = prod(tensor.shape)
    if columns is not None:
        named = list(columns)
    elif features:
        named = list(features)
    elif width == 1 and tensor.name in header:
        named = [tensor.name]
    else:
        named = [name for name in header if name != id_column]
    _check_as_many(path, named, width, f"'{tensor.name}'")
    return [_cells(path, header, named)]


def _check_as_many(path: Path, named: Sequence[str], width: int, what: str) -> None:
    if len(named) != width:
        raise InvalidDataError(
            f"{path} gives {count(len(named), 'column')} and {what} takes "
            f"{count(width, 'number')}; name the columns that it reads, in its order: "
            "--columns A,B"
        )


def _cells(path: Path, header: Mapping[str, int], named: Sequence[str]) -> list[_Cell]:
    words: dict[str, list[str]] = {}
    for name in named:
        column, equals, word = name.partition("=")
        if name not in header and equals:
            words.setdefault(column, []).append(word)
    cells: list[_Cell] = []
    for name in named:
        column, _, word = name.partition("=")
        if name in header:
            cells.append(_Number(name, header[name]))
        elif column in header and column in words:
            cells.append(_Category(column, header[column], word, tuple(words[column])))
        else:
            named_column = column if column in words else name
            raise missing_column(named_column, header, str(path), "the network reads it")
    return cells


def _array(
    numbers: Sequence[float], cells: Sequence[_Cell], tensor: Tensor, place: _Place
) -> Array:
    given = np.array(numbers, np.float64)
    dtype = np.dtype(tensor.dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # what does not fit is refused below
        array = given.astype(dtype)
        fits = np.isfinite(array) if dtype.kind == "f" else array.astype(np.float64) == given
    if not fits.all():
        wrong = int(np.argmin(fits))
        raise place.refuse(
            cells[wrong].column,
            f"holds {numbers[wrong]:g}, which is no {tensor.dtype}; "
            + ("write a smaller number" if dtype.kind == "f" else "write a whole number in range"),
        )
    return array.reshape(tensor.shape)
