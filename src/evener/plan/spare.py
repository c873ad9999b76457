"""Leave a core to the thread that feeds the devices of a machine.

A session on a GPU is fed by a thread of the CPU. Where a lane keeps every core busy, that thread
waits for a core, and the device for the thread; and a device is worth more than a core.
"""

import msgspec

from evener.artifacts.profile import Profile


def spare_core(profile: Profile) -> Profile | None:
    """Return the profile of a machine with one core fewer, whose devices are slowed by no company.

    The core is one of the fastest cluster. None where the machine has no device, or no core to
    spare.

    Args:
        profile: times on the whole machine.
    """
    machine = profile.machine
    devices = {one.name for one in machine.processors if not one.cores}
    host = machine.cpu
    sizes = tuple(size for size in host.core_sets if size < len(host.cores))
    if not devices or not sizes:
        return None
    smaller = msgspec.structs.replace(host, cores=host.cores[:-1], core_sets=sizes)
    processors = tuple(smaller if one is host else one for one in machine.processors)
    return msgspec.structs.replace(
        profile,
        machine=msgspec.structs.replace(machine, processors=processors),
        contention=tuple(one for one in profile.contention if one.processor not in devices),
    )
