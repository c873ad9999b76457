"""The first steps of a build read rows again where any file that holds some of them changed."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.project import load_project
from evener.errors import InputError
from evener.workflow.learn import Learning
from evener.workflow.steps import open_steps

pytest.importorskip("torch", reason="building trains, which needs the extra 'train'")


def write_tables(folder: Path) -> str:
    rows = [f"{index},{'yes' if index % 2 else 'no'}" for index in range(20)]
    for name in ("rows.csv", "more.csv"):
        (folder / name).write_text("\n".join(["a,label", *rows]))
    return 'source = "rows.csv"\ntest_source = "more.csv"'


def change_test_table(folder: Path) -> None:
    path = folder / "more.csv"
    path.write_text(path.read_text().replace("7,yes", "70,yes"))


def write_pictures(folder: Path) -> str:
    image = pytest.importorskip("PIL.Image", reason="pictures need the extra 'train'")
    for index in range(8):
        place = folder / "pictures" / ("dark", "light")[index % 2]
        place.mkdir(parents=True, exist_ok=True)
        pixels = np.full((4, 4), 20 * index, np.uint8)
        image.fromarray(pixels).save(place / f"{index}.png")
    return 'source = "pictures"\nsize = [4, 4]\ncolours = "grey"'


def change_picture(folder: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="pictures need the extra 'train'")
    image.fromarray(np.full((4, 4), 255, np.uint8)).save(folder / "pictures" / "light" / "7.png")


def write_idx(folder: Path) -> str:
    pixels = np.arange(20 * 4, dtype=np.uint8)
    (folder / "a-images-idx3-ubyte").write_bytes(
        bytes([0, 0, 8, 3, 0, 0, 0, 20, 0, 0, 0, 2, 0, 0, 0, 2]) + pixels.tobytes()
    )
    write_labels(folder, [index % 2 for index in range(20)])
    return 'source = "a-images-idx3-ubyte"'


def write_labels(folder: Path, labels: list[int]) -> None:
    content = bytes([0, 0, 8, 1, 0, 0, 0, 20, *labels])
    (folder / "a-labels-idx1-ubyte").write_bytes(content)


def change_labels(folder: Path) -> None:
    write_labels(folder, [index // 10 for index in range(20)])


@pytest.mark.parametrize(
    ("write", "change"),
    [
        (write_tables, change_test_table),
        (write_pictures, change_picture),
        (write_idx, change_labels),
    ],
)
def test_rows_are_read_again_where_any_of_their_files_changed(
    tmp_path: Path, write: Callable[[Path], str], change: Callable[[Path], None]
) -> None:
    (tmp_path / "evener.toml").write_text("[data]\n" + write(tmp_path))
    first, unchanged = read(tmp_path), read(tmp_path)

    change(tmp_path)

    assert (first[1], unchanged) == (["data"], (first[0], []))
    again, ran = read(tmp_path)
    assert ran == ["data"]
    assert again != first[0]


def read(folder: Path) -> tuple[str, list[str]]:
    """Return the hash of a project's rows, and the steps that ran for it."""
    project = load_project(folder)
    with open_steps(folder) as steps:
        learning = Learning(folder=folder, project=project, steps=steps, progress=None)
        return learning.data().value.sha256, steps.ran


@pytest.mark.parametrize(
    ("train", "why"),
    [
        ("shift = 2", r"pictures of \(1, 2, 2\) .* shifted by 2 places"),
        ('dropout = 0.5\n[search]\nnetworks = "blocks"', "train.dropout = 0.5 is for layers"),
        ("ranks = 2", "this dataset's task is numbers"),
    ],
)
def test_a_training_that_rows_are_not_made_for_is_refused_though_they_were_read_before(
    tmp_path: Path, train: str, why: str
) -> None:
    data = "[data]\n" + write_idx(tmp_path) + ('\ntask = "numbers"' if "ranks" in train else "")
    (tmp_path / "evener.toml").write_text(data)
    read(tmp_path)
    (tmp_path / "evener.toml").write_text(f"{data}\n[train]\n{train}")

    with pytest.raises(InputError, match=why):
        read(tmp_path)
