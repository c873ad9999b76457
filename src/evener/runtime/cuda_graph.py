"""Compute a network in PyTorch on an NVIDIA GPU as one CUDA graph: one launch for all its kernels.

Launched one by one from Python, the kernels of a network would wait for the CPU most of the time. A
graph holds them with the addresses they read and write; so its tensors stay where they are, and
frames are copied into them and out of them.

A network that cannot be captured is refused, not launched kernel by kernel: what is left to fail
after tracing leaves the GPU's memory allocator in the midst of a capture, and that slower way would
be no gain over ONNX Runtime's.
"""

import threading
from collections.abc import Sequence
from typing import Final

import numpy as np
import torch  # noqa: TID251 - this is one of the modules that run networks with it

from evener.runtime import refusal, trial
from evener.runtime.onnx2fx import RUNTIME, Compute, Traced, host_tensor, traced, trial_frame
from evener.runtime.session import Array, Session
from evener.runtime.torch_session import PyTorchSession, check

_WARM_UPS: Final = 3  # cuDNN and cuBLAS choose kernels and take memory, which no capture may
_CAPTURING: Final = threading.Lock()  # a process captures one graph at a time


def open_on_gpu(model: bytes, number: int, *, tolerance: float) -> Session:
    """Open a network on a GPU.

    Args:
        model: a serialised ONNX model with static shapes.
        number: of the GPU, as CUDA counts.
        tolerance: how far its answers may be off, see `evener.runtime.trial.check`.

    Raises:
        RuntimeFailedError: it cannot be converted, traced or captured, or answers otherwise.
    """
    compute_f32_as_f32()
    network = traced(model, _device(number))
    expected = trial.reference(model, trial_frame(network.inputs))
    graph = refusal.translated(
        RUNTIME, "cannot capture the network as a CUDA graph", lambda: OneGraph(network)
    )
    session = PyTorchSession(network, graph)
    check(session, expected, tolerance=tolerance)
    return session


class OneGraph:
    """Computes a traced network on its GPU.

    Inputs go through pinned memory, from which the GPU copies by itself, and outputs too.

    Args:
        network: what it computes.

    Raises:
        Exception: whatever PyTorch raises where it cannot be captured, or memory does not hold it.
    """

    def __init__(self, network: Traced) -> None:
        self._network = network  # the graph holds its weights' addresses only
        self._stream = torch.cuda.Stream(network.device)  # type: ignore[no-untyped-call] # torch's
        self._sent = [_pinned(host_tensor(tensor)) for tensor in network.inputs]
        self._received = [_pinned(host_tensor(tensor)) for tensor in network.outputs]
        # Values of a frame, since an index out of nowhere would break the GPU's context.
        frame = trial_frame(network.inputs)
        self._inputs = [torch.from_numpy(array).to(network.device) for array in frame]
        self._graph, self._results = _captured(network.compute, self._inputs, self._stream)

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute one frame from arrays of the CPU into others."""
        for sent, array in zip(self._sent, inputs, strict=True):
            np.copyto(sent.numpy(), array)
        with torch.no_grad(), torch.cuda.stream(self._stream):
            for tensor, sent in zip(self._inputs, self._sent, strict=True):
                tensor.copy_(sent, non_blocking=True)
            self._graph.replay()
            for received, result in zip(self._received, self._results, strict=True):
                received.copy_(result, non_blocking=True)
        self._stream.synchronize()
        for array, received in zip(outputs, self._received, strict=True):
            np.copyto(array, received.numpy())

    def close(self) -> None:
        """Give back the GPU's memory, which PyTorch would keep for itself."""
        self._graph.reset()
        self._network.release()
        self._inputs, self._results = [], ()
        with _CAPTURING:
            torch.cuda.empty_cache()


def compute_f32_as_f32() -> None:
    """Forbid TF32, which would keep 10 bits of the fraction; it is one setting for the process."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False


def _device(number: int) -> torch.device:
    return torch.device("cuda", number)


def _pinned(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.pin_memory()


def _captured(
    compute: Compute, inputs: Sequence[torch.Tensor], stream: torch.cuda.Stream
) -> tuple[torch.cuda.CUDAGraph, Sequence[torch.Tensor]]:
    """Return a graph of all that `compute` launches, and the tensors that it writes."""
    graph = torch.cuda.CUDAGraph()
    with _CAPTURING, torch.no_grad(), torch.cuda.device(stream.device):
        torch.cuda.synchronize()  # the inputs were copied on another stream
        chosen = torch.backends.cudnn.benchmark
        torch.backends.cudnn.benchmark = True  # time the kernels for each shape, and take the best
        try:
            with torch.cuda.stream(stream):
                for _ in range(_WARM_UPS):
                    compute(*inputs)
            stream.synchronize()
            # Other threads go on allocating and launching meanwhile.
            with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
                results = compute(*inputs)
        finally:
            torch.backends.cudnn.benchmark = chosen
    return graph, results
