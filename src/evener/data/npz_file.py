"""Read arrays from an NPZ file: features under "x" or "features", the target under its name."""

import zipfile
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evener.data.table import Table, missing_target
from evener.errors import InvalidDataError, InvalidFileError

FEATURE_NAMES: Final = ("features", "x", "X")
_NUMBERS: Final = "biuf"  # numpy's kinds: bool, signed, unsigned, float


def read_npz(path: Path, target: str) -> Table:
    """Read features (rows, ...), flattened to (rows, features), and a target (rows,).

    Args:
        path: the file; pickled objects in it are refused.
        target: name of the array to predict.

    Raises:
        InvalidFileError: missing, not an NPZ file, or with pickled objects.
        InvalidDataError: an array is missing, of the wrong shape or type, or empty.
    """
    arrays = _read_arrays(path)
    if target not in arrays:
        raise missing_target(target, arrays, str(path), "array")
    named = [name for name in FEATURE_NAMES if name in arrays and name != target]
    if not named:
        raise InvalidDataError(
            f"{path} has no array of features: name one {' or '.join(FEATURE_NAMES)}; arrays: "
            f"{', '.join(arrays)}"
        )
    name = named[0]
    features, labels = arrays[name], arrays[target]
    _check_shapes(path, name, features, target, labels)
    with np.errstate(over="ignore"):  # becomes infinite, which is refused with its place
        flat = features.reshape(len(features), -1).astype(np.float32)
    return Table(
        features=flat,
        feature_names=tuple(f"{name}{index}" for index in range(flat.shape[1])),
        target=tuple(map(str, labels.tolist())),
        target_name=target,
        where=str(path),
        row_name=lambda row: f"row {row}",
    )


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


def _check_shapes(
    path: Path, name: str, features: NDArray[Any], target: str, labels: NDArray[Any]
) -> None:
    if features.dtype.kind not in _NUMBERS:
        raise InvalidDataError(
            f"{path}: array '{name}' holds {features.dtype}, not numbers; store numbers",
            column=name,
        )
    if features.ndim < 2 or features.size == 0:
        raise InvalidDataError(
            f"{path}: array '{name}' has the shape {features.shape}; it must be (rows, features) "
            "with at least one of each",
            column=name,
        )
    if labels.ndim != 1 or len(labels) != len(features):
        raise InvalidDataError(
            f"{path}: array '{target}' has the shape {labels.shape}; it must be "
            f"({len(features)},), one label for each row of '{name}'",
            column=target,
        )
    if labels.dtype.kind not in _NUMBERS + "U":
        raise InvalidDataError(
            f"{path}: array '{target}' holds {labels.dtype}; store integers or text",
            column=target,
        )
