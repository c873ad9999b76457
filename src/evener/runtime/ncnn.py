"""Run networks with ncnn: on chosen CPU cores, one pinned thread a core, or on a GPU with Vulkan.

ncnn has a form of its own, which `pnnx.py` makes. Its own way of choosing cores is one setting for
the whole process, so that its OpenMP threads are placed by `openmp.py` instead.
"""

import logging
import os
import tempfile
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

import ncnn  # noqa: TID251 - this is the module that runs networks with it
import numpy as np

from evener.artifacts.processors import Processor
from evener.artifacts.profile import Execution
from evener.artifacts.tensor import Tensor
from evener.errors import RuntimeFailedError
from evener.runtime import device_number, opening, openmp, refusal, sees, trial
from evener.runtime.binding import Signature
from evener.runtime.devices import Device
from evener.runtime.pnnx import Converted, converted
from evener.runtime.session import Array, Optimisation, Session

NAME: Final = "ncnn"
PRECISIONS: Final = ("f32",)
TOLERANCE: Final = trial.TOLERANCE
"""How far answers may be from ONNX Runtime's, relative to the largest of the output."""

_LIBRARIES: Final = "/ncnn.libs/"  # where its wheel brings OpenMP
_LOG: Final = logging.getLogger(__name__)
_SOFTWARE: Final = 3  # type of a Vulkan device that is a CPU
_NARROW: Final = ("fp16", "bf16", "int8")  # options that would compute or store in fewer bits


class Ncnn:
    """ncnn on CPUs, and on GPUs that it reaches through Vulkan."""

    @property
    def name(self) -> str:
        """Its name in profiles and plans."""
        return NAME

    @property
    def version(self) -> str:
        """Version of the installed package."""
        return str(ncnn.__version__)

    def supports(self, processor: Processor) -> bool:
        """Whether the processor is a CPU or a GPU that it sees."""
        return processor.kind == "cpu" or sees(NAME, processor.name)

    def devices(self) -> tuple[Device, ...]:
        """Return the GPUs that Vulkan has drivers for, software ones too."""
        return _gpus()

    def open(
        self,
        model: bytes,
        *,
        cores: tuple[int, ...],
        precision: str = "f32",
        optimisation: Optimisation = "all",  # noqa: ARG002 - ncnn has one level
        execution: Execution = "sequential",
        processor: str = "",
    ) -> Session:
        """Open a network on some cores or a GPU; see `evener.runtime.session.Runtime.open`.

        The network is converted first, which takes seconds and is remembered. It is then tried with
        one frame, whose answers are known from ONNX Runtime.

        Raises:
            InputError: this process may not use a core, or there is no such device.
            RuntimeFailedError: the network cannot be converted, has a layer that ncnn or its Vulkan
                part lacks, or answers otherwise; the precision or execution is not available; or a
                thread is not where it should be.
        """
        refusal.check_sequential(NAME, execution)
        refusal.check_precision(NAME, precision, PRECISIONS)
        gpu = None
        if not cores and processor:
            gpu = device_number(NAME, processor)
        else:
            opening.check_caller(NAME, cores)
        with converted(model) as network:
            _check_layers(network)
            if gpu is not None:
                session = NcnnSession(network, gpu=gpu)
                _check_shaders(session)
            else:
                openmp.dismiss(folder=_LIBRARIES)  # threads of a closed session would be reused
                with opening.confirmed_threads(NAME, cores) as if_misplaced:
                    session = NcnnSession(network, cores=cores)
                    if_misplaced.callback(session.close)
            try:
                trial.check(
                    session, network.trial, network.expected, runtime=NAME, tolerance=TOLERANCE
                )
            except RuntimeFailedError:
                session.close()
                raise
        return session


