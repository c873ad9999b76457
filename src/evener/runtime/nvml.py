"""Read how much energy NVIDIA devices have drawn, by the driver's own counters."""

from collections.abc import Callable, Sequence
from functools import partial


def energy_readers() -> Sequence[Callable[[], float]]:
    """Return a reader for each device, in joules since its driver was loaded.

    There is none without the package nvidia-ml-py, without a driver, or where a device is from
    before those that count. NVIDIA's library stays open: it counts who has opened it.
    """
    try:
        import pynvml  # noqa: TID251 - one of the modules that see GPUs
    except ModuleNotFoundError:
        return ()

    def drawn_j(device: object) -> float:
        return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(device)) * 1e-3

    try:
        pynvml.nvmlInit()
        devices = [
            pynvml.nvmlDeviceGetHandleByIndex(number)
            for number in range(pynvml.nvmlDeviceGetCount())
        ]
        for device in devices:
            drawn_j(device)
    except pynvml.NVMLError:
        return ()
    return [partial(drawn_j, device) for device in devices]
