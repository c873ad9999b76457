"""See NVIDIA GPUs and run networks on one of them with ONNX Runtime's CUDA provider, wholly.

ONNX Runtime would go on with the CPU, and say nothing to the program, where the provider cannot be
loaded or lacks an operator. A plan that counts on a GPU would then be wrong by an order: so both
are refused.
"""

import io
import logging
import os
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import onnxruntime  # noqa: TID251 - this is one of the modules that run networks with it

from evener.errors import RuntimeFailedError
from evener.runtime import refusal
from evener.runtime.devices import Device

PROVIDER: Final = "CUDAExecutionProvider"
_DRIVER: Final = Path("/proc/driver/nvidia/gpus")  # where the kernel's driver lists them
_PACKAGE: Final = "pynvml"
_LOG: Final = logging.getLogger(__name__)


def gpus() -> tuple[Device, ...]:
    """Return the NVIDIA GPUs that this process may use, in CUDA's order; none without the provider.

    `CUDA_VISIBLE_DEVICES` is respected, which NVML knows nothing of.
    """
    if PROVIDER not in onnxruntime.get_available_providers() or find_spec(_PACKAGE) is None:
        return ()
    import pynvml  # noqa: TID251 - sees GPUs

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:  # no driver, and so no GPU
        return ()
    try:
        handles = [
            pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())
        ]
        ids = [pynvml.nvmlDeviceGetUUID(handle) for handle in handles]
        return tuple(
            Device(
                "gpu",
                pynvml.nvmlDeviceGetName(handles[index]),
                memory_bytes=int(pynvml.nvmlDeviceGetMemoryInfo(handles[index]).total),
            )
            for index in visible(ids, os.environ.get("CUDA_VISIBLE_DEVICES"))
        )
    finally:
        pynvml.nvmlShutdown()


def visible(ids: Sequence[str], setting: str | None) -> tuple[int, ...]:
    """Return which GPUs `CUDA_VISIBLE_DEVICES` leaves, in its order.

    Like CUDA, it ends at the first entry that names none.

    Args:
        ids: unique id of each GPU, by its place on the bus.
        setting: numbers or beginnings of ids, separated by commas; None for all.

    Example:
        >>> visible(["GPU-aa", "GPU-bb", "GPU-cc"], "2,GPU-a"), visible(["GPU-aa"], "-1,0")
        ((2, 0), ())
    """
    if setting is None:
        return tuple(range(len(ids)))
    chosen: list[int] = []
    for entry in (part.strip() for part in setting.split(",")):
        if entry.isdigit():
            places = [int(entry)] if int(entry) < len(ids) else []
        else:
            places = [index for index, one in enumerate(ids) if entry and one.startswith(entry)]
        if len(places) != 1:
            break
        chosen += places
    return tuple(chosen)


def missing(driver: Path = _DRIVER) -> str:
    """Say what to install where the kernel sees NVIDIA GPUs that ONNX Runtime cannot use, or ""."""
    count = len(list(driver.iterdir())) if driver.is_dir() else 0
    if not count or gpus():
        return ""
    if PROVIDER not in onnxruntime.get_available_providers():
        what, remedy = "has no CUDA provider", "replace it: pip uninstall onnxruntime, then"
    else:
        what, remedy = "cannot list them", "see nvidia-smi; the package nvidia-ml-py comes with"
    return (
        f"the driver sees {count} NVIDIA GPU{'s' * (count > 1)}, but this ONNX Runtime {what}; "
        f"{remedy} pip install 'evener[gpu]'"
    )


@cache
def preload(*, runtime: str) -> None:
    """Load the CUDA and cuDNN that pip installed, if it did; the provider finds no others there.

    ONNX Runtime looks into site-packages/nvidia, where PyTorch has its own, and then where the
    system does; what is loaded already it leaves in place. What it cannot load it prints, which is
    logged here: whether the provider got what it needs is seen by `check_used`.

    Args:
        runtime: its name, for messages.

    Raises:
        RuntimeFailedError: ONNX Runtime is older than 1.21, which knows no preloading.
    """
    said = io.StringIO()
    with redirect_stdout(said):
        refusal.translated(
            runtime,
            "cannot load CUDA and cuDNN",
            lambda: onnxruntime.preload_dlls(directory=""),
        )
    for line in said.getvalue().splitlines():
        _LOG.info("%s", line)


def options(base: onnxruntime.SessionOptions) -> onnxruntime.SessionOptions:
    """Complete session options: one thread, and no operator on the CPU."""
    base.intra_op_num_threads = 1
    base.inter_op_num_threads = 1
    base.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return base


def provider(number: int) -> tuple[str, dict[str, str]]:
    """Return the provider for a GPU with its settings: f32 is computed as f32.

    TF32, on by default, would keep 10 bits of the fraction.
    """
    return PROVIDER, {"device_id": str(number), "use_tf32": "0"}


def check_used(native: Any, *, runtime: str) -> None:  # noqa: ANN401 - onnxruntime ships no types
    """Check that a session got the provider.

    Raises:
        RuntimeFailedError: it did not, as where a CUDA library is missing.
    """
    used = list(native.get_providers())
    if used[:1] != [PROVIDER]:
        raise RuntimeFailedError(
            f"{runtime} could not load {PROVIDER} and would compute with {', '.join(used)}; "
            "install the CUDA and cuDNN that it was built for: pip install "
            "'onnxruntime-gpu[cuda,cudnn]'",
            runtime=runtime,
        )
