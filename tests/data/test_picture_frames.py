"""A picture or a folder of pictures becomes frames."""

from pathlib import Path

import pytest

from evener.artifacts.tensor import Tensor
from evener.data.picture_frames import read_pictures
from evener.data.pixels import Pixels
from evener.errors import InvalidDataError, InvalidFileError

Image = pytest.importorskip("PIL.Image", reason="needs the extra 'images'")
INPUTS = (Tensor(name="image", shape=(1, 3, 2, 2), dtype="float32"),)
RAW = Pixels(preset="raw")


def save(path: Path, value: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4), (value, value, value)).save(path)


def test_pictures_come_in_the_order_of_their_names_from_folders_below_too(tmp_path: Path) -> None:
    for value, name in enumerate(("dog/1.png", "cat/2.bmp", "cat/1.PNG")):
        save(tmp_path / name, value)
    (tmp_path / "notes.txt").write_text("no picture")

    source = read_pictures(tmp_path, INPUTS, RAW)
    frames = list(source.frames)

    assert source.count == 3
    assert [one.id for one in frames] == ["cat/1.PNG", "cat/2.bmp", "dog/1.png"]
    assert [int(one.frame[0].max()) for one in frames] == [2, 1, 0]
    assert [one.picture.shape for one in frames if one.picture is not None] == [(2, 2, 3)] * 3


def test_one_picture_is_one_frame(tmp_path: Path) -> None:
    save(tmp_path / "a.png", 9)

    (one,) = read_pictures(tmp_path / "a.png", INPUTS, RAW).frames

    assert one.id == "a.png"


def test_a_picture_taken_sideways_is_turned_upright(tmp_path: Path) -> None:
    image = Image.new("RGB", (4, 4))
    image.paste((255, 255, 255), (0, 0, 4, 2))  # the upper half is white
    exif = Image.Exif()
    exif[0x0112] = 3  # turned by 180 degrees
    image.save(tmp_path / "a.png", exif=exif)

    (one,) = read_pictures(tmp_path / "a.png", INPUTS, RAW).frames

    assert (one.frame[0][0, 0] > 127).tolist() == [[False, False], [True, True]]


def test_a_folder_without_pictures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"holds no picture; give a folder with files of"):
        read_pictures(tmp_path, INPUTS, RAW)


@pytest.mark.parametrize("content", [b"", b"no picture", b"\x89PNG\r\n\x1a\n" + b"broken" * 20])
def test_a_file_that_is_no_picture_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(content)

    with pytest.raises(InvalidFileError, match="cannot read the picture .*a.png: .*; replace or"):
        list(read_pictures(tmp_path, INPUTS, RAW).frames)


def test_a_missing_picture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="cannot read the picture .*: No such file"):
        list(read_pictures(tmp_path / "none.png", INPUTS, RAW).frames)
