"""Run networks with OpenVINO, on one chosen core, on all of the process's, or on an Intel GPU.

OpenVINO cannot be told which cores to use. With one thread it computes in the thread that calls
it, which is pinned, so that one core can be chosen. With several it takes helpers from one pool of
the whole process, which wander between sessions; they keep to the cores of the process and to no
smaller set. So a session runs on one core, or on every core the process has.
"""

import ctypes
import os
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
import openvino  # noqa: TID251 - this is the module that runs networks with it

from evener.artifacts.processors import Processor
from evener.artifacts.profile import Execution
from evener.artifacts.tensor import Tensor
from evener.errors import RuntimeFailedError
from evener.runtime import device_number, opening, pinning, refusal, sees
from evener.runtime.binding import Bindings, Signature
from evener.runtime.devices import Device
from evener.runtime.session import Array, Optimisation, Session

NAME: Final = "openvino"
PRECISIONS: Final = ("f32",)  # 2026.4 dies on some quantised networks, and we with it
_EXACT: Final[dict[str, object]] = {"INFERENCE_PRECISION_HINT": "f32"}  # a GPU would take f16


@cache
def shared_core() -> openvino.Core:
    """Return the one Core of this process.

    A Core gives the thread that makes it a stack for signal handlers, and at its end takes that
    away and puts back the one before, unless another Core came meanwhile. So of two that end in the
    order in which they came, the second puts back a stack that is gone, and the next signal, such
    as Ctrl-C, kills the process (seen with OpenVINO 2026.4 and faulthandler's stack before).
    """
    return openvino.Core()


class OpenVino:
    """OpenVINO's CPU and GPU plugins.

    Its NPU plugin computes in half precision whatever it is told, and so is not offered for f32.
    """

    @property
    def name(self) -> str:
        """Its name in profiles and plans."""
        return NAME

    @property
    def version(self) -> str:
        """Version of the installed package."""
        return str(openvino.__version__)

    def supports(self, processor: Processor) -> bool:
        """Whether the processor is a CPU or a GPU that it sees.

        On a CPU, `open` takes one core or all of the process's.
        """
        return processor.kind == "cpu" or sees(NAME, processor.name)

    def devices(self) -> tuple[Device, ...]:
        """Return the GPUs that OpenVINO's plugin sees."""
        core = shared_core()
        return tuple(
            Device("gpu", str(core.get_property(name, "FULL_DEVICE_NAME"))) for name in _gpus(core)
        )

    def open(
        self,
        model: bytes,
        *,
        cores: tuple[int, ...],
        precision: str = "f32",
        optimisation: Optimisation = "all",  # noqa: ARG002 - OpenVINO has one level
        execution: Execution = "sequential",
        processor: str = "",
    ) -> Session:
        """Open a network on some cores; see `evener.runtime.session.Runtime.open`.

        On several cores the calling thread may run on all of them from then on, since the helpers
        it starts inherit that; `pinned` restores it at its end. OpenVINO has one optimisation
        level, so that a segment may round differently than the whole.

        Raises:
            InputError: this process may not use a core.
            RuntimeFailedError: the model cannot be run as it is, the precision or execution is not
                available, or the cores are neither one nor all.
        """
        refusal.check_sequential(NAME, execution)
        refusal.check_precision(NAME, precision, PRECISIONS)
        if not cores and processor:
            device = _gpus(shared_core())[device_number(NAME, processor)]
            return OpenVinoSession(*_compiled(model, device, _EXACT))
        _check_cores(cores)
        if len(cores) > 1:
            os.sched_setaffinity(0, cores)
        else:
            opening.check_caller(NAME, cores)
        with opening.confirmed_threads(NAME, cores) as if_misplaced:
            session = OpenVinoSession(*_compiled(model, "CPU", _cpu_settings(len(cores))))
            if_misplaced.callback(session.close)
        return session


