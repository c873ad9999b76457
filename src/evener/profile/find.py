"""Find the processors of this machine: clusters of equal cores, and devices that runtimes see.

Linux tells in /sys how fast each core is, which logical CPUs share one, and its caches; a
container may hide any of it, and then cores count as equal. Cores that a cpuset or an affinity
mask withholds do not exist here. A GPU that is software computes on those same cores, and is left
out unless it is asked for.
"""

import os
import platform
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from evener import runtime
from evener.artifacts.processors import Machine, Processor
from evener.errors import InputError
from evener.runtime.devices import Named
from evener.runtime.pinning import PROCESS_CORES, parse_cores, show_cores
from evener.runtime.session import Runtime

# Cores of one make differ by a few percent, as favoured cores do; big and LITTLE by far more.
EQUAL_SHARE: Final = 0.9

SOFTWARE: Final = "EVENER_SOFTWARE_GPU"
"""Set to 1, GPUs count that are software: for trying things, for they compute on the CPU."""


@dataclass(frozen=True, slots=True)
class _Core:
    number: int
    package: str
    speed: float
    max_hz: float | None
    cache_bytes: int | None


def find_processors(
    *,
    runtimes: Mapping[str, Runtime],
    sysfs: Path = Path("/sys"),
    cpuinfo: Path = Path("/proc/cpuinfo"),
    affinity: AbstractSet[int] | None = None,
    devices: Sequence[Named] | None = None,
    software: bool | None = None,
) -> Machine:
    """Describe the processors that this process may use.

    Args:
        runtimes: what could run networks, by name, preferred first.
        sysfs: where Linux describes the hardware.
        cpuinfo: where Linux names the CPUs.
        affinity: the logical CPUs that may be used; those this process was given if None.
        devices: GPUs and NPUs; those that the installed runtimes see if None.
        software: whether devices count that are software; if None, where the environment variable
            EVENER_SOFTWARE_GPU is 1.

    Returns:
        One processor for each package and kind of core, fastest first and named "cpu0" onward,
        with one logical CPU per physical core; then the devices that one of the runtimes can use.

    Raises:
        InputError: none of the logical CPUs is online.
    """
    folder = sysfs / "devices/system/cpu"
    allowed = PROCESS_CORES if affinity is None else affinity
    online = _list(folder / "online")
    usable = sorted(allowed & online if online else allowed)
    if not usable:
        raise InputError(
            f"of the CPUs this process may use, {show_cores(allowed)}, none is online "
            f"({show_cores(online)} are); widen its cpuset or affinity mask"
        )
    cores = _speeds(folder, _one_per_core(folder, usable))
    fastest = max(core.speed for core in cores)
    models = _models(cpuinfo)
    processors = []
    for number, cluster in enumerate(_clusters(cores)):
        processor = Processor(
            name=f"cpu{number}",
            kind="cpu",
            model=models.get(cluster[0].number, ""),
            cores=tuple(core.number for core in cluster),
            core_sets=core_sets(len(cluster)),
            capacity=max(core.speed for core in cluster) / fastest,
            max_hz=max((core.max_hz for core in cluster if core.max_hz), default=None),
            cache_bytes=cluster[0].cache_bytes,
        )
        able = tuple(name for name, one in runtimes.items() if one.supports(processor))
        processors.append(msgspec.structs.replace(processor, runtimes=able))
    seen = runtime.devices() if devices is None else devices
    processors += _devices(seen, runtimes, software=software)
    return Machine(
        host=platform.node(),
        system=f"{platform.system()} {platform.machine()}",
        processors=tuple(processors),
        runtimes={name: one.version for name, one in runtimes.items()},
    )


def with_little(machine: Machine, share: float) -> Machine:
    """Divide the fastest cluster into a full half, "big", and a throttled one, "little".

    Of an odd number of cores the full half gets one more. Other processors stay as they are.

    Args:
        machine: what was found.
        share: share of the time of each little core that may be used, in (0, 1).

    Raises:
        InputError: the cluster has but one core.
    """
    cluster = machine.cpu
    if len(cluster.cores) < 2:
        raise InputError(
            f"{cluster.name} of {machine.host} has one core that this process may use "
            f"({show_cores(cluster.cores)}), and a throttled core beside a full one takes two; "
            "widen the process's cpuset, or do without a little core"
        )
    full = (len(cluster.cores) + 1) // 2
    halves = [
        msgspec.structs.replace(
            cluster,
            name=name,
            cores=cores,
            core_sets=core_sets(len(cores)),
            capacity=cluster.capacity * part,
            share=part,
        )
        for name, cores, part in (
            ("big", cluster.cores[:full], 1.0),
            ("little", cluster.cores[full:], share),
        )
    ]
    others = [one for one in machine.processors if one is not cluster]
    return msgspec.structs.replace(machine, processors=(*halves, *others))


