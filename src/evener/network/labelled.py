"""Frames that stand for those to come, perhaps with the right class of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.tensor import Tensor
from evener.errors import InvalidDataError, InvalidFileError
from evener.network.frames import Frame, load_frames, read_arrays

LABELS: Final = "labels"


@dataclass(frozen=True)
class Labelled:
    """Frames, and the class of each where it is known.

    Attributes:
        frames: the frames.
        labels: [frames] integers; None if no class is known.
    """

    frames: tuple[Frame, ...]
    labels: NDArray[np.int64] | None = None

    def every_second(self, first: int) -> "Labelled":
        """Return every second frame from the first or second one on.

        Example:
            >>> x = np.zeros(1, np.float32)
            >>> Labelled(((x,),) * 3, np.array([7, 8, 9])).every_second(0).labels.tolist()
            [7, 9]
        """
        labels = None if self.labels is None else self.labels[first::2]
        return Labelled(self.frames[first::2], labels)


def load_labelled(path: Path, inputs: Sequence[Tensor]) -> Labelled:
    """Read frames, and perhaps labels, from an npz file or from all npz files of a folder.

    A file holds one array per input, as `evener.network.frames.load_frames` reads it, and may hold
    an array "labels" with an integer for each frame.

    Args:
        path: the file, or the folder; its files count in the order of their names.
        inputs: what each frame holds.

    Raises:
        InvalidFileError: missing, no npz file, or a folder without any.
        InvalidDataError: the arrays do not fit, or only some of the files have labels.
    """
    files = sorted(path.glob("*.npz")) if path.is_dir() else [path]
    if not files:
        raise InvalidFileError(
            f"{path} holds no npz file of frames; write some with numpy.savez, one array per input",
            path=str(path),
        )
    parts = [_load(file, inputs) for file in files]
    frames = tuple(frame for part in parts for frame in part.frames)
    labels = [part.labels for part in parts if part.labels is not None]
    if labels and len(labels) < len(parts):
        bare = next(file for file, part in zip(files, parts, strict=True) if part.labels is None)
        raise InvalidDataError(
            f"{bare} holds no '{LABELS}', and other files of {path} do; give all or none of them "
            "labels",
            column=LABELS,
        )
    return Labelled(frames, np.concatenate(labels) if labels else None)


def _load(path: Path, inputs: Sequence[Tensor]) -> Labelled:
    frames = tuple(load_frames(path, inputs, besides=(LABELS,)))
    if any(tensor.name == LABELS for tensor in inputs):
        return Labelled(frames)
    labels = read_arrays(path).get(LABELS)
    if labels is None:
        return Labelled(frames)
    if labels.shape != (len(frames),) or labels.dtype.kind not in "iu":
        raise InvalidDataError(
            f"'{LABELS}' in {path} is {labels.dtype} {list(labels.shape)}; give one integer for "
            f"each of the {len(frames)} frames",
            column=LABELS,
        )
    return Labelled(frames, labels.astype(np.int64))
