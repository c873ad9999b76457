"""Replay the steps of a stack as one CUDA graph: one launch for all kernels of a step.

A step of small networks is some forty kernels of a few microseconds each, which take longer to
launch from Python than to compute. Not yet run on a GPU.
"""

from collections.abc import Callable, Sequence
from typing import Final

import torch
from torch import Tensor

_WARM_UPS: Final = 3  # cuBLAS chooses kernels and takes memory, which no capture may


def captured(
    step: Callable[[], None], changed: Sequence[Tensor], device: torch.device
) -> Callable[[], None]:
    """Return a function that replays a step; it is captured without having been taken.

    Args:
        step: reads and writes tensors that stay where they are, and waits for nothing.
        changed: what it changes and goes on from, put back after the trial steps.
        device: the GPU.
    """
    kept = [tensor.clone() for tensor in changed]
    graph = torch.cuda.CUDAGraph()
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call] # torch's
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        for _ in range(_WARM_UPS):
            step()
    torch.cuda.current_stream(device).wait_stream(stream)
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        step()
    for tensor, before in zip(changed, kept, strict=True):
        tensor.copy_(before)
    return graph.replay
