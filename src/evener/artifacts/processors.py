"""The processors of one machine: clusters of equal cores, and devices."""

from typing import ClassVar, Literal

import msgspec


class Processor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One physical cluster of equal CPU cores, or one device.

    Attributes:
        name: unique on its host, such as "cpu0".
        kind: "cpu", "gpu" or "npu".
        model: what its maker calls it, "" if the system does not say.
        cores: one logical CPU number per physical core that this process may use; empty for a
            device.
        core_sets: how many of its cores a plan may give to one stage, ascending; (1,) for a
            device.
        runtimes: names of the runtimes that can use it, preferred first.
        capacity: speed of one core relative to the fastest of the machine, in (0, 1].
        max_hz: highest clock in Hz, where the system says.
        cache_bytes: size of its last-level cache, where the system says.
        clocks_hz: clocks that a plan may choose from, ascending; empty where the system chooses.
        memory_bytes: most that its sessions may hold together; None where nothing limits them.
        share: share of each core's time that may be used, in (0, 1]; below 1 where a quota
            throttles them.
    """

    name: str
    kind: Literal["cpu", "gpu", "npu"]
    model: str = ""
    cores: tuple[int, ...] = ()
    core_sets: tuple[int, ...] = (1,)
    runtimes: tuple[str, ...] = ()
    capacity: float = 1.0
    max_hz: float | None = None
    cache_bytes: int | None = None
    clocks_hz: tuple[float, ...] = ()
    memory_bytes: int | None = None
    share: float = 1.0

    @property
    def units(self) -> int:
        """How many cores a plan can hand out; 1 for a device."""
        return len(self.cores) or 1


class Machine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every processor that this process may use on its host.

    Attributes:
        host: name of the host.
        system: operating system and machine type.
        processors: fastest first.
        runtimes: version of each installed runtime, by name.
        idle_w: what the whole machine draws while it does nothing, where it is known.
    """

    kind: ClassVar[str] = "processors"
    schema: ClassVar[int] = 1

    host: str
    system: str
    processors: tuple[Processor, ...]
    runtimes: dict[str, str]
    idle_w: float | None = None

    def __getitem__(self, name: str) -> Processor:
        for processor in self.processors:
            if processor.name == name:
                return processor
        raise KeyError(name)

    @property
    def cpu(self) -> Processor:
        """The fastest CPU cluster; every machine has one."""
        return next(one for one in self.processors if one.kind == "cpu")
