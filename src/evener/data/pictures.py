"""Lay pictures out as rows of numbers: channel by channel, from 0 to 1."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_CHANNELS: Final = (1, 3)
_LARGEST: Final = np.float32(255)


def as_features(
    pictures: NDArray[Any],
) -> tuple[NDArray[np.float32], tuple[int, int, int] | None]:
    """Return pictures as rows, and the channels, height and width of one.

    Args:
        pictures: (N, H, W), (N, H, W, C) or (N, C, H, W), C 1 or 3; bytes are divided by 255, other
            numbers kept. Of another shape they are no pictures, and only flattened.

    Example:
        >>> rows, shape = as_features(np.full((5, 4, 4, 3), 255, np.uint8))
        >>> rows.shape, float(rows.max()), shape
        ((5, 48), 1.0, (3, 4, 4))
    """
    shape = None
    if pictures.ndim == 4 and pictures.shape[-1] in _CHANNELS:
        pictures = pictures.transpose(0, 3, 1, 2)
    if pictures.ndim == 4 and pictures.shape[1] in _CHANNELS:
        shape = tuple(pictures.shape[1:])
    elif pictures.ndim == 3:
        shape = (1, *pictures.shape[1:])
    with np.errstate(over="ignore"):  # becomes infinite, which is refused with its place
        rows = np.ascontiguousarray(pictures).reshape(len(pictures), -1).astype(np.float32)
    if shape is not None and pictures.dtype == np.uint8:
        rows /= _LARGEST
    return rows, shape