class OpenVinoSession:
    """A network in OpenVINO, bound to the arrays of its caller without copies.

    Made by `OpenVino.open`; belongs to the thread that opened it.
    """

    def __init__(
        self, compiled: openvino.CompiledModel, inputs: frozenset[str], outputs: frozenset[str]
    ) -> None:
        self._compiled: Any = compiled
        self._thread = threading.get_ident()
        self._signature = Signature(
            tuple(_tensor(port, inputs) for port in compiled.inputs),
            tuple(_tensor(port, outputs) for port in compiled.outputs),
            runtime=NAME,
        )
        self._bindings = Bindings(self._bind, most=8)  # a request holds scratch memory of its own

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What `run` reads, in graph order; OpenVINO leaves out what no node reads."""
        return self._signature.inputs

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """What `run` writes, in graph order."""
        return self._signature.outputs

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute one frame; see `evener.runtime.session.Session.run`.

        Raises:
            RuntimeFailedError: wrong arrays or thread, a closed session, or a failing operator.
        """
        refusal.check_usable(NAME, self._compiled, self._thread)
        pointers = self._signature.pointers(inputs, outputs)
        request = self._bindings.get(pointers, inputs, outputs)
        refusal.translated(NAME, "failed in the network", request.infer)
        self._signature.pass_on(inputs, outputs)

    def close(self) -> None:
        """Give back its threads and memory; a second call does nothing."""
        self._bindings.clear()
        self._compiled = None

    def _bind(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> openvino.InferRequest:
        request = self._compiled.create_infer_request()
        for index, array in enumerate(inputs):
            request.set_input_tensor(index, openvino.Tensor(_writeable(array), shared_memory=True))
        for index, (tensor, array) in enumerate(zip(self.outputs, outputs, strict=True)):
            # Binding an output that is itself an input would put its array in the input's place.
            if not self._signature.passes(tensor):
                request.set_output_tensor(index, openvino.Tensor(array, shared_memory=True))
        return request


def _check_cores(cores: tuple[int, ...]) -> None:
    pinning.check_cores(cores)
    if len(cores) != 1 and set(cores) != pinning.PROCESS_CORES:
        raise RuntimeFailedError(
            f"{NAME} cannot be kept on cores {pinning.show_cores(cores)}: it runs on one chosen "
            f"core or on all of this process's, {pinning.show_cores(pinning.PROCESS_CORES)}; "
            "choose those, or another runtime",
            runtime=NAME,
        )


def _gpus(core: openvino.Core) -> list[str]:
    """Return its names of GPUs, such as "GPU", or "GPU.0" and "GPU.1" where there are several."""
    return [name for name in core.available_devices if name.split(".")[0] == "GPU"]


def _cpu_settings(threads: int) -> dict[str, object]:
    return _EXACT | {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "ENABLE_HYPER_THREADING": False,
        "ENABLE_CPU_PINNING": False,
    }


def _compiled(
    model: bytes, device: str, settings: Mapping[str, object]
) -> tuple[openvino.CompiledModel, frozenset[str], frozenset[str]]:
    """Return a compiled network, and the names of what the graph reads and answers."""

    def compiled() -> tuple[openvino.CompiledModel, frozenset[str], frozenset[str]]:
        core = shared_core()
        read = core.read_model(model)
        inputs, outputs = (
            frozenset(name for port in ports for name in port.names)
            for ports in (read.inputs, read.outputs)
        )
        return core.compile_model(read, device, dict(settings)), inputs, outputs

    return refusal.translated(NAME, "cannot open the network", compiled)


def _tensor(port: openvino.ConstOutput, names: frozenset[str]) -> Tensor:
    # Where an Identity was optimised away, a port also has the name of what it read.
    name = next((name for name in sorted(port.names) if name in names), port.any_name)
    if port.partial_shape.is_dynamic:
        raise RuntimeFailedError(
            f"'{name}' has the shape {port.partial_shape}, which is not fixed; give the network "
            "static shapes before it is opened",
            runtime=NAME,
        )
    dtype = refusal.translated(
        NAME,
        f"cannot exchange '{name}' as an array",
        lambda: np.dtype(port.element_type.to_dtype()),
    )
    if dtype.kind not in "fiub":
        raise RuntimeFailedError(
            f"'{name}' is {port.element_type}, which {NAME} cannot exchange as an array; use "
            "another runtime for this network",
            runtime=NAME,
        )
    return Tensor(name=name, shape=tuple(port.shape), dtype=dtype.name)


def _writeable(array: Array) -> Array:
    """See an array's memory as writeable: OpenVINO shares no other, though it only reads inputs."""
    if array.flags.writeable:
        return array
    memory = (ctypes.c_char * array.nbytes).from_address(array.ctypes.data)
    return np.ndarray(array.shape, array.dtype, buffer=memoryview(memory))
