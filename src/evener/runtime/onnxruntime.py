"""Run networks with ONNX Runtime on chosen CPU cores, one pinned thread a core, or on a GPU.

The first thread of a session is its caller's; the pool's others are pinned by
`session.intra_op_thread_affinities`, and the kernel is asked whether they are. A failing affinity
call is no error to ONNX Runtime: the thread just stays where its maker was.
"""

import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime  # noqa: TID251 - this is the module that runs networks with it

from evener.artifacts.processors import Processor
from evener.artifacts.profile import Execution
from evener.artifacts.tensor import Tensor
from evener.errors import RuntimeFailedError
from evener.runtime import cuda, device_number, opening, pinning, refusal, sees
from evener.runtime.binding import Bindings, Signature
from evener.runtime.devices import Device
from evener.runtime.session import Array, Optimisation, Session

NAME: Final = "onnxruntime"
PRECISIONS: Final = ("f32", "fp16", "int8")  # the model says which: it is converted before
_PROVIDER: Final = "CPUExecutionProvider"
_LEVELS: Final = {
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
_WEIGHTS_ALONE: Final = ("optimization.disable_specified_optimizers", "WeightBiasQuantization")
"""Keeps it from quantising what a converter left in f32 between two parts in 8 bits: it would take
one scale for all channels of a weight."""
_SILENT: Final = 4  # log only what is fatal: every other failure arrives as an exception
_DTYPES: Final = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(float16)": "float16",
    "tensor(int8)": "int8",
    "tensor(int16)": "int16",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
    "tensor(uint8)": "uint8",
    "tensor(uint16)": "uint16",
    "tensor(uint32)": "uint32",
    "tensor(uint64)": "uint64",
    "tensor(bool)": "bool",
    "tensor(string)": "object",
}


class OnnxRuntime:
    """ONNX Runtime: its CPU execution provider, and its CUDA provider where that is."""

    @property
    def name(self) -> str:
        """Its name in profiles and plans."""
        return NAME

    @property
    def version(self) -> str:
        """Version of the installed package."""
        return str(onnxruntime.__version__)

    def supports(self, processor: Processor) -> bool:
        """Whether the processor is a CPU or an NVIDIA GPU that it sees."""
        return processor.kind == "cpu" or sees(NAME, processor.name)

    def devices(self) -> tuple[Device, ...]:
        """Return the NVIDIA GPUs it sees; see `evener.runtime.cuda.gpus`."""
        return cuda.gpus()

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
        """Open a network on some cores; see `evener.runtime.session.Runtime.open`.

        Where branches are computed at once, the calling thread waits for them busily on the first
        core, and the other cores compute: so the variant pays on three cores or more.

        Raises:
            InputError: this process may not use a core.
            RuntimeFailedError: the model cannot be run as it is, the precision is not available,
                branches are to be computed at once on one core, or a thread is not where it should
                be.
        """
        refusal.check_precision(NAME, precision, PRECISIONS)
        if not cores and processor:
            if execution != "sequential":
                raise RuntimeFailedError(
                    f"{NAME} computes branches at once on cores only; plan {processor} with "
                    "sequential execution",
                    runtime=NAME,
                )
            return _on_gpu(model, device_number(NAME, processor), optimisation)
        opening.check_caller(NAME, cores)
        if execution == "parallel" and len(cores) < 2:
            raise RuntimeFailedError(
                f"{NAME} computes branches at once on the cores behind the first one, and has only "
                f"core {cores[0]}; give it three or more, or execute sequentially",
                runtime=NAME,
            )
        options = _options(cores, optimisation, execution)
        if precision == "int8":
            options.add_session_config_entry(*_WEIGHTS_ALONE)
        # Threads for branches have no affinity of their own: they run where their maker may.
        makers = cores[1:] if execution == "parallel" else cores[:1]
        with opening.confirmed_threads(NAME, cores) as if_misplaced:
            with pinning.allowed(makers):
                session = OnnxSession(_native(model, options, _PROVIDER))
            if_misplaced.callback(session.close)
        return session


