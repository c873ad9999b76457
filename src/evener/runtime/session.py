"""The two protocols of a runtime: one opens a network on some cores, the other runs it.

Whoever adds a runtime implements both and proves it with `evener.testing.session_contract`.
"""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.processors import Processor
from evener.artifacts.profile import Execution
from evener.artifacts.tensor import Tensor
from evener.runtime.devices import Device

Array = NDArray[Any]
Optimisation = Literal["extended", "all"]


class Session(Protocol):
    """One network on one core set, ready to run.

    One thread at a time may call `run`; it blocks until the outputs are written. A session that
    was opened in a thread must be run in that thread, which is pinned like its own threads.
    """

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What `run` reads, in graph order."""
        ...

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """What `run` writes, in graph order."""
        ...

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute one frame.

        Args:
            inputs: C-contiguous arrays owned by the caller, in graph order; only read.
            outputs: C-contiguous arrays owned by the caller, in graph order; overwritten.

        Raises:
            RuntimeFailedError: the runtime could not run it.
        """
        ...

    def close(self) -> None:
        """Give back its threads and memory; a second call does nothing."""
        ...


@runtime_checkable
class Runtime(Protocol):
    """A way to execute ONNX networks."""

    @property
    def name(self) -> str:
        """Its name in profiles and plans, such as "onnxruntime"."""
        ...

    @property
    def version(self) -> str:
        """Version of the installed package."""
        ...

    def supports(self, processor: Processor) -> bool:
        """Whether it can run networks on this processor."""
        ...

    def open(
        self,
        model: bytes,
        *,
        cores: tuple[int, ...],
        precision: str = "f32",
        optimisation: Optimisation = "all",
        execution: Execution = "sequential",
        processor: str = "",
    ) -> Session:
        """Open a network on some cores, one thread a core, every thread pinned; or on a device.

        The calling thread is one of them: it must already be pinned to the first core (see
        `evener.runtime.pinning.pinned`), and must be the one that calls `run`.

        Args:
            model: a serialised ONNX model with static shapes.
            cores: logical CPUs; none for a device.
            precision: element type to compute in.
            optimisation: "extended" computes every segment as it computes the whole, to the bit;
                "all" may be faster and rounds differently.
            execution: "parallel" computes branches at once, each on one core; "sequential" one
                node after the other, each on all cores.
            processor: name of the processor, which tells devices apart (see
                `evener.runtime.device_number`); cores need none.

        Raises:
            RuntimeFailedError: the runtime refuses the model, or cannot execute it so.
        """
        ...


@runtime_checkable
class DeviceRuntime(Runtime, Protocol):
    """A runtime that can also use devices: GPUs or NPUs."""

    def devices(self) -> Sequence[Device]:
        """Return the devices it sees, in an order that stays while the process lives.

        Sees none where a driver is missing; raises nothing for that.
        """
        ...


def empty(tensor: Tensor) -> Array:
    """Make an uninitialised C-contiguous array for a tensor.

    Example:
        >>> empty(Tensor(name="x", shape=(2, 3), dtype="float32")).shape
        (2, 3)
    """
    return np.empty(tensor.shape, dtype=tensor.dtype)
