"""Estimate what sessions hold in memory, from their weights.

Runtimes share no weights between sessions: ONNX Runtime's container for prepared weights is not to
be had from Python.
"""

from typing import Final

import psutil

from evener.artifacts.plan import Plan
from evener.workflow.opened import Opened

USABLE: Final = 0.8
"""Share of the free memory that sessions may hold."""

# Resident memory over the bytes of the weights, measured with AlexNet and VGG19: 1.1 to 1.4 and
# 2.0 to 2.1, for kernels keep weights in an order of their own.
_HELD: Final = {"onnxruntime": 1.5, "openvino": 2.25}
_HELD_BY_ANOTHER: Final = 2.25
_BESIDE_BYTES: Final = 50_000_000  # threads and tensors of a session


def plan_bytes(opened: Opened, plan: Plan) -> int:
    """Estimate what the sessions of a plan hold together."""
    spans = [
        (part.runtime, part.first_block, part.last_block)
        for stage in plan.stages
        for lane in stage.lanes
        for part in lane.parts
    ]
    return sum(session_bytes(opened, *span) for span in spans)


def session_bytes(opened: Opened, runtime: str, first_block: int, last_block: int) -> int:
    """Estimate what a session of some blocks holds in a runtime."""
    blocks = opened.blocks.blocks[first_block : last_block + 1]
    weights_bytes = sum(block.weights_bytes for block in blocks)
    return round(_HELD.get(runtime, _HELD_BY_ANOTHER) * weights_bytes) + _BESIDE_BYTES


def fits(needed_bytes: int) -> bool:
    """Return whether sessions that hold so much can be open now."""
    return needed_bytes <= USABLE * free_bytes_now()


def free_bytes_now() -> int:
    """Return how much memory is free."""
    return int(psutil.virtual_memory().available)
