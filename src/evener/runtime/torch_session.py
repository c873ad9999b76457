"""A network in PyTorch behind the protocol of a session, and how it is computed on cores.

`cuda_graph.py` is its twin for a GPU.
"""

import ctypes
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import numpy as np
import torch  # noqa: TID251 - this is one of the modules that run networks with it

from evener.artifacts.tensor import Tensor
from evener.errors import RuntimeFailedError
from evener.runtime import opening, refusal, trial
from evener.runtime.binding import Signature
from evener.runtime.onnx2fx import RUNTIME, Traced, host_tensor, traced, trial_frame
from evener.runtime.session import Array, Session

_THREADS: Final = torch.get_num_threads()
_PAUSE_HARD: Final = 2  # omp_pause_hard of OpenMP 5.0: end the threads
_team: Final = threading.local()  # cores: where the team of this thread is, if it has one
# PyTorch's own code finds the functions of the OpenMP it computes with; a process may hold several.
_NATIVE: Final = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))


class Engine(Protocol):
    """What computes a traced network."""

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute one frame from arrays of the CPU into others."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


class PyTorchSession:
    """A network in PyTorch. Made by `PyTorch.open`; belongs to the thread that opened it.

    Args:
        network: what it runs.
        engine: what computes it.
    """

    def __init__(self, network: Traced, engine: Engine) -> None:
        self._engine: Engine | None = engine
        self._thread = threading.get_ident()
        self._signature = Signature(network.inputs, network.outputs, runtime=RUNTIME)

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
        engine = self._engine
        if engine is None or threading.get_ident() != self._thread:
            raise refusal.unusable(RUNTIME, closed=engine is None)
        self._signature.pointers(inputs, outputs)
        refusal.translated(RUNTIME, "failed in the network", lambda: engine.run(inputs, outputs))

    def close(self) -> None:
        """Give back its threads and memory; a second call does nothing."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def open_on_cores(model: bytes, cores: tuple[int, ...], *, tolerance: float) -> Session:
    """Open a network in the calling thread, whose first core is among those where it will run.

    Args:
        model: a serialised ONNX model with static shapes.
        cores: logical CPUs.
        tolerance: how far its answers may be off, see `evener.runtime.trial.check`.

    Raises:
        RuntimeFailedError: it cannot be converted or traced, or answers otherwise; or threads
            cannot be kept on several cores.
    """
    network = traced(model, torch.device("cpu"))
    expected = trial.reference(model, trial_frame(network.inputs))
    with opening.confirmed_threads(RUNTIME, cores) as if_misplaced:
        session = PyTorchSession(network, OnCores(network, cores))
        if_misplaced.callback(session.close)
        check(session, expected, tolerance=tolerance)
    return session


def check(session: PyTorchSession, expected: Sequence[Array], *, tolerance: float) -> None:
    """Check that a session answers its trial frame as ONNX Runtime does; close it otherwise.

    Raises:
        RuntimeFailedError: it answers otherwise.
    """
    frame = trial_frame(session.inputs)
    try:
        trial.check(session, frame, expected, runtime=RUNTIME, tolerance=tolerance)
    except RuntimeFailedError:
        session.close()
        raise


class OnCores:
    """Computes a traced network in the thread that calls it and, on several cores, in its team.

    PyTorch keeps the count of threads for each thread that computes, and gives the last one set to
    those that compute for the first time. OpenMP makes a team for each thread too, whose members
    may run where their maker may when they are made; kernels that want fewer of them end the rest.
    So the calling thread keeps to all of the cores, and not to the first one alone.

    Args:
        network: what it computes.
        cores: logical CPUs.

    Raises:
        RuntimeFailedError: there are several cores, and no OpenMP whose teams can be ended.
    """

    def __init__(self, network: Traced, cores: tuple[int, ...]) -> None:
        if len(cores) > 1 and not hasattr(_NATIVE, "omp_pause_resource_all"):
            raise RuntimeFailedError(
                f"{RUNTIME} computes without an OpenMP of version 5 or newer, whose threads can be "
                "moved to other cores; give it one core",
                runtime=RUNTIME,
            )
        _team.cores = None  # wherever the thread was when it had one, it is somewhere else now
        self._network = network
        self._compute = network.compute
        self._cores = cores
        # Its own: an operator that works in place would change the caller's arrays.
        self._inputs = [host_tensor(tensor) for tensor in network.inputs]

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute one frame from arrays of the CPU into others."""
        _gather(self._cores)
        for tensor, array in zip(self._inputs, inputs, strict=True):
            np.copyto(tensor.numpy(), array)
        with torch.inference_mode():
            results = self._compute(*self._inputs)
        for array, result in zip(outputs, results, strict=True):
            np.copyto(array, result.numpy())

    def close(self) -> None:
        """Give back the weights, and the threads to what else computes with PyTorch here."""
        self._network.release()
        if len(self._cores) > 1:
            _NATIVE.omp_pause_resource_all(_PAUSE_HARD)
            _team.cores = None
        torch.set_num_threads(_THREADS)


def _gather(cores: tuple[int, ...]) -> None:
    """See that the calling thread computes on some cores, with a thread for each."""
    if torch.get_num_threads() != len(cores):  # asks first: to be asked is what sets it up
        torch.set_num_threads(len(cores))
    if len(cores) > 1 and getattr(_team, "cores", None) != cores:
        _NATIVE.omp_pause_resource_all(_PAUSE_HARD)
        os.sched_setaffinity(0, cores)
        _team.cores = cores