class OnnxSession:
    """A network in ONNX Runtime, bound to the arrays of its caller without copies.

    Where it computes on a GPU, inputs and outputs are moved there and back within `run`.

    Made by `OnnxRuntime.open`; belongs to the thread that opened it.
    """

    def __init__(self, native: onnxruntime.InferenceSession) -> None:
        self._native: Any = native
        self._thread = threading.get_ident()
        self._signature = Signature(
            tuple(_tensor(value) for value in native.get_inputs()),
            tuple(_tensor(value) for value in native.get_outputs()),
            runtime=NAME,
        )
        self._bindable = all(tensor.dtype != "object" for tensor in (*self.inputs, *self.outputs))
        self._bindings = Bindings(self._bind)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What `run` reads, in graph order."""
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
        refusal.check_usable(NAME, self._native, self._thread)
        pointers = self._signature.pointers(inputs, outputs)
        if self._bindable:
            bound = self._bindings.get(pointers, inputs, outputs)
            refusal.translated(
                NAME, "failed in the network", lambda: self._native.run_with_iobinding(bound)
            )
            # ONNX Runtime leaves a bound output unwritten that is itself an input of the graph.
            self._signature.pass_on(inputs, outputs)
        else:
            self._run_copying(inputs, outputs)

    def close(self) -> None:
        """Give back its threads and memory; a second call does nothing."""
        self._bindings.clear()
        self._native = None

    def _bind(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> onnxruntime.IOBinding:
        binding = self._native.io_binding()
        for tensor, array in zip(self.inputs, inputs, strict=True):
            binding.bind_input(
                tensor.name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data
            )
        for tensor, array in zip(self.outputs, outputs, strict=True):
            binding.bind_output(
                tensor.name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data
            )
        return binding

    def _run_copying(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute a frame of a network with text, whose elements are no plain memory."""
        feeds = {tensor.name: array for tensor, array in zip(self.inputs, inputs, strict=True)}
        results = refusal.translated(
            NAME, "failed in the network", lambda: self._native.run(None, feeds)
        )
        for tensor, output, result in zip(self.outputs, outputs, results, strict=True):
            if result.shape != output.shape:
                raise RuntimeFailedError(
                    f"{NAME} computed {list(result.shape)} for '{tensor.name}', which was to be "
                    f"{list(output.shape)}; give the network static shapes",
                    runtime=NAME,
                )
            np.copyto(output, result)


def simplified(model: bytes, *, runtime: str) -> bytes:
    """Return a network of fewer nodes that computes the same, still in ONNX's own operators.

    What is known is computed, and batch normalisation goes into the weights before it.

    Args:
        model: a serialised ONNX model.
        runtime: name of the runtime that will get it, for messages.

    Raises:
        RuntimeFailedError: ONNX Runtime refuses the model.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _SILENT
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    with tempfile.TemporaryDirectory(prefix="evener-simplified-") as folder:
        path = Path(folder) / "network.onnx"
        options.optimized_model_filepath = str(path)
        _native(model, options, _PROVIDER, runtime=runtime)
        return path.read_bytes()


def _on_gpu(model: bytes, number: int, optimisation: Optimisation) -> OnnxSession:
    options = cuda.options(onnxruntime.SessionOptions())
    options.log_severity_level = _SILENT
    options.graph_optimization_level = _LEVELS[optimisation]
    cuda.preload(runtime=NAME)
    native = _native(model, options, cuda.provider(number))
    cuda.check_used(native, runtime=NAME)
    return OnnxSession(native)


def _native(
    model: bytes,
    options: onnxruntime.SessionOptions,
    provider: str | tuple[str, dict[str, str]],
    *,
    runtime: str = NAME,
) -> onnxruntime.InferenceSession:
    native = refusal.translated(
        runtime,
        "cannot open the network",
        lambda: onnxruntime.InferenceSession(
            model, options, providers=[provider], enable_fallback=0
        ),
    )
    # It would keep the model's bytes to fall back to another provider, which it may not.
    native._model_bytes = None  # noqa: SLF001 - no public way lets go of them
    return native


def _options(
    cores: tuple[int, ...], optimisation: Optimisation, execution: Execution = "sequential"
) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _SILENT
    options.graph_optimization_level = _LEVELS[optimisation]
    if execution == "parallel":
        options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
        options.inter_op_num_threads = len(cores)  # the caller, and one on each further core
        options.intra_op_num_threads = 1
        options.add_session_config_entry("session.force_spinning_stop", "1")
        return options
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.inter_op_num_threads = 1
    options.intra_op_num_threads = len(cores)
    if len(cores) > 1:
        # One group per thread of the pool; ONNX Runtime counts CPUs from 1.
        groups = ";".join(str(core + 1) for core in cores[1:])
        options.add_session_config_entry("session.intra_op_thread_affinities", groups)
        # Threads on cores of their own spin for work within a frame, and sleep between frames.
        options.add_session_config_entry("session.intra_op.allow_spinning", "1")
        options.add_session_config_entry("session.force_spinning_stop", "1")
    else:
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def _tensor(value: onnxruntime.NodeArg) -> Tensor:
    dtype = _DTYPES.get(value.type)
    if dtype is None:
        raise RuntimeFailedError(
            f"'{value.name}' is a {value.type}, which {NAME} cannot exchange as an array; export "
            f"the network with plain tensors ({', '.join(sorted(set(_DTYPES.values())))})",
            runtime=NAME,
        )
    refusal.check_fixed(NAME, value.name, value.shape)
    return Tensor(name=value.name, shape=tuple(value.shape), dtype=dtype)