class NcnnSession:
    """A network in ncnn. Made by `Ncnn.open`; belongs to the thread that opened it.

    Args:
        network: what it runs.
        cores: on which cores; or
        gpu: on which device of ncnn's list.
    """

    def __init__(
        self, network: Converted, *, cores: tuple[int, ...] = (), gpu: int | None = None
    ) -> None:
        self._cores = cores
        self._thread = threading.get_ident()
        self._reads = network.ports.reads
        self._writes = network.ports.writes
        self._signature = Signature(network.ports.inputs, network.ports.outputs, runtime=NAME)
        # A frame's scratch memory is kept for the next.
        pools = (ncnn.UnlockedPoolAllocator(), ncnn.PoolAllocator())
        native = ncnn.Net()
        # The network gives memory back to the pools, also if nobody closes it: so it goes first.
        self._release = weakref.finalize(self, _release, native, pools)
        _set_options(native.opt, threads=len(cores) or 1, vulkan=gpu is not None)
        native.opt.blob_allocator, native.opt.workspace_allocator = pools
        if gpu is not None:
            native.set_vulkan_device(gpu)
        openmp.place(cores, runtime=NAME, folder=_LIBRARIES)
        for what, ended in (
            ("layers", native.load_param(str(network.param))),
            ("weights", native.load_model(str(network.weights))),
        ):
            if ended != 0:
                raise RuntimeFailedError(
                    f"{NAME} cannot open the network: reading its {what} ended with {ended}; run "
                    "this part with another runtime",
                    runtime=NAME,
                )
        self._native: Any = native

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What `run` reads, in graph order."""
        return self._signature.inputs

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """What `run` writes, in graph order."""
        return self._signature.outputs

    @property
    def on_cpu(self) -> frozenset[str]:
        """Kinds of layers that have no shader, so that ncnn would compute them on the CPU."""
        return frozenset(layer.type for layer in self._native.layers() if not layer.support_vulkan)

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute one frame; see `evener.runtime.session.Session.run`.

        Raises:
            RuntimeFailedError: wrong arrays or thread, a closed session, or a failing layer.
        """
        refusal.check_usable(NAME, self._native, self._thread)
        self._signature.pointers(inputs, outputs)
        openmp.place(self._cores, runtime=NAME, folder=_LIBRARIES)
        refusal.translated(NAME, "failed in the network", lambda: self._compute(inputs, outputs))
        self._signature.pass_on(inputs, outputs)

    def close(self) -> None:
        """Give back its threads and memory; a second call does nothing."""
        if self._native is None:
            return
        self._native = None
        self._release()
        if len(self._cores) > 1:
            openmp.dismiss(folder=_LIBRARIES)

    def _compute(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        extractor = self._native.create_extractor()
        for number, (index, axis) in enumerate(self._reads):
            # A copy: layers that compute in place do so in an input too.
            extractor.input(f"in{number}", ncnn.Mat(inputs[index], batch_index=axis).clone())
        for number, (index, axis) in enumerate(self._writes):
            ended, found = extractor.extract(f"out{number}")
            if ended != 0:
                raise RuntimeFailedError(
                    f"'{self.outputs[index].name}' ended with {ended}"
                    + " (out of memory)" * (ended == -100),
                    runtime=NAME,
                )
            target = outputs[index]
            np.copyto(target, found.numpy(batch_index=axis).reshape(target.shape))


def _release(native: Any, pools: Sequence[Any]) -> None:  # noqa: ANN401 - ncnn is untyped
    native.clear()
    for pool in pools:
        pool.clear()


def _set_options(option: Any, *, threads: int, vulkan: bool) -> None:  # noqa: ANN401 - ncnn is untyped
    option.num_threads = threads
    option.use_vulkan_compute = vulkan
    for name in dir(option):
        if name.startswith("use_") and any(narrow in name for narrow in _NARROW):
            setattr(option, name, False)


def _check_layers(network: Converted) -> None:
    unknown = sorted(kind for kind in network.layers if ncnn.layer_to_index(kind) < 0)
    if unknown:
        raise RuntimeFailedError(
            f"{NAME} cannot open the network: it has no layer for {', '.join(unknown)}; run this "
            "part with another runtime",
            runtime=NAME,
        )


def _check_shaders(session: NcnnSession) -> None:
    lacking = sorted(session.on_cpu)
    if lacking:
        session.close()
        raise RuntimeFailedError(
            f"{NAME} has no Vulkan shader for {', '.join(lacking)} and would compute it on the "
            "CPU; run this part there",
            runtime=NAME,
        )


@cache
def _gpus() -> tuple[Device, ...]:
    with _quiet():
        count = ncnn.get_gpu_count()
    found = [ncnn.get_gpu_info(number) for number in range(count)]
    return tuple(
        Device("gpu", one.device_name(), software=one.type() == _SOFTWARE) for one in found
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Log what native code prints meanwhile, for ncnn describes every GPU on standard error."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        for line in file.read().decode(errors="replace").splitlines():
            _LOG.debug("%s", line)
