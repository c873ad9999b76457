"""What sessions check and keep about their caller's arrays."""

from collections.abc import Sequence

import numpy as np
import pytest

from evener.artifacts.tensor import Tensor
from evener.errors import RuntimeFailedError
from evener.runtime.binding import Bindings, Signature
from evener.runtime.session import Array

X = Tensor(name="x", shape=(2,), dtype="float32")
Y = Tensor(name="y", shape=(), dtype="int64")


def test_the_same_arrays_are_bound_once_and_the_oldest_are_forgotten() -> None:
    made = []

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> int:
        made.append((inputs, outputs))
        return len(made)

    bindings = Bindings(bind, most=2)

    assert [bindings.get((p,), [], []) for p in (1, 2, 1, 3, 1, 2)] == [1, 2, 1, 3, 1, 4]
    assert len(bindings) == 2


def test_pointers_are_those_of_the_arrays() -> None:
    x, y = np.zeros(2, np.float32), np.zeros((), np.int64)

    assert Signature((X,), (Y,), runtime="r").pointers([x], [y]) == (x.ctypes.data, y.ctypes.data)


def test_an_output_that_may_not_be_written_is_refused() -> None:
    y = np.zeros((), np.int64)
    y.flags.writeable = False

    with pytest.raises(RuntimeFailedError, match="C-contiguous writeable array for 'y'"):
        Signature((X,), (Y,), runtime="r").pointers([np.zeros(2, np.float32)], [y])


def test_a_wrong_array_is_described_beside_what_was_expected() -> None:
    with pytest.raises(RuntimeFailedError, match=r"float64 \[3\] for 'x', which is float32 \[2\]"):
        Signature((X,), (), runtime="r").pointers([np.zeros(3)], [])
