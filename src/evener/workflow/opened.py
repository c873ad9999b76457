"""A network opened on this machine: its blocks, the processors and the runtimes it may use."""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Final

import msgspec
import psutil

from evener.artifacts.processors import Machine
from evener.errors import InputError
from evener.network.blocks import Blocks
from evener.network.model import Network
from evener.network.split import segment_model
from evener.network.state import likely_states
from evener.profile import find
from evener.runtime import devices, installed, missing, usable
from evener.runtime.session import Optimisation, Runtime
from evener.units import show
from evener.workflow.variants import Variants

Progress = Callable[[str, int, int], None]
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """Everything that profiling, planning and running a network needs.

    Attributes:
        network: the network.
        blocks: its blocks and cuts.
        machine: the processors that may be used.
        runtimes: the runtimes that may be used, by name.
        optimisation: graph optimisation level of every session.
        single: the same network for one frame, where `network` answers several at once.
        variants: the same network in lower precisions.
    """

    network: Network
    blocks: Blocks
    machine: Machine
    runtimes: Mapping[str, Runtime]
    optimisation: Optimisation = "all"
    single: Network | None = None
    variants: Variants = field(default_factory=Variants)

    @property
    def of_frames(self) -> Network:
        """The network that answers one frame at a time."""
        return self.single or self.network

    @property
    def segments(self) -> Callable[[int, int], bytes]:
        """Serialise blocks `first` to `last` as a network of their own."""
        return partial(segment_model, self.network, self.blocks)

    @property
    def segments_in(self) -> dict[str, Callable[[int, int], bytes]]:
        """The same in lower precisions, by precision."""
        return {
            precision: partial(segment_model, network, self.blocks)
            for precision, network in self.variants.networks.items()
        }

    @property
    def in_f32(self) -> "Opened":
        """The network without its lower precisions; what is known of them stays."""
        return replace(self, variants=replace(self.variants, networks={}, keys={}))


def open_blocks(
    network: Network,
    blocks: Blocks,
    *,
    runtimes: Sequence[str] | None = None,
    optimisation: Optimisation = "all",
) -> Opened:
    """Find what may run a network that is loaded and cut already; see `opening.open_network`."""
    chosen = usable(runtimes, optimisation)
    check_memory(network)
    return Opened(
        network=network,
        blocks=blocks,
        machine=usable_processors(chosen, runtimes, optimisation),
        runtimes=chosen,
        optimisation=optimisation,
    )


def hint_at_states(network: Network) -> None:
    """Say once which outputs look as if they were states, if no states were given."""
    likely = {} if network.states else likely_states(network.inputs, network.outputs)
    if likely:
        _hint(network.name, " ".join(f"--state {made}={read}" for made, read in likely.items()))


@cache
def _hint(name: str, options: str) -> None:
    _LOG.warning("it looks as if %s hands state from frame to frame: if so, give %s", name, options)


def check_memory(network: Network) -> None:
    """Refuse a shape that no frame in this machine's memory can have, before asking for it."""
    needed = sum(tensor.size_bytes for tensor in (*network.inputs, *network.outputs))
    free = psutil.virtual_memory().available
    if needed > free:
        raise InputError(
            f"one frame of {network.name} takes {show(needed, 'size')} with its answer, and "
            f"{show(free, 'size')} of memory are free; give a smaller --shape"
        )


def find_processors() -> Machine:
    """Find the processors of this machine that this process may use.

    Example:
        >>> find_processors().processors[0].name
        'cpu0'
    """
    return find.find_processors(runtimes=installed())


def usable_processors(
    chosen: Mapping[str, Runtime], named: Sequence[str] | None, optimisation: Optimisation
) -> Machine:
    """Find the processors; without devices, which round in their own way, for answers to the bit.

    As with runtimes, whoever names what to use takes it as it is.
    """
    exact = optimisation == "extended" and named is None
    return find.find_processors(runtimes=chosen, devices=() if exact else None)


def find_absent() -> dict[str, str]:
    """Say of each runtime or device that is not used why, and what to do about it, by its name."""
    software = {
        one.name: f"{one.device.model} is software that computes on the CPU and no further "
        f"processor; {find.SOFTWARE}=1 counts it all the same"
        for one in devices()
        if one.device.software and os.environ.get(find.SOFTWARE) != "1"
    }
    return missing() | software


def restrict(machine: Machine, processors: Sequence[str] | None) -> Machine:
    """Keep only some processors of a machine.

    Args:
        machine: the machine.
        processors: names of the processors to keep; None for all.

    Raises:
        InputError: a name that the machine does not have.
    """
    if processors is None:
        return machine
    known = [processor.name for processor in machine.processors]
    unknown = [name for name in processors if name not in known]
    if unknown or not processors:
        raise InputError(
            f"no processor '{', '.join(unknown)}' on {machine.host}; "
            f"it has {', '.join(known)}: see evener processors"
        )
    kept = tuple(one for one in machine.processors if one.name in processors)
    return msgspec.structs.replace(machine, processors=kept)
