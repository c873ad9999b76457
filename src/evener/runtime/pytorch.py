"""Run networks with PyTorch: on chosen CPU cores, or on an NVIDIA GPU as one CUDA graph.

Its import takes seconds, so that what computes with it is imported once a network is opened, or
where there is a driver for GPUs.
"""

import ctypes
from contextlib import AbstractContextManager
from importlib.metadata import version
from typing import Final

from evener.artifacts.processors import Processor
from evener.artifacts.profile import Execution
from evener.runtime import device_number, opening, pinning, refusal, sees, trial
from evener.runtime.devices import Device
from evener.runtime.pinning import PROCESS_CORES
from evener.runtime.session import Optimisation, Session

NAME: Final = "pytorch"
ON_CORES: Final = ("f32",)
ON_GPUS: Final = ("f32", "fp16")  # the model says which: it is converted before
TOLERANCES: Final = {"f32": trial.TOLERANCE, "fp16": 2e-2}
"""How far answers may be from ONNX Runtime's, relative to the largest of the output."""

_DRIVER: Final = "libcuda.so.1"


class PyTorch:
    """PyTorch on CPUs and on NVIDIA GPUs.

    Args:
        on_cores: whether it takes part on CPUs too.
    """

    def __init__(self, *, on_cores: bool = True) -> None:
        self._on_cores = on_cores

    @property
    def name(self) -> str:
        """Its name in profiles and plans."""
        return NAME

    @property
    def version(self) -> str:
        """Version of the installed package."""
        return version("torch")

    def supports(self, processor: Processor) -> bool:
        """Whether the processor is a CPU, if those are wanted, or an NVIDIA GPU that it sees."""
        if processor.kind == "cpu":
            return self._on_cores
        return sees(NAME, processor.name)

    def devices(self) -> tuple[Device, ...]:
        """Return the NVIDIA GPUs that this process may use, in CUDA's order."""
        if not _has_driver():
            return ()
        import torch  # noqa: TID251 - sees GPUs

        if torch.version.cuda is None or not torch.cuda.is_available():
            return ()
        found = map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))
        return tuple(Device("gpu", one.name, memory_bytes=one.total_memory) for one in found)

    def open(
        self,
        model: bytes,
        *,
        cores: tuple[int, ...],
        precision: str = "f32",
        optimisation: Optimisation = "all",  # noqa: ARG002 - PyTorch has one level
        execution: Execution = "sequential",
        processor: str = "",
    ) -> Session:
        """Open a network on some cores or a GPU; see `evener.runtime.session.Runtime.open`.

        The network is converted and traced first, and tried with one frame, whose answers are known
        from ONNX Runtime. On several cores the calling thread may run on all of them from then on,
        since threads that it starts inherit that; `pinned` restores it at its end.

        Raises:
            InputError: this process may not use a core, or there is no such device.
            RuntimeFailedError: the network cannot be converted, traced or captured, or answers
                otherwise; the precision or execution is not available; or a thread is not where
                it should be.
        """
        refusal.check_sequential(NAME, execution)
        if not cores and processor:
            refusal.check_precision(NAME, precision, ON_GPUS)
            number, tolerance = device_number(NAME, processor), TOLERANCES[precision]
            with _all_cores_counted():
                from evener.runtime.cuda_graph import open_on_gpu
            return open_on_gpu(model, number, tolerance=tolerance)
        refusal.check_precision(NAME, precision, ON_CORES)
        opening.check_caller(NAME, cores)
        with _all_cores_counted():
            from evener.runtime.torch_session import open_on_cores
        return open_on_cores(model, cores, tolerance=TOLERANCES[precision])


def _all_cores_counted() -> AbstractContextManager[None]:
    """Let a thread that is pinned see all cores, while PyTorch is imported.

    OpenMP and MKL count the cores once, and whatever else computes with PyTorch in this process,
    such as training, would never get more.
    """
    return pinning.allowed(PROCESS_CORES)


def _has_driver() -> bool:
    """Whether there is a driver for NVIDIA GPUs: without one, PyTorch need not be imported."""
    try:
        ctypes.CDLL(_DRIVER)
    except OSError:
        return False
    return True
