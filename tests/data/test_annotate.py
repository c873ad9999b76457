"""Pictures are written with what was predicted on them."""

from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.tensor import Tensor
from evener.data.annotate import annotated_to
from evener.data.source import Sourced
from evener.errors import InputError, InvalidFileError

Image = pytest.importorskip("PIL.Image", reason="needs the extra 'images'")
CLASSES = (Tensor(name="y", shape=(1, 2), dtype="float32"),)
ANSWER = (np.array([[0.25, 0.75]], np.float32),)


@pytest.mark.parametrize("channels", [1, 3])
def test_a_picture_keeps_its_size_and_gets_text_in_a_corner(channels: int, tmp_path: Path) -> None:
    blue = np.full((64, 128, channels), 200, np.uint8)
    with annotated_to(tmp_path / "seen", CLASSES, labels=("no", "yes")) as write:
        write(7, Sourced((), "a.png", picture=blue), ANSWER)

    (path,) = (tmp_path / "seen").iterdir()
    with Image.open(path) as image:
        pixels = np.asarray(image)
    assert path.name == "000007.png"
    assert pixels.shape == (64, 128, 3)
    assert pixels[:32, :64].min() == 0  # light text on black
    assert pixels[:32, :64].max() > 200
    assert (pixels[48:] == 200).all()


def test_the_text_is_the_prediction(tmp_path: Path) -> None:
    grey = np.full((64, 128, 3), 100, np.uint8)
    shown = []
    for index, labels in enumerate([("no", "yes"), ("no", "yes"), ("yes", "no")]):
        with annotated_to(tmp_path / str(index), CLASSES, labels=labels) as write:
            write(0, Sourced((), "a.png", picture=grey), ANSWER)
        shown.append((tmp_path / str(index) / "000000.png").read_bytes())

    assert shown[0] == shown[1] != shown[2]


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    with (
        pytest.raises(InvalidFileError, match="exists already, and nothing is overwritten"),
        annotated_to(tmp_path, CLASSES, labels=()),
    ):
        pass


def test_a_frame_that_is_no_picture_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="frame 3 is made from no picture"),
        annotated_to(tmp_path / "seen", CLASSES, labels=()) as write,
    ):
        write(3, Sourced((), "line 1"), ANSWER)
    assert not list(tmp_path.iterdir())
