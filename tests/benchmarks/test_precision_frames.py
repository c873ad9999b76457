"""Pictures for networks in fewer bits."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from precision_frames import dogs, lines_of_text, texts_on_photographs

Make = Callable[[int], list[NDArray[np.float32]]]
MAKERS: dict[str, tuple[Make, tuple[int, ...]]] = {
    "texts on photographs": (lambda count: texts_on_photographs(count, 64), (3, 64, 64)),
    "lines of text": (lambda count: lines_of_text(count, 48, 96), (3, 48, 96)),
}


@pytest.mark.parametrize("name", MAKERS)
def test_frames_are_all_different_and_the_same_each_time(name: str) -> None:
    make, shape = MAKERS[name]

    frames = make(6)

    assert {frame.shape for frame in frames} == {shape}
    assert {frame.dtype for frame in frames} == {np.dtype(np.float32)}
    assert all(frame.flags.c_contiguous for frame in frames)
    assert all(-1 <= frame.min() < frame.max() <= 1 for frame in frames)
    assert len({frame.tobytes() for frame in frames}) == 6
    assert [one.tobytes() for one in make(6)] == [one.tobytes() for one in frames]


def jpeg(colour: tuple[int, int, int]) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (32, 32), colour).save(file, "JPEG", quality=95)
    return file.getvalue()


def test_dogs_come_from_the_training_and_the_test_set_by_turns(tmp_path: Path) -> None:
    dark, bright, cat = (0, 0, 0), (255, 255, 255), (255, 0, 0)
    arrays: dict[str, Any] = {}
    for part, colour in (("train", dark), ("test", bright)):
        files = [jpeg(one) for one in (cat, colour, colour)]
        arrays[f"{part}_jpeg"] = np.frombuffer(b"".join(files), np.uint8)
        arrays[f"{part}_offsets"] = np.cumsum([0, *map(len, files)])
        arrays[f"y_{part}"] = np.array([3, 5, 5])
    np.savez(tmp_path / "cifar.npz", **arrays)

    frames = dogs(4, 40, tmp_path / "cifar.npz")

    assert [frame.shape for frame in frames] == [(3, 40, 40)] * 4
    assert [round(float(frame.mean())) for frame in frames] == [-1, 1, -1, 1]
