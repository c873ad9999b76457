"""Estimate what sessions hold in memory, from their weights.

Runtimes share no weights between sessions: ONNX Runtime's container for prepared weights is not to
be had from Python.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

from evener.artifacts.plan import Plan
from evener.workflow.opened import Opened

USABLE: Final = 0.8
"""Share of the free memory that sessions may hold."""

HELD_READY: Final = 0.5
"""Share of the free memory that may be taken by sessions for the case that others fail."""

# Resident memory over the bytes of the weights, measured with AlexNet and VGG19: 1.1 to 1.4 and
# 2.0 to 2.1, for kernels keep weights in an order of their own.
_HELD: Final = {"onnxruntime": 1.5, "openvino": 2.25}
_HELD_BY_ANOTHER: Final = 2.25
_BESIDE_BYTES: Final = 50_000_000  # threads and tensors of a session


_PROCESS_BYTES: Final = 100_000_000  # Python with a runtime


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


def may_hold(opened: Opened, plan: Plan) -> bool:
    """Return whether the sessions of a plan may be open now for the case that they are needed.

    On a device they may not: its memory is the running plan's.
    """
    lanes = [lane for stage in plan.stages for lane in stage.lanes]
    processes_bytes = len(lanes) * _PROCESS_BYTES
    needed_bytes = plan_bytes(opened, plan) + processes_bytes
    return all(lane.cores for lane in lanes) and needed_bytes <= HELD_READY * free_bytes_now()


def free_bytes_now() -> int:
    """Return how much memory is free, for this machine and for the control groups we are in."""
    available = int(psutil.virtual_memory().available)
    return min([available, *_left_by_groups(Path("/proc/self/cgroup"))])


def _left_by_groups(proc: Path, mount: Path = Path("/sys/fs/cgroup")) -> Iterator[int]:
    """Yield what each group of the kernel's unified hierarchy that holds this process has left."""
    path = next((line[3:] for line in _read(proc).splitlines() if line.startswith("0::")), "/")
    folder = mount / path.lstrip("/")
    for group in (folder, *folder.parents):
        limit, used = _read(group / "memory.max").strip(), _read(group / "memory.current").strip()
        if limit.isdecimal() and used.isdecimal():
            stat = dict(line.split() for line in _read(group / "memory.stat").splitlines())
            files = int(stat.get("inactive_file", 0))  # what the kernel gives up for the asking
            yield max(0, int(limit) - int(used) + files)
        if group == mount:
            return


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""  # no such group, or none of this version
