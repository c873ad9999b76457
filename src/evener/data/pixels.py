"""Make what a network reads of a picture: resized, in its layout, and in the numbers it knows."""

from typing import TYPE_CHECKING, Final, Literal

import msgspec
import numpy as np

from evener.artifacts.tensor import Tensor
from evener.data.source import Picture
from evener.errors import InputError, MissingExtraError
from evener.network.frames import Array

if TYPE_CHECKING:
    from PIL.Image import Image

Preset = Literal["imagenet", "unit", "signed", "raw"]
Fit = Literal["crop", "stretch", "pad"]
_GREY, _COLOUR = 1, 3
_CHANNELS: Final = (_GREY, _COLOUR)

_PRESETS: Final[dict[str, tuple[float, tuple[float, ...], tuple[float, ...]]]] = {
    # scale, mean, std. The mean and spread of ImageNet's training pictures, as torchvision's
    # models take them: https://pytorch.org/vision/stable/models.html
    "imagenet": (1 / 255, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "unit": (1 / 255, (0.0,), (1.0,)),
    "signed": (1 / 127.5, (1.0,), (1.0,)),
    "raw": (1.0, (0.0,), (1.0,)),
}


class Pixels(msgspec.Struct, frozen=True, kw_only=True):
    """How a picture becomes numbers: `(value * scale - mean) / std` of values from 0 to 255.

    Attributes:
        preset: scale, mean and std that are known by a name; None for "imagenet" where the network
            reads colours as floats, "unit" where it reads grey ones, and "raw" for integers.
        scale: in the place of the preset's.
        mean: one number, or one a channel, in the place of the preset's.
        std: the same.
        fit: "crop" keeps the middle, "stretch" everything and not its proportions, "pad" both,
            with black beside it.
    """

    preset: Preset | None = None
    scale: float | None = None
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    fit: Fit = "crop"


class Lens:
    """Makes the input of a network from pictures.

    Args:
        inputs: what a frame holds: one picture, (1, C, H, W) or (1, H, W, C) with 1 or 3 channels,
            or without the 1 before it.
        pixels: how it becomes numbers.

    Raises:
        InputError: the network reads no picture, or the numbers are not one or one a channel.
        MissingExtraError: Pillow is not installed.
    """

    def __init__(self, inputs: tuple[Tensor, ...], pixels: Pixels) -> None:
        self._tensor = tensor = _picture_of(inputs)
        *_, first, _, last = tensor.shape
        self._channels_first = first in _CHANNELS
        self._channels = first if self._channels_first else last
        height, width = tensor.shape[-2:] if self._channels_first else tensor.shape[-3:-1]
        self._size = (width, height)
        self._fit = pixels.fit
        floating = np.dtype(tensor.dtype).kind == "f"
        default = ("imagenet" if self._channels == _COLOUR else "unit") if floating else "raw"
        scale, mean, std = _PRESETS[pixels.preset or default]
        self._scale = np.float32(scale if pixels.scale is None else pixels.scale)
        self._mean = self._each(mean if pixels.mean is None else pixels.mean, "mean")
        self._std = self._each(std if pixels.std is None else pixels.std, "std")
        if not self._std.all():
            raise InputError("a std of 0 divides by nothing; give numbers above 0")
        try:
            from PIL import ImageOps
        except ImportError as error:
            raise MissingExtraError("reading pictures", extra="images") from error
        self._ops = ImageOps

    def resize(self, image: "Image") -> Picture:
        """Return a picture in the size and the colours that the network reads."""
        from PIL.Image import Resampling

        image = image.convert("L" if self._channels == _GREY else "RGB")
        if self._fit == "crop":
            image = self._ops.fit(image, self._size, Resampling.BILINEAR)
        elif self._fit == "pad":
            image = self._ops.pad(image, self._size, Resampling.BILINEAR)
        else:
            image = image.resize(self._size, Resampling.BILINEAR)
        picture = np.asarray(image, np.uint8)
        return picture.reshape(*picture.shape[:2], self._channels)

    def numbers(self, picture: Picture) -> Array:
        """Return the network's input, of a picture that `resize` returned."""
        values = (picture.astype(np.float32) * self._scale - self._mean) / self._std
        if self._channels_first:
            values = values.transpose(2, 0, 1)
        dtype = np.dtype(self._tensor.dtype)
        if dtype.kind != "f":
            info = np.iinfo(dtype)
            values = np.clip(np.rint(values), info.min, info.max)
        return np.ascontiguousarray(values.reshape(self._tensor.shape), dtype)

    def _each(self, numbers: tuple[float, ...], what: str) -> Array:
        """Return one number a channel."""
        if len(numbers) not in {1, self._channels}:
            raise InputError(
                f"--{what} gives {len(numbers)} numbers, and '{self._tensor.name}' has "
                f"{self._channels} channels; give one number, or one a channel"
            )
        return np.broadcast_to(np.array(numbers, np.float32), (self._channels,))


def _picture_of(inputs: tuple[Tensor, ...]) -> Tensor:
    tensor = inputs[0]
    *before, first, middle, last = (1, *tensor.shape) if len(tensor.shape) > 2 else (0, 0, 0, 0)
    if (
        len(inputs) != 1
        or set(before) != {1}
        or np.dtype(tensor.dtype).kind not in "fiu"
        or not (first in _CHANNELS or (last in _CHANNELS and middle > 0))
    ):
        takes = ", ".join(f"'{one.name}' {one.dtype} {list(one.shape)}" for one in inputs)
        raise InputError(
            f"the network reads {takes}, and a picture makes one input of [1, C, H, W] or "
            "[1, H, W, C] with 1 or 3 channels; give such a network, or its frames as an npz file"
        )
    return tensor
