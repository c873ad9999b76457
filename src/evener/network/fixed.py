"""Fix inputs to one number for good: they become constants, and with them what follows."""

from collections.abc import Mapping
from math import isinf
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from evener.errors import InvalidNetworkError
from evener.hints import did_you_mean
from evener.network.graph import HANDED_OVER, static_shape


def fix_inputs(graph: ir.Graph, fixed: Mapping[str, float]) -> None:
    """Turn inputs into constants, in place.

    Args:
        graph: one whose inputs have static shapes.
        fixed: number by name of input; every element of the input becomes it.

    Raises:
        InvalidNetworkError: no input of that name, one that is no tensor of numbers, a number
            that its element type cannot hold, or no input would be left.
    """
    by_name = {value.name or "": value for value in graph.inputs}
    for name, number in fixed.items():
        if name not in by_name:
            hint = did_you_mean(name, by_name)
            raise InvalidNetworkError(
                f"'{name}' is fixed to {number:g}, and is no input; {hint}"
                f"inputs: {', '.join(by_name)}"
            )
        value = by_name[name]
        value.const_value = ir.tensor(_filled(value, number), name=name)
        graph.inputs.remove(value)
        graph.register_initializer(value)
    if not graph.inputs:
        raise InvalidNetworkError(
            f"every input is fixed ({', '.join(fixed)}), so that no frame would change the answer; "
            "leave one open"
        )


def _filled(value: ir.Value, number: float) -> NDArray[Any]:
    shape = static_shape(value)
    if shape is None or value.dtype not in HANDED_OVER:
        raise InvalidNetworkError(
            f"the input '{value.name}' has elements of type {value.dtype}, which cannot be fixed "
            "to a number; leave it open"
        )
    dtype = value.dtype.numpy()
    with np.errstate(over="ignore", invalid="ignore"):  # what does not fit is refused below
        held = np.array(number).astype(dtype)
    lost = isinf(held) and not isinf(number) if dtype.kind == "f" else held != number
    if lost:
        raise InvalidNetworkError(
            f"the input '{value.name}' is {dtype.name} and cannot be {number:g}; give a number "
            "that it can hold"
        )
    return np.full(shape, held)
