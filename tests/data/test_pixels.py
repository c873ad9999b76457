"""Pictures become what a network reads: its size, its layout, its numbers."""

from typing import Any

import numpy as np
import pytest

from evener.artifacts.tensor import Tensor
from evener.data.pixels import Lens, Pixels
from evener.errors import InputError, MissingExtraError

Image = pytest.importorskip("PIL.Image", reason="needs the extra 'images'")


def tensor(*shape: int, dtype: str = "float32") -> tuple[Tensor, ...]:
    return (Tensor(name="image", shape=shape, dtype=dtype),)


def through(lens: Lens, image: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401 - Pillow may be absent
    return lens.numbers(lens.resize(image))


def plain(red: int, green: int, blue: int, *, size: tuple[int, int] = (8, 8)) -> Any:  # noqa: ANN401 - as above
    return Image.new("RGB", size, (red, green, blue))


@pytest.mark.parametrize("shape", [(1, 3, 4, 6), (3, 4, 6)])
def test_channels_come_first_where_the_input_has_them_there(shape: tuple[int, ...]) -> None:
    array = through(Lens(tensor(*shape), Pixels(preset="raw")), plain(1, 2, 3))

    assert array.shape == shape
    assert array.dtype == np.float32
    assert array.flags.c_contiguous
    assert array.reshape(3, -1).tolist() == [[1] * 24, [2] * 24, [3] * 24]


def test_channels_come_last_where_the_input_has_them_there() -> None:
    array = through(Lens(tensor(1, 4, 6, 3), Pixels(preset="raw")), plain(1, 2, 3))

    assert array.shape == (1, 4, 6, 3)
    assert array[0, 0, 0].tolist() == [1, 2, 3]


def test_colour_becomes_grey_for_a_network_of_one_channel() -> None:
    array = through(Lens(tensor(1, 1, 4, 4), Pixels()), plain(255, 255, 255))

    assert array.reshape(-1).tolist() == [1.0] * 16


@pytest.mark.parametrize(
    ("pixels", "expected"),
    [
        (Pixels(), [(1 - 0.485) / 0.229, (0 - 0.456) / 0.224, (0.2 - 0.406) / 0.225]),
        (Pixels(preset="unit"), [1, 0, 0.2]),
        (Pixels(preset="signed"), [1, -1, -0.6]),
        (Pixels(preset="raw"), [255, 0, 51]),
        (Pixels(preset="raw", mean=(5.0,), std=(2.0, 1.0, 4.0)), [125, -5, 11.5]),
        (Pixels(preset="unit", scale=2.0), [510, 0, 102]),
    ],
)
def test_values_are_scaled_then_shifted_then_divided(pixels: Pixels, expected: list[float]) -> None:
    array = through(Lens(tensor(1, 2, 2, 3), pixels), plain(255, 0, 51))

    assert array[0, 0, 0] == pytest.approx(expected, rel=1e-6)


def test_a_network_of_bytes_gets_them_as_they_are() -> None:
    array = through(Lens(tensor(1, 2, 2, 3, dtype="uint8"), Pixels()), plain(255, 0, 51))

    assert array.dtype == np.uint8
    assert array[0, 1, 1].tolist() == [255, 0, 51]


def test_a_wide_picture_is_cropped_stretched_or_padded() -> None:
    image = plain(0, 0, 0, size=(8, 4))
    image.paste((255, 255, 255), (0, 0, 4, 4))  # the left half is white
    wanted = tensor(1, 4, 4, 1)

    shown = {
        fit: through(Lens(wanted, Pixels(preset="raw", fit=fit)), image)[0, :, :, 0]
        for fit in ("crop", "stretch", "pad")
    }

    assert shown["crop"][0].tolist() == [255, 255, 0, 0]
    assert shown["stretch"][0, 0] == 255
    assert shown["stretch"][3, 3] == 0
    assert not shown["pad"][0].any()
    assert shown["pad"][1:3, 0].tolist() == [255, 255]


@pytest.mark.parametrize(
    "inputs",
    [
        tensor(1, 64),
        tensor(2, 3, 4, 4),
        tensor(1, 5, 4, 4),
        (*tensor(1, 3, 4, 4), *tensor(1, 3, 4, 4)),
        tensor(1, 3, 4, 4, dtype="bool"),
    ],
)
def test_a_network_that_reads_no_picture_is_refused(inputs: tuple[Tensor, ...]) -> None:
    with pytest.raises(InputError, match=r"reads 'image' .*, and a picture makes one input"):
        Lens(inputs, Pixels())


@pytest.mark.parametrize(
    ("pixels", "message"),
    [
        (Pixels(mean=(1.0, 2.0)), "--mean gives 2 numbers, and 'image' has 3 channels"),
        (Pixels(std=(0.0,)), "a std of 0 divides by nothing"),
    ],
)
def test_numbers_that_fit_no_channel_are_refused(pixels: Pixels, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Lens(tensor(1, 3, 4, 4), pixels)


def test_without_pillow_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'evener\[images\]'"):
        Lens(tensor(1, 3, 4, 4), Pixels())
