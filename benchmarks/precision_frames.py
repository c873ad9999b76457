"""Frames for networks that read pictures: photographs, and lines of text on them.

Frames of even numbers are cut from other pixels than those of odd ones, so that what settles ranges
and what judges have no picture in common.
"""

import io
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from sklearn.datasets import load_sample_images  # noqa: TID251 - for its two photographs

Picture = NDArray[np.float32]
_DOG: Final = 5  # its class in CIFAR-10
_SMALLEST: Final = 96  # side of a part of a photograph, in pixels
_WORDS: Final = (
    "evener pipeline frames Stage 1 of 8 EXIT 24h OPEN price 12.50 no parking latency big LITTLE "
    "cores quiet horse bar Main Street 221B please ring total 3.14 invoice"
)


def texts_on_photographs(count: int, size: int) -> list[Picture]:
    """Return parts of photographs, most with lines of text drawn on them.

    Args:
        count: how many.
        size: their height and width, in pixels.

    Returns:
        Arrays [3, size, size] from -1 to 1.
    """
    rng = np.random.default_rng(0)
    found = []
    for number in range(count):
        picture = _part(rng, number, (size, size))
        draw = ImageDraw.Draw(picture)
        for _ in range(int(rng.integers(5))):
            place = (int(rng.integers(size // 2)), int(rng.integers(size - 40)))
            colour = tuple(int(value) for value in rng.integers(0, 256, 3))
            font = ImageFont.load_default(int(rng.integers(14, 48)))
            draw.text(place, _text(rng, int(rng.integers(1, 4))), font=font, fill=colour)
        found.append(_planes(picture))
    return found


def lines_of_text(count: int, height: int, width: int) -> list[Picture]:
    """Return lines of text on a pale or dark ground, every second one or so upside down.

    Args:
        count: how many.
        height: in pixels.
        width: in pixels.

    Returns:
        Arrays [3, height, width] from -1 to 1.
    """
    rng = np.random.default_rng(1)
    found = []
    for number in range(count):
        pale = bool(rng.integers(2))
        ground = Image.new("RGB", (width, height), (235 if pale else 25,) * 3)
        part = _part(rng, number, (width, height))
        picture = Image.blend(part, ground, float(rng.uniform(0.3, 0.9)))
        font = ImageFont.load_default(int(rng.integers(22, 36)))
        place = (int(rng.integers(2, 12)), int(rng.integers(2, 10)))
        text = _text(rng, int(rng.integers(1, 3)))
        ImageDraw.Draw(picture).text(place, text, font=font, fill=(10 if pale else 245,) * 3)
        found.append(_planes(picture.rotate(180) if rng.integers(2) else picture))
    return found


def dogs(count: int, size: int, cifar: Path) -> list[Picture]:
    """Return dogs of CIFAR-10, by turns of its training and its test set, enlarged from 32 pixels.

    Args:
        count: how many.
        size: height and width that they are enlarged to, in pixels.
        cifar: an npz file with the arrays `train_jpeg` of bytes, `train_offsets` of where each
            picture begins, `y_train` of classes, and the same of `test`.

    Returns:
        Arrays [3, size, size] from -1 to 1.
    """
    with np.load(cifar) as file:
        both = [_jpegs(file, part, (count + 1) // 2) for part in ("train", "test")]
    files = [both[number % 2][number // 2] for number in range(count)]
    pictures = (Image.open(io.BytesIO(one)).convert("RGB") for one in files)
    return [_planes(one.resize((size, size), Image.Resampling.BICUBIC)) for one in pictures]


def _jpegs(file: Any, part: str, count: int) -> list[bytes]:  # noqa: ANN401 - numpy's, untyped
    data, starts = file[f"{part}_jpeg"], file[f"{part}_offsets"]
    numbers = np.flatnonzero(file[f"y_{part}"].reshape(-1) == _DOG)[:count]
    return [data[starts[number] : starts[number + 1]].tobytes() for number in numbers]


def _part(rng: np.random.Generator, number: int, size: tuple[int, int]) -> Image.Image:
    """Cut a part from the left half of a photograph, or the right one, and resize it."""
    photographs = load_sample_images().images
    photograph = Image.fromarray(photographs[int(rng.integers(len(photographs)))])
    half = photograph.width // 2
    side = int(rng.integers(_SMALLEST, min(half, photograph.height)))
    left = int(rng.integers(half - side + 1)) + number % 2 * half
    top = int(rng.integers(photograph.height - side + 1))
    part = photograph.crop((left, top, left + side, top + side))
    part = part.resize(size, Image.Resampling.BICUBIC)
    return part.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if rng.integers(2) else part


def _text(rng: np.random.Generator, words: int) -> str:
    known = _WORDS.split()
    return " ".join(known[int(place)] for place in rng.integers(len(known), size=words))


def _planes(picture: Image.Image) -> Picture:
    planes = np.asarray(picture, np.float32).transpose(2, 0, 1) / np.float32(127.5) - 1
    return np.ascontiguousarray(planes)
