"""Read arrays from an NPZ file: features under "x" or "features", the target under its name.

With Keras' names, `x_train`, `y_train`, `x_test` and `y_test`, the test split is kept.
"""

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evener.data.cells import Column
from evener.data.pictures import as_features
from evener.data.raw import RawTable
from evener.data.split import TEST, TRAIN
from evener.data.table import Table, missing_target
from evener.errors import InvalidDataError, InvalidFileError

FEATURE_NAMES: Final = ("features", "x", "X")
_KERAS: Final = ("x_train", "y_train", "x_test", "y_test")
_NUMBERS: Final = "biuf"  # numpy's kinds: bool, signed, unsigned, float


def read_npz(path: Path, targets: Sequence[str]) -> Table:
    """Read features (rows, ...), flattened to (rows, features), and targets (rows,).

    Pictures are laid out channel by channel, bytes of them divided by 255: see
    `evener.data.pictures`. A target of two dimensions, (rows, outputs), is as many targets.

    Args:
        path: the file; pickled objects in it are refused.
        targets: names of the arrays to predict.

    Raises:
        InvalidFileError: missing, not an NPZ file, or with pickled objects.
        InvalidDataError: an array is missing, of the wrong shape or type, or empty.
    """
    arrays = _read_arrays(path)
    parts = None
    if set(_KERAS) <= set(arrays) and len(targets) == 1 and targets[0] not in arrays:
        train, test = len(arrays["x_train"]), len(arrays["x_test"])
        parts = np.where(np.arange(train + test) < train, TRAIN, TEST)
        arrays = {
            "x": np.concatenate([arrays["x_train"], arrays["x_test"]]),
            targets[0]: np.concatenate([arrays["y_train"], arrays["y_test"]]).squeeze(),
        }
    for target in targets:
        if target not in arrays:
            raise missing_target(target, arrays, str(path), "array")
    named = [name for name in FEATURE_NAMES if name in arrays and name not in targets]
    if not named:
        raise InvalidDataError(
            f"{path} has no array of features: name one {' or '.join(FEATURE_NAMES)}; arrays: "
            f"{', '.join(arrays)}"
        )
    name = named[0]
    _check_features(path, name, arrays[name])
    features, picture = as_features(arrays[name])
    return Table(
        features=features,
        feature_names=tuple(f"{name}{index}" for index in range(features.shape[1])),
        targets=_targets(path, name, arrays, targets),
        where=str(path),
        row_name=lambda row: f"row {row}",
        picture=picture,
        parts=parts,
    )


def read_npz_columns(path: Path) -> RawTable:
    """Read arrays of one dimension as the columns of a table, such as texts and their classes.

    Raises:
        InvalidFileError: missing, not an NPZ file, or with pickled objects.
        InvalidDataError: no such arrays, or of different lengths.
    """
    arrays = {name: array for name, array in _read_arrays(path).items() if array.ndim == 1}
    lengths = {len(array) for array in arrays.values()}
    if len(lengths) != 1:
        shown = ", ".join(f"{name} {len(array)}" for name, array in arrays.items()) or "none"
        raise InvalidDataError(
            f"{path}: columns are arrays of one dimension and one length; there are: {shown}"
        )
    return RawTable(
        columns={name: _column(array) for name, array in arrays.items()},
        where=str(path),
        row_name=lambda row: f"row {row}",
    )


def _column(array: NDArray[Any]) -> Column:
    if array.dtype.kind in _NUMBERS:
        return array.astype(np.float64)
    return [str(value) for value in array.tolist()]


def _targets(
    path: Path, name: str, arrays: Mapping[str, NDArray[Any]], targets: Sequence[str]
) -> dict[str, Column]:
    found: dict[str, Column] = {}
    for target in targets:
        array = arrays[target]
        _check_target(path, name, len(arrays[name]), target, array)
        if array.ndim == 1:
            found[target] = _column(array)
        else:
            found |= {f"{target}{index}": _column(one) for index, one in enumerate(array.T)}
    return found


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            if isinstance(stored, np.ndarray):
                raise InvalidFileError(
                    f"{path} holds one array, not the named arrays of an NPZ file; save it with "
                    "numpy.savez(path, x=..., label=...)",
                    path=str(path),
                )
            return {name: stored[name] for name in stored.files}
    except OSError as error:
        raise InvalidFileError(
            f"cannot read {path}: {error.strerror or error}; check data.source, which is relative "
            "to the project",
            path=str(path),
        ) from error
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InvalidFileError(
            f"{path} is not an NPZ file of plain arrays: {error}; save it with "
            "numpy.savez(path, x=..., label=...)",
            path=str(path),
        ) from error


def _check_features(path: Path, name: str, features: NDArray[Any]) -> None:
    if features.dtype.kind not in _NUMBERS:
        raise InvalidDataError(
            f"{path}: array '{name}' holds {features.dtype}, not numbers; store numbers, or name "
            "it as data.text if it holds texts",
            column=name,
        )
    if features.ndim < 2 or features.size == 0:
        raise InvalidDataError(
            f"{path}: array '{name}' has the shape {features.shape}; it must be (rows, features) "
            "with at least one of each",
            column=name,
        )


def _check_target(path: Path, name: str, rows: int, target: str, array: NDArray[Any]) -> None:
    if array.ndim not in (1, 2) or len(array) != rows:
        raise InvalidDataError(
            f"{path}: array '{target}' has the shape {array.shape}; it must be ({rows},), one "
            f"label for each row of '{name}', or ({rows}, outputs)",
            column=target,
        )
    if array.dtype.kind not in _NUMBERS + "U":
        raise InvalidDataError(
            f"{path}: array '{target}' holds {array.dtype}; store integers or text",
            column=target,
        )
