"""What every session checks and keeps about the arrays of its caller."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

import numpy as np

from evener.artifacts.tensor import Tensor
from evener.errors import RuntimeFailedError
from evener.runtime.session import Array

Pointers = tuple[int, ...]
BoundT = TypeVar("BoundT")
MOST_BINDINGS: Final = 64


class Signature:
    """The tensors that a session reads and writes, ready to be checked against arrays.

    Args:
        inputs: what it reads, in graph order.
        outputs: what it writes, in graph order.
        runtime: name of the runtime, for messages.
    """

    def __init__(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], *, runtime: str
    ) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self._runtime = runtime
        self._names = [tensor.name for tensor in inputs]
        self._passed = [
            (self._names.index(tensor.name), index)
            for index, tensor in enumerate(outputs)
            if self.passes(tensor)
        ]
        self._expected = tuple(
            (tensor.shape, np.dtype(tensor.dtype), index >= len(inputs), tensor)
            for index, tensor in enumerate((*inputs, *outputs))
        )

    def pointers(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Pointers:
        """Check the arrays of a call and return where their elements lie.

        Raises:
            RuntimeFailedError: a wrong count, shape, element type or memory layout.
        """
        if len(inputs) != len(self.inputs) or len(outputs) != len(self.outputs):
            raise RuntimeFailedError(
                f"{self._runtime} was given {len(inputs)} inputs and {len(outputs)} outputs; the "
                f"network has {len(self.inputs)} and {len(self.outputs)}",
                runtime=self._runtime,
            )
        arrays = (*inputs, *outputs)
        for array, (shape, dtype, written, tensor) in zip(arrays, self._expected, strict=True):
            flags = array.flags
            if array.shape != shape or array.dtype != dtype:
                raise RuntimeFailedError(
                    f"{self._runtime} was given {array.dtype} {list(array.shape)} for "
                    f"'{tensor.name}', which is {tensor.dtype} {list(shape)}",
                    runtime=self._runtime,
                )
            if not flags.c_contiguous or (written and not flags.writeable):
                raise RuntimeFailedError(
                    f"{self._runtime} needs a C-contiguous{' writeable' if written else ''} array "
                    f"for '{tensor.name}'; copy it with numpy.ascontiguousarray",
                    runtime=self._runtime,
                )
        return tuple([array.__array_interface__["data"][0] for array in arrays])

    def passes(self, output: Tensor) -> bool:
        """Whether an output is itself an input of the graph, handed on as it is."""
        return output.name in self._names

    def pass_on(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Write the outputs that are inputs of the graph; runtimes differ in how they fail to."""
        for source, target in self._passed:
            np.copyto(outputs[target], inputs[source])


class Bindings(Generic[BoundT]):
    """What was bound to which arrays: a bounded memory of the most recent.

    Callers use the same few slots again and again, so that binding costs once per slot. A caller
    with ever new arrays pays each time, and holds no more than `most` bindings.

    Args:
        bind: makes a binding for arrays.
        most: how many are kept.
    """

    def __init__(
        self,
        bind: Callable[[Sequence[Array], Sequence[Array]], BoundT],
        *,
        most: int = MOST_BINDINGS,
    ) -> None:
        self._bind = bind
        self._most = most
        self._kept: OrderedDict[Pointers, BoundT] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, pointers: Pointers, inputs: Sequence[Array], outputs: Sequence[Array]) -> BoundT:
        """Return the binding for arrays, made on the first call with them."""
        bound = self._kept.get(pointers)
        if bound is not None:
            self._kept.move_to_end(pointers)
            return bound
        bound = self._bind(inputs, outputs)
        self._kept[pointers] = bound
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return bound

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()
