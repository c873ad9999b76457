"""Say in a word and a number what a network answered: the class that it finds likeliest."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from evener.artifacts.tensor import Tensor
from evener.errors import InputError, InvalidFileError
from evener.network.frames import Array

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Predictor:
    """Turns an answer into named values.

    An output of one number is that number. One of several is the class whose number is the largest,
    by its label or its index from 0, and that number as its score. Where each number is an answer
    by itself, each has the name of its label.

    Args:
        outputs: what an answer holds.
        labels: names of the classes; none to number them.
        apart: whether several numbers are several answers, as those of labels are, and no classes.

    Example:
        >>> y = Tensor(name="y", shape=(1, 3), dtype="float32")
        >>> predictor = Predictor((y,), ("cat", "dog", "cow"))
        >>> predictor.values([np.array([[0.1, 0.7, 0.2]])])
        {'prediction': 'dog', 'score': 0.7}
    """

    outputs: Sequence[Tensor]
    labels: Sequence[str] = ()
    apart: bool = False

    def __post_init__(self) -> None:
        """Refuse what has no single prediction.

        Raises:
            InputError: an output of several dimensions or of integers, or of another number of
                classes than there are labels.
        """
        for tensor in self.outputs:
            if not _is_number(tensor) and (
                max(tensor.shape) != prod(tensor.shape) or np.dtype(tensor.dtype).kind != "f"
            ):
                raise InputError(
                    f"the output '{tensor.name}', {tensor.dtype} {list(tensor.shape)}, is neither "
                    "one number nor one for each class, and cannot be told in a row or on a "
                    "picture; write the answers to an .npz or .jsonl file"
                )
        if self.labels and not any(self._is_labelled(tensor) for tensor in self.outputs):
            sizes = ", ".join(f"{prod(one.shape)} in '{one.name}'" for one in self.outputs)
            raise InputError(
                f"there are {len(self.labels)} labels, and the outputs have other numbers of "
                f"classes: {sizes}; give one label a class"
            )

    @property
    def kinds(self) -> dict[str, str]:
        """Numpy's kind of each value, by its name, in order: "U" text, "i", "f" or "b"."""
        found: dict[str, str] = {}
        for tensor in self.outputs:
            kind = np.dtype(tensor.dtype).kind
            if self._is_apart(tensor):
                found |= dict.fromkeys(self.labels, kind)
            elif _is_number(tensor):
                found[self._name(tensor)] = "i" if kind == "u" else kind
            else:
                found[self._name(tensor)] = "U" if self._is_labelled(tensor) else "i"
                found[self._score(tensor)] = "f"
        return found

    def values(self, answer: Sequence[Array]) -> dict[str, Value]:
        """Return the values of an answer by their names."""
        found: dict[str, Value] = {}
        for tensor, array in zip(self.outputs, answer, strict=True):
            if self._is_apart(tensor):
                numbers = zip(self.labels, array.reshape(-1), strict=True)
                found |= {label: _python(number) for label, number in numbers}
                continue
            if _is_number(tensor):
                found[self._name(tensor)] = _python(array)
                continue
            index = int(array.argmax())
            labelled = self._is_labelled(tensor)
            found[self._name(tensor)] = self.labels[index] if labelled else index
            found[self._score(tensor)] = _python(array.flat[index])
        return found

    def _is_apart(self, tensor: Tensor) -> bool:
        return self.apart and len(self.labels) > 1 and self._is_labelled(tensor)

    def _is_labelled(self, tensor: Tensor) -> bool:
        return not _is_number(tensor) and prod(tensor.shape) == len(self.labels)

    def _name(self, tensor: Tensor) -> str:
        return "prediction" if len(self.outputs) == 1 else tensor.name

    def _score(self, tensor: Tensor) -> str:
        return "score" if len(self.outputs) == 1 else f"{tensor.name}_score"


def read_labels(path: Path) -> tuple[str, ...]:
    """Read the names of classes from a text file, one a line.

    Raises:
        InvalidFileError: it cannot be read, is no text in UTF-8, or is empty.
    """
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except OSError as error:
        raise InvalidFileError(
            f"cannot read {path}: {error.strerror or error}; give a text file, one label a line",
            path=str(path),
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidFileError(
            f"{path} is no text in UTF-8: {error}; save it as UTF-8", path=str(path)
        ) from error
    if not lines:
        raise InvalidFileError(f"{path} is empty; write one label a line", path=str(path))
    return tuple(line.strip() for line in lines)


def _python(number: Array) -> Value:
    """Return a number; a short float becomes the shortest decimal that stands for it."""
    scalar = number.reshape(())[()]
    value: Value = float(str(scalar)) if number.dtype.kind == "f" else scalar.item()
    return value


def _is_number(tensor: Tensor) -> bool:
    return prod(tensor.shape) == 1
