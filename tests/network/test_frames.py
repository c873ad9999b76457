"""Frames from a seed and from files."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.artifacts.tensor import Tensor
from evener.errors import InvalidDataError, InvalidFileError
from evener.network.frames import load_frames, random_frames

IMAGE = Tensor(name="image", shape=(3, 4), dtype="float32")
TOKENS = Tensor(name="tokens", shape=(5,), dtype="int64")
INPUTS = (IMAGE, TOKENS)


def saved(folder: Path, **arrays: object) -> Path:
    path = folder / "frames.npz"
    np.savez(path, **{name: np.asarray(array) for name, array in arrays.items()})  # type: ignore[arg-type] # an input called allow_pickle is not tried here
    return path


@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 2**32))
def test_a_frame_is_the_same_however_many_are_drawn(few: int, many: int, seed: int) -> None:
    first, second = random_frames(INPUTS, few, seed), random_frames(INPUTS, many, seed)

    assert (len(first), len(second)) == (few, many)
    for one, other in zip(first, second, strict=False):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_frames_differ_from_one_another_between_inputs_and_between_seeds() -> None:
    (a, b), (c, _) = random_frames((IMAGE, IMAGE), 2, 0)
    ((d, _),) = random_frames((IMAGE, IMAGE), 1, 1)

    assert len({array.tobytes() for array in (a, b, c, d)}) == 4


@pytest.mark.parametrize(
    ("dtype", "least", "most"),
    [
        ("float16", -6, 6),
        ("float64", -6, 6),
        ("bool", 0, 1),
        ("int32", 0, 1),
        ("int64", 0, 1),
        ("uint8", 0, 255),
        ("int8", -128, 127),
    ],
)
def test_drawn_numbers_are_of_the_type_and_in_its_range(
    dtype: str, least: float, most: float
) -> None:
    tensor = Tensor(name="x", shape=(50, 50), dtype=dtype)

    ((array,),) = random_frames((tensor,), 1, 0)

    assert array.dtype == dtype
    assert array.shape == tensor.shape
    assert array.flags.c_contiguous
    assert least <= array.min() < array.max() <= most
    if dtype in ("uint8", "int8"):
        assert (array.min(), array.max()) == (least, most)


def test_frames_are_read_in_the_order_of_the_inputs(tmp_path: Path) -> None:
    images = np.random.default_rng(0).standard_normal((2, 3, 4))
    tokens = np.arange(10, dtype=np.int32).reshape(2, 5)
    path = saved(tmp_path, tokens=tokens, image=images.astype(np.float32))

    frames = load_frames(path, INPUTS)

    assert len(frames) == 2
    assert np.array_equal(frames[1][0], images[1].astype(np.float32))
    assert frames[1][1].tolist() == [5, 6, 7, 8, 9]
    assert frames[1][1].dtype == np.int64
    assert all(array.flags.c_contiguous for frame in frames for array in frame)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="cannot read .*nowhere.npz: No such file"):
        load_frames(tmp_path / "nowhere.npz", INPUTS)


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    text, array, cut = tmp_path / "a.npz", tmp_path / "b.npz", tmp_path / "c.npz"
    text.write_text("a,b\n1,2\n")
    with array.open("wb") as file:
        np.save(file, np.ones(3))
    cut.write_bytes(saved(tmp_path, image=np.ones((9, 3, 4))).read_bytes()[:300])

    for path in (text, array, cut):
        with pytest.raises(InvalidFileError, match="no npz file of plain arrays"):
            load_frames(path, INPUTS)


def test_an_encrypted_file_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, image=np.ones((1, 3, 4), np.float32))
    content = bytearray(path.read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(header) + flags] |= 1
    path.write_bytes(content)

    with pytest.raises(InvalidFileError, match=r"no npz file of plain arrays .*encrypted"):
        load_frames(path, INPUTS)


def test_pickled_objects_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, image=np.array([{"a": 1}], dtype=object))

    with pytest.raises(InvalidFileError, match="no npz file of plain arrays"):
        load_frames(path, INPUTS)


def test_a_missing_input_is_refused_with_what_there_is(tmp_path: Path) -> None:
    path = saved(tmp_path, image=np.ones((2, 3, 4), np.float32))

    with pytest.raises(
        InvalidDataError, match="no array for the input 'tokens'; .* image"
    ) as caught:
        load_frames(path, INPUTS)
    assert caught.value.column == "tokens"


def test_an_array_for_no_input_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, image=np.ones((2, 3, 4), np.float32), extra=np.ones(2))

    with pytest.raises(InvalidDataError, match="array 'extra', which is no input; inputs: image"):
        load_frames(path, INPUTS)


@pytest.mark.parametrize("shape", [(2, 3, 5), (3, 4), ()])
def test_another_shape_is_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    path = saved(tmp_path, image=np.ones(shape, np.float32))

    with pytest.raises(InvalidDataError, match=r"has the shape \(.*\('frames', 3, 4\)"):
        load_frames(path, (IMAGE,))


def test_a_type_that_would_lose_digits_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, image=np.ones((2, 3, 4)))

    with pytest.raises(InvalidDataError, match="is float64, .*float32 without loss.*astype"):
        load_frames(path, (IMAGE,))


def test_no_frames_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, image=np.ones((0, 3, 4), np.float32))

    with pytest.raises(InvalidDataError, match="'image' in .* holds no frames"):
        load_frames(path, (IMAGE,))


def test_unequal_numbers_of_frames_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, image=np.ones((2, 3, 4), np.float32), tokens=np.ones((3, 5), np.int64))

    with pytest.raises(InvalidDataError, match="unequal numbers of frames: 2 of image, 3 of token"):
        load_frames(path, INPUTS)


def test_nan_is_refused_with_the_frame(tmp_path: Path) -> None:
    images = np.ones((3, 3, 4), np.float32)
    images[1, 0, 0] = np.nan

    with pytest.raises(InvalidDataError, match="holds NaN, first in frame 1"):
        load_frames(saved(tmp_path, image=images), (IMAGE,))
