"""Pictures become rows that training reads."""

from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.project import DataSection
from evener.data.convert import convert_pictures, targets_of
from evener.data.load import load_dataset
from evener.errors import InputError, InvalidDataError, InvalidFileError

Image = pytest.importorskip("PIL.Image", reason="needs the extra 'images'")
GREY_51 = float(np.float32(51) * np.float32(1 / 255))


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Return a folder of three black, white and grey pictures each, their upper half darker."""
    folder = tmp_path / "pictures"
    for value, name in ((255, "white"), (51, "black"), (102, "grey")):
        (folder / name).mkdir(parents=True)
        for number in range(3):
            image = Image.new("L", (2, 2), value)
            image.paste(0, (0, 0, 2, 1))
            image.save(folder / name / f"{number}.png")
    return folder


@pytest.mark.parametrize("kind", [".npz", ".csv"])
def test_training_reads_the_rows_with_the_folders_as_labels(
    pictures: Path, tmp_path: Path, kind: str
) -> None:
    found = convert_pictures(pictures, tmp_path / f"rows{kind}", size=(2, 2))
    dataset = load_dataset(DataSection(source=f"rows{kind}"), tmp_path)

    assert (found.rows, found.features, found.classes) == (9, 4, ("black", "grey", "white"))
    assert dataset.classes == ("black", "grey", "white")
    rows = {
        dataset.classes[label]: row
        for row, label in zip(dataset.features.tolist(), dataset.labels.tolist(), strict=True)
    }
    # A table's columns that never change, here those of the black half, are left out.
    half = [0.0, 0.0] if kind == ".npz" else []
    assert rows["white"] == [*half, 1, 1]
    assert rows["black"] == pytest.approx([*half, 0.2, 0.2])


def test_text_is_a_row_a_line_and_labels_stand_beside_it(pictures: Path, tmp_path: Path) -> None:
    found = convert_pictures(pictures, tmp_path / "rows.txt", size=(2, 2))

    assert [Path(file).name for file in found.files] == ["rows.txt", "rows.labels.txt"]
    inputs, labels = (np.loadtxt(path, dtype=np.float32) for path in found.files)
    assert inputs.shape == (9, 4)
    assert inputs[0].tolist() == [0.0, 0.0, GREY_51, GREY_51]  # what was written, to the bit
    assert labels.argmax(1).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert labels.sum(1).tolist() == [1.0] * 9


def test_colours_are_three_numbers_a_pixel_row_by_row(tmp_path: Path) -> None:
    image = Image.new("RGB", (2, 1))
    image.putpixel((0, 0), (255, 0, 51))
    image.save(tmp_path / "a.png")

    convert_pictures(tmp_path / "a.png", tmp_path / "a.npz", size=(2, 1), colours="rgb")

    with np.load(tmp_path / "a.npz") as stored:
        assert stored["x"].tolist() == [[1.0, 0.0, GREY_51, 0.0, 0.0, 0.0]]
        assert stored.files == ["x"]  # no folders, no labels


def test_text_without_labels_is_one_file(tmp_path: Path) -> None:
    Image.new("L", (2, 2)).save(tmp_path / "a.png")

    found = convert_pictures(tmp_path, tmp_path / "rows.txt", size=(1, 1))

    assert found.files == (str(tmp_path / "rows.txt"),)
    assert (tmp_path / "rows.txt").read_text() == "0\n"


def test_pictures_beside_folders_have_no_class(pictures: Path, tmp_path: Path) -> None:
    Image.new("L", (2, 2)).save(pictures / "stray.png")

    with pytest.raises(InvalidDataError, match="1 of 10 pictures are in no folder of their own"):
        convert_pictures(pictures, tmp_path / "rows.npz", size=(2, 2))
    assert not (tmp_path / "rows.npz").exists()


def test_a_broken_picture_is_named_and_nothing_is_written(pictures: Path, tmp_path: Path) -> None:
    (pictures / "grey" / "0.png").write_bytes(b"no picture")

    with pytest.raises(InvalidFileError, match=r"cannot read the picture .*grey/0\.png"):
        convert_pictures(pictures, tmp_path / "rows.npz", size=(2, 2))
    assert not (tmp_path / "rows.npz").exists()


def test_only_three_forms_are_written() -> None:
    with pytest.raises(InputError, match=r"'rows\.parquet' does not end in \.npz, \.csv, \.txt"):
        targets_of(Path("rows.parquet"))
