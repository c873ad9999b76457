"""What every source of frames gives: frames one by one, each with where it was found."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evener.network.frames import Frame

Picture = NDArray[np.uint8]
"""(height, width, channels) of a picture, as the network sees it."""


@dataclass(frozen=True, slots=True, eq=False)
class Sourced:
    """A frame, and where it is from.

    Attributes:
        frame: one array per input.
        where: its place in the source, such as "line 7", for errors.
        id: what the answers to it are told apart by; None where only its number says it.
        picture: what it was made from, resized; None of frames that are no pictures.
    """

    frame: Frame
    where: str
    id: str | None = None
    picture: Picture | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Frames to be read once, from first to last.

    Attributes:
        frames: the frames, read as they are asked for.
        name: the file, folder or device, for errors.
        count: how many there are; None where only reading them tells.
        live: whether they come as they are made, so that reading ahead means to wait.
    """

    frames: Iterator[Sourced]
    name: str
    count: int | None = None
    live: bool = False