def core_sets(cores: int) -> tuple[int, ...]:
    """Return how many cores of a cluster one stage may get: powers of two, and all of them.

    Example:
        >>> core_sets(6)
        (1, 2, 4, 6)
    """
    return (*(2**power for power in range((cores - 1).bit_length())), cores)


def _devices(
    devices: Sequence[Named], runtimes: Mapping[str, Runtime], *, software: bool | None
) -> list[Processor]:
    wanted = os.environ.get(SOFTWARE) == "1" if software is None else software
    found = [
        Processor(
            name=one.name,
            kind=one.device.kind,
            model=one.device.model,
            runtimes=tuple(name for name in runtimes if name in one.numbers),
            memory_bytes=one.device.memory_bytes,
        )
        for one in devices
        if wanted or not one.device.software
    ]
    return [one for one in found if one.runtimes]


def _one_per_core(folder: Path, usable: Sequence[int]) -> list[int]:
    """Keep the first usable logical CPU of each physical core."""
    kept: list[int] = []
    taken: set[int] = set()
    for cpu in usable:
        if cpu not in taken:
            kept.append(cpu)
            taken |= {cpu} | _list(folder / f"cpu{cpu}/topology/thread_siblings_list")
    return kept


def _speeds(folder: Path, cpus: Sequence[int]) -> list[_Core]:
    """Rate cores by the kernel's capacity where that tells them apart, else by their clock."""
    capacities = [_number(folder / f"cpu{cpu}/cpu_capacity") for cpu in cpus]
    clocks = [_number(folder / f"cpu{cpu}/cpufreq/cpuinfo_max_freq") for cpu in cpus]  # in kHz
    for rated in (capacities, clocks):
        known = [value for value in rated if value]
        if len(known) == len(cpus) and len(set(known)) > 1:
            speeds = known
            break
    else:
        speeds = [1.0] * len(cpus)
    return [
        _Core(
            number=cpu,
            package=_text(folder / f"cpu{cpu}/topology/physical_package_id"),
            speed=speed,
            max_hz=clock * 1000 if clock else None,
            cache_bytes=_last_cache_bytes(folder / f"cpu{cpu}/cache"),
        )
        for cpu, speed, clock in zip(cpus, speeds, clocks, strict=True)
    ]


def _clusters(cores: Sequence[_Core]) -> list[list[_Core]]:
    """Group cores of one package and about one speed, fastest first."""
    clusters: list[list[_Core]] = []
    for core in sorted(cores, key=lambda core: (-core.speed, core.number)):
        for cluster in clusters:
            first = cluster[0]
            if core.package == first.package and core.speed >= EQUAL_SHARE * first.speed:
                cluster.append(core)
                break
        else:
            clusters.append([core])
    return [sorted(cluster, key=lambda core: core.number) for cluster in clusters]


def _last_cache_bytes(folder: Path) -> int | None:
    sizes: dict[int, int] = {}
    for index in sorted(folder.glob("index*")):
        level, size = _number(index / "level"), _text(index / "size")
        if level and size.endswith("K") and _text(index / "type") != "Instruction":
            sizes[int(level)] = int(size[:-1]) * 1024
    return sizes[max(sizes)] if sizes else None


def _models(cpuinfo: Path) -> dict[int, str]:
    models: dict[int, str] = {}
    cpu = -1
    for line in _text(cpuinfo).splitlines():
        key, _, value = (part.strip() for part in line.partition(":"))
        if key == "processor" and value.isdigit():
            cpu = int(value)
        elif key == "model name":
            models[cpu] = value
    return models


def _list(path: Path) -> frozenset[int]:
    text = _text(path)
    return parse_cores(text) if text else frozenset()


def _number(path: Path) -> float | None:
    text = _text(path)
    return float(text) if text.isdigit() else None


def _text(path: Path) -> str:
    """Read a file that the system may not have; "" if it has not."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
