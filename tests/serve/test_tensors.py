"""Tensors in the two forms of the protocol: nothing is lost, and nothing is let in that is none."""

import json
import struct
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from evener.artifacts.tensor import Tensor
from evener.errors import InputError
from evener.serve.tensors import from_bytes, from_json, to_bytes, to_json

DTYPES = ["bool", *(f"{sign}int{bits}" for sign in ("u", "") for bits in (8, 16, 32, 64))]
FLOATS = ["float16", "float32", "float64"]
SHAPE = (2, 3)


def tensor(dtype: str, shape: tuple[int, ...] = SHAPE) -> Tensor:
    return Tensor(name="x", shape=shape, dtype=dtype)


def of(dtype: str) -> st.SearchStrategy[Any]:
    """Draw arrays without NaN and infinity; floats from all their bits."""
    if dtype not in FLOATS:
        return arrays.arrays(dtype, SHAPE)
    bits = arrays.arrays(f"uint{np.dtype(dtype).itemsize * 8}", SHAPE).map(lambda a: a.view(dtype))
    return bits.map(lambda array: np.where(np.isfinite(array), array, np.zeros_like(array)))


@pytest.mark.parametrize("dtype", DTYPES + FLOATS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_json_gives_back_every_element_to_the_bit(dtype: str, data: st.DataObject) -> None:
    array = data.draw(of(dtype))
    flat = msgspec.json.encode(to_json(array, tensor(dtype)))
    nested = msgspec.json.encode(array.tolist())

    for text in (flat, nested):
        back = from_json(msgspec.Raw(text), tensor(dtype))
        assert (back.dtype, back.shape) == (array.dtype, SHAPE)
        assert back.tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", DTYPES + FLOATS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_another_reader_of_json_reads_the_same_numbers(dtype: str, data: st.DataObject) -> None:
    array = data.draw(of(dtype))

    read = json.loads(msgspec.json.encode(to_json(array, tensor(dtype))))

    assert np.array(read, dtype).tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", DTYPES + FLOATS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_bytes_give_back_every_element_to_the_bit(dtype: str, data: st.DataObject) -> None:
    array = data.draw(arrays.arrays(dtype, SHAPE))

    back = from_bytes(memoryview(b"." + to_bytes(array))[1:], tensor(dtype))

    assert (back.dtype, back.shape, back.flags.aligned) == (array.dtype, SHAPE, True)
    assert back.tobytes() == array.tobytes()


def test_bytes_are_little_endian() -> None:
    assert to_bytes(np.array([1, 2], ">i4")) == struct.pack("<2i", 1, 2)
    assert from_bytes(memoryview(struct.pack("<2i", 1, 2)), tensor("int32", (2,))).tolist() == [
        1,
        2,
    ]


@pytest.mark.parametrize(
    ("dtype", "text", "message"),
    [
        ("float32", "[1,2,3]", r"holds 3 elements as \[3\]; \[2, 3\] are needed"),
        ("float32", "[[1,2],[3,4],[5,6]]", r"holds 6 elements as \[3, 2\]; \[2, 3\] are needed"),
        ("float32", "[[1,2,3],[4,5]]", r"has rows of unequal length; its shape is \[2, 3\]"),
        ("float32", "[[[1,2,3],[4,5,6]]]", "is nested 3 deep; give one array of its elements"),
        ("float32", "[" * 5000, "is nested 5000 deep"),
        ("float32", "7", "is nested 0 deep"),
        ("float32", '[1,2,3,4,5,"6"]', r"is no FP32: Expected `float`, got `str` - at `\$\[5\]`"),
        ("float32", "[1,2,3,4,5,null]", "is no FP32: Expected `float`, got `null`"),
        ("float32", "[1,2,3,4,5,true]", "is no FP32: Expected `float`, got `bool`"),
        ("float32", "[1,2,3,4,5,1e39]", "holds a number that FP32 cannot"),
        ("float16", "[1,2,3,4,5,70000]", "holds a number that FP16 cannot"),
        ("int8", "[1,2,3,4,5,6.5]", "is no INT8: Expected `int`, got `float`"),
        ("int8", "[1,2,3,4,5,128]", r"is no INT8: Expected `int` <= 127 - at `\$\[5\]`"),
        ("uint8", "[1,2,3,4,5,-1]", "is no UINT8: Expected `int` >= 0"),
        ("uint64", "[1,2,3,4,5,18446744073709551616]", "holds a number that UINT64 cannot"),
        ("uint64", "[1,2,3,4,5,-1]", "holds a number that UINT64 cannot"),
        ("int64", "[-1,2,3,4,5,9223372036854775808]", "holds a number that INT64 cannot"),
        ("bool", "[true,false,true,true,true,1]", "is no BOOL: Expected `bool`, got `int`"),
    ],
)
def test_data_that_is_no_such_tensor_is_refused(dtype: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_json(msgspec.Raw(text.encode()), tensor(dtype))


def test_bytes_that_are_no_such_tensor_are_refused() -> None:
    with pytest.raises(InputError, match=r"'x' has 5 bytes of binary data; FP32 \[2, 3\] takes 24"):
        from_bytes(memoryview(b"12345"), tensor("float32"))
    with pytest.raises(InputError, match="is BOOL, and a byte of it is neither 0 nor 1"):
        from_bytes(memoryview(bytes([0, 1, 2, 0, 1, 0])), tensor("bool"))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_json_cannot_say_is_not_said_wrongly(value: float) -> None:
    with pytest.raises(InputError, match="'x' holds NaN or infinity, which JSON cannot say; ask"):
        to_json(np.full(SHAPE, value, np.float32), tensor("float32"))
