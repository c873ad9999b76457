"""Which devices the runtimes see, and which of them are the same device.

Several runtimes can drive one GPU, each through a driver interface of its own and with numbers of
its own. A plan must not count it twice: so devices of one kind whose makers call them the same are
taken for the same, the first of one runtime for the first of another.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["gpu", "npu"]


@dataclass(frozen=True, slots=True)
class Device:
    """A device as one runtime sees it.

    Attributes:
        kind: what it is.
        model: what its maker calls it.
        memory_bytes: most that its sessions may hold together, where the runtime knows.
        software: whether it only stands in for a device and computes on the CPU.
    """

    kind: Kind
    model: str
    memory_bytes: int | None = None
    software: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """A device of this machine.

    Attributes:
        name: unique on this machine, such as "gpu0".
        device: what is known of it.
        numbers: its place in the list of each runtime that sees it, by the runtime's name.
    """

    name: str
    device: Device
    numbers: Mapping[str, int]


def merge(seen: Mapping[str, Sequence[Device]]) -> tuple[Named, ...]:
    """Name the devices of a machine: GPUs first, and those made of software last of their kind.

    Args:
        seen: the devices that each runtime sees, by its name, in its own order.

    Example:
        >>> radeon = Device("gpu", "AMD Radeon 780M (RADV PHOENIX)")
        >>> [named] = merge({"ncnn": [radeon], "openvino": [Device("gpu", "AMD Radeon 780M")]})
        >>> named.name, dict(named.numbers)
        ('gpu0', {'ncnn': 0, 'openvino': 0})
    """
    found: dict[tuple[bool, str, str, int], tuple[Device, dict[str, int]]] = {}
    for runtime, devices in seen.items():
        alike: dict[tuple[bool, str, str], int] = {}
        for number, device in enumerate(devices):
            key = (device.software, device.kind, _plain(device.model))
            alike[key] = alike.get(key, 0) + 1
            _, numbers = found.setdefault((*key, alike[key]), (device, {}))
            numbers[runtime] = number
    counts: dict[str, int] = {}
    named = []
    for device, numbers in sorted(found.values(), key=lambda one: one[0].software):
        count = counts.setdefault(device.kind, 0)
        counts[device.kind] += 1
        named.append(Named(f"{device.kind}{count}", device, numbers))
    return tuple(sorted(named, key=lambda one: one.device.kind))


def _plain(model: str) -> str:
    """Drop what drivers add to a maker's name: case, signs of trade and what stands in brackets."""
    return " ".join(re.sub(r"\([^)]*\)", " ", model.lower()).split())
