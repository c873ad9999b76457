"""Convert pictures into a file of rows of numbers, as training reads them.

Pictures in folders of their own are labelled with the folder's name. Three forms: an .npz file and
a .csv table, which `load_dataset` reads; and text, which is what the Blue Gene/Q paper's
`loadTestingInputData` and `loadTestingOutputData` read (Surajiwale et al., 2017, listing 1).
"""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from evener.artifacts.files import write_whole
from evener.artifacts.tensor import Tensor
from evener.data.picture_frames import read_pictures
from evener.data.pixels import Fit, Pixels
from evener.errors import InputError, InvalidDataError

Colours = Literal["grey", "rgb"]
KINDS: Final = (".npz", ".csv", ".txt")
TARGET: Final = "label"
_CHANNELS: Final[dict[Colours, int]] = {"grey": 1, "rgb": 3}


class Converted(msgspec.Struct, frozen=True, kw_only=True):
    """What pictures became.

    Attributes:
        files: what was written: the rows, and of text their labels beside it.
        rows: how many pictures.
        features: numbers of each.
        classes: names of their folders, in the order of the labels; none without folders.
    """

    files: tuple[str, ...]
    rows: int
    features: int
    classes: tuple[str, ...]


def targets_of(path: Path) -> tuple[Path, ...]:
    """Return the files that a conversion to a path may write.

    Args:
        path: the rows.

    Raises:
        InputError: its name ends in nothing that rows are written as.

    Example:
        >>> [str(one) for one in targets_of(Path("digits.txt"))]
        ['digits.txt', 'digits.labels.txt']
    """
    if path.suffix.lower() not in KINDS:
        raise InputError(f"'{path}' does not end in {', '.join(KINDS)}: write pictures.npz")
    if path.suffix.lower() == ".txt":
        return path, path.with_suffix(".labels.txt")
    return (path,)


def convert_pictures(
    pictures: Path,
    target: Path,
    *,
    size: tuple[int, int],
    colours: Colours = "grey",
    fit: Fit = "crop",
) -> Converted:
    """Write a row for each picture, its values from 0 to 1, row by row of pixels from the top left.

    Args:
        pictures: a picture, or a folder of them; pictures in folders of it are labelled.
        target: what to write; it is replaced if it is there.
        size: width and height that each gets.
        colours: whether a pixel is one number, or three.
        fit: how a picture gets that size; see `Pixels`.

    Raises:
        InputError: the target's name ends in no known form.
        InvalidFileError: a picture cannot be read, or the target not be written.
        InvalidDataError: no pictures, or some in folders and some not.
        MissingExtraError: Pillow is not installed.
    """
    targets = targets_of(target)
    shape = (1, _CHANNELS[colours], size[1], size[0])
    source = read_pictures(
        pictures,
        [Tensor(name="picture", shape=shape, dtype="float32")],
        Pixels(preset="unit", fit=fit),
    )
    rows: list[NDArray[np.float32]] = []
    labels: list[str] = []
    for one in source.frames:
        rows.append(one.frame[0].transpose(0, 2, 3, 1).reshape(-1))  # a pixel's colours together
        folder, *below = Path(one.where).parts
        labels.append(folder if below else "")
    features = np.stack(rows)
    classes = _classes(labels, source.name)
    if targets[0].suffix.lower() == ".npz":
        write_whole(target, _npz(features, labels if classes else None))
    elif targets[0].suffix.lower() == ".csv":
        write_whole(target, _csv(features, labels if classes else None))
    else:
        write_whole(target, _text(features))
        if classes:
            indices = [classes.index(label) for label in labels]
            write_whole(targets[1], _text(np.eye(len(classes), dtype=np.float32)[indices]))
        else:
            targets = targets[:1]
    return Converted(
        files=tuple(map(str, targets)), rows=len(rows), features=features.shape[1], classes=classes
    )


def _classes(labels: Sequence[str], where: str) -> tuple[str, ...]:
    outside = labels.count("")
    if 0 < outside < len(labels):
        raise InvalidDataError(
            f"{where}: {outside} of {len(labels)} pictures are in no folder of their own, which "
            "would name their class; move them into one, or all pictures out of theirs"
        )
    return () if outside else tuple(sorted(set(labels)))


def _npz(features: NDArray[np.float32], labels: Sequence[str] | None) -> bytes:
    written = io.BytesIO()
    named = {} if labels is None else {TARGET: np.array(labels)}
    np.savez_compressed(written, allow_pickle=False, x=features, **named)
    return written.getvalue()


def _csv(features: NDArray[np.float32], labels: Sequence[str] | None) -> bytes:
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\n")
    names = [f"pixel{index}" for index in range(features.shape[1])]
    table.writerow(names if labels is None else [*names, TARGET])
    for index, row in enumerate(features):
        values = [_number(value) for value in row]
        table.writerow(values if labels is None else [*values, labels[index]])
    return written.getvalue().encode()


def _text(rows: NDArray[np.float32]) -> bytes:
    return "".join(f"{' '.join(map(_number, row))}\n" for row in rows).encode()


def _number(value: np.float32) -> str:
    """Write a number so that reading it gives the same one back."""
    return np.format_float_positional(value, trim="-")
