"""Write the weights of networks of layers as arrays of a file, and read them again."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from evener.artifacts.files import write_whole
from evener.errors import InvalidFileError

if TYPE_CHECKING:
    from evener.train.population.weights import Weights

_LINK, _BIAS = "link", "bias"


def arrays_of(weights: "Weights", name: str = "") -> dict[str, Any]:
    """Return weights without masks as arrays by name.

    Args:
        weights: which.
        name: what begins the name of each, where a file holds several.
    """
    arrays: dict[str, Any] = {
        f"{name}{_LINK} {start} {end}": one for (start, end), one in weights.links.items()
    }
    return arrays | {f"{name}{_BIAS} {number}": one for number, one in enumerate(weights.biases)}


def weights_from_arrays(arrays: Mapping[str, Any], name: str = "") -> "Weights":
    """Return the weights whose arrays begin with a name; the inverse of `arrays_of`.

    Raises:
        ValueError: an array that begins so is none of weights.
        KeyError: a bias is missing.
    """
    from evener.train.population.weights import Weights

    links, biases = {}, 0
    for key in arrays:
        if not key.startswith(name):
            continue
        kind, *nodes = key.removeprefix(name).split()
        if kind == _LINK:
            start, end = map(int, nodes)
            links[start, end] = arrays[key]
        elif kind == _BIAS:
            biases += 1
        else:
            raise ValueError(f"an array called '{key}'")
    return Weights(links, tuple(arrays[f"{name}{_BIAS} {number}"] for number in range(biases)))


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays into a file, whole; its folder is made if need be."""
    content = io.BytesIO()
    np.savez(content, **arrays)
    write_whole(path, content.getvalue())


def read_arrays(path: Path) -> dict[str, Any]:
    """Read the arrays of a file.

    Raises:
        InvalidFileError: there is no such file, or it holds something else.
    """
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as kept:
            return dict(kept)
    except (OSError, EOFError, ValueError, KeyError, BadZipFile) as error:
        raise InvalidFileError(f"{path} holds no arrays ({error})", path=str(path)) from error
