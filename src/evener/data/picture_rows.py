"""Read a folder of pictures, each in the folder of its class, as rows to learn from."""

from pathlib import Path
from typing import Final

import numpy as np

from evener.artifacts.data_section import Colours
from evener.artifacts.tensor import Tensor
from evener.data.picture_frames import read_pictures
from evener.data.pixels import Pixels
from evener.data.split import TEST, TRAIN, VALIDATION
from evener.data.table import Table
from evener.errors import InvalidDataError

CHANNELS: Final[dict[Colours, int]] = {"grey": 1, "rgb": 3}
_PARTS: Final = {
    "train": TRAIN,
    "training": TRAIN,
    "valid": VALIDATION,
    "validation": VALIDATION,
    "val": VALIDATION,
    "test": TEST,
}


def read_picture_rows(
    folder: Path, target: str, *, size: tuple[int, int], colours: Colours
) -> Table:
    """Read pictures as rows of numbers from 0 to 1, channel by channel.

    Args:
        folder: holds a folder for each class; or "train" and "test", and perhaps "validation", each
            with the folders of classes, whose split is kept.
        target: what the name of the folder is called.
        size: width and height that each picture gets.
        colours: whether a pixel is one number or three.

    Raises:
        InvalidFileError: a picture cannot be read.
        InvalidDataError: no pictures, or one in no folder.
        MissingExtraError: Pillow is not installed.
    """
    shape = (CHANNELS[colours], size[1], size[0])
    tensor = Tensor(name="picture", shape=(1, *shape), dtype="float32")
    source = read_pictures(folder, [tensor], Pixels(preset="unit"))
    rows, names = [], []
    for one in source.frames:
        rows.append(one.frame[0].reshape(-1))
        names.append(Path(one.where))
    for name in names:
        if len(name.parts) < 2:
            raise InvalidDataError(
                f"{folder}: the picture {name} is in no folder, which would name its class; move "
                "it into one"
            )
    split = {name.parts[0].lower() for name in names} <= set(_PARTS)
    place = 1 if split and all(len(name.parts) > 2 for name in names) else 0
    features = np.stack(rows)
    return Table(
        features=features,
        feature_names=tuple(f"pixel{index}" for index in range(features.shape[1])),
        targets={target: [name.parts[place] for name in names]},
        where=str(folder),
        row_name=lambda row: f"picture {names[row]}",
        picture=shape,
        parts=np.array([_PARTS[name.parts[0].lower()] for name in names]) if place else None,
    )
