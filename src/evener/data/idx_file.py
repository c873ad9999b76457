"""Read pictures and labels from IDX files, as MNIST comes: http://yann.lecun.com/exdb/mnist."""

import gzip
import struct
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.data.pictures import as_features
from evener.data.split import TEST, TRAIN
from evener.data.table import Table
from evener.data.unreadable import DAMAGED, damaged
from evener.errors import InvalidDataError, InvalidFileError

_IMAGES: Final = "images"
_LABELS: Final = "labels"
_BYTES: Final = 0x08  # the code of unsigned bytes, which all such sets hold
_TRAINING, _TESTING = "train", "t10k"


def is_idx(path: Path) -> bool:
    """Whether a file is named as an IDX file, or a folder holds such.

    Example:
        >>> is_idx(Path("train-images-idx3-ubyte.gz")), is_idx(Path("rows.csv"))
        (True, False)
    """
    names = [one.name for one in path.iterdir()] if path.is_dir() else [path.name]
    return any("-idx" in name or name.split(".")[-1].startswith("idx") for name in names)


def read_idx(path: Path, target: str) -> Table:
    """Read pictures and the labels that lie beside them, values from 0 to 1.

    Args:
        path: a file of pictures, such as "train-images-idx3-ubyte" or the same with ".gz"; or a
            folder with them, whose "t10k" files are kept as the test split.
        target: what the labels are called.

    Raises:
        InvalidFileError: a file is missing, or none such.
        InvalidDataError: pictures and labels are not equally many.
    """
    if not path.is_dir():
        pictures, labels = _pair(path)
        parts = None
    else:
        files = {part: _images_in(path, part) for part in (_TRAINING, _TESTING)}
        pairs = {part: _pair(file) for part, file in files.items() if file is not None}
        if _TRAINING not in pairs:
            raise InvalidFileError(
                f"{path} holds no train-images-idx3-ubyte, compressed or not; name the file of "
                "pictures",
                path=str(path),
            )
        pictures = np.concatenate([one for one, _ in pairs.values()])
        labels = np.concatenate([one for _, one in pairs.values()])
        border = len(pairs[_TRAINING][0])
        parts = np.where(np.arange(len(pictures)) < border, TRAIN, TEST)
        parts = parts if len(pairs) == 2 else None
    features, shape = as_features(pictures)
    return Table(
        features=features,
        feature_names=tuple(f"pixel{index}" for index in range(features.shape[1])),
        targets={target: labels.astype(np.float64)},
        where=str(path),
        row_name=lambda row: f"row {row}",
        picture=shape,
        parts=parts,
    )


def _images_in(folder: Path, part: str) -> Path | None:
    files = sorted(one for one in folder.iterdir() if one.name.startswith(f"{part}-{_IMAGES}"))
    return files[0] if files else None


def labels_beside(images: Path) -> Path:
    """Return the file of labels that belongs to one of pictures.

    Example:
        >>> labels_beside(Path("train-images-idx3-ubyte.gz")).name
        'train-labels-idx1-ubyte.gz'
    """
    return images.with_name(images.name.replace(_IMAGES, _LABELS).replace("idx3", "idx1"))


def _pair(images: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    beside = labels_beside(images)
    pictures, labels = _read(images, 3), _read(beside, 1)
    if len(pictures) != len(labels):
        raise InvalidDataError(
            f"{images} holds {len(pictures)} pictures, and {beside.name} {len(labels)} labels; "
            "give files that belong together"
        )
    return pictures, labels


def _read(path: Path, dimensions: int) -> NDArray[np.uint8]:
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
    except DAMAGED as error:
        raise damaged(path, error) from error
    except OSError as error:
        raise InvalidFileError(
            f"cannot read {path}: {error.strerror or error}; labels lie beside "
            "their pictures, named alike",
            path=str(path),
        ) from error
    head = 4 + 4 * dimensions
    if len(content) < head or content[:4] != bytes([0, 0, _BYTES, dimensions]):
        raise InvalidFileError(
            f"{path} is no IDX file of bytes in {dimensions} dimensions: it begins with "
            f"{content[:4].hex(' ')}",
            path=str(path),
        )
    shape = struct.unpack(f">{dimensions}I", content[4:head])
    values = np.frombuffer(content, np.uint8, offset=head)
    if len(values) != np.prod(shape, dtype=np.int64):
        raise InvalidFileError(
            f"{path} says that it is {list(shape)} and holds {len(values)} values; it is cut off",
            path=str(path),
        )
    return values.reshape(shape)
