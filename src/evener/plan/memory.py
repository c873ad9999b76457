"""Leave out the segments that a processor's memory cannot hold.

What a segment needs is an estimate: its weights, and for the block of it that moves most the
tensors that cross the cuts on both sides. What a runtime allocates beyond that is not counted.
A processor's cores share its memory evenly, so a lane on some of them may hold their part. For a
device or a whole cluster that is exact; where stages of different size share a cluster it is
conservative, for the light ones leave memory that the heavy ones may not use.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import msgspec
import numpy as np
from numpy.typing import NDArray

from evener.artifacts.processors import Processor
from evener.artifacts.profile import Block, Profile
from evener.errors import InputError
from evener.plan.teams import CoreSet
from evener.units import show


@dataclass(frozen=True, slots=True)
class Shortage:
    """A segment that has a time on some cores, and whose memory cannot hold it.

    Attributes:
        processor: name of the processor.
        cores: how many of its cores.
        first_block: index of its first block.
        last_block: index of its last block.
        needed_bytes: what it takes.
        available_bytes: what those cores have.
    """

    processor: str
    cores: int
    first_block: int
    last_block: int
    needed_bytes: int
    available_bytes: int

    def __str__(self) -> str:
        """Say it within a sentence.

        Example:
            >>> str(Shortage("gpu0", 1, 3, 4, 8_000_000, 5_000_000))
            'blocks 3 to 4 need 8 MB (8000000 bytes) on gpu0, which may hold 5 MB (5000000 bytes)'
        """
        one = self.first_block == self.last_block
        blocks = (
            f"block {self.first_block} needs"
            if one
            else f"blocks {self.first_block} to {self.last_block} need"
        )
        needed, available = map(_bytes, (self.needed_bytes, self.available_bytes))
        return f"{blocks} {needed} on {self.processor}, which may hold {available}"


def limit_memory(profile: Profile, limits: Mapping[str, int] | None) -> Profile:
    """Set the memory of some processors of a profile.

    Args:
        profile: measured times.
        limits: bytes that the sessions on a processor may hold together, by its name; one that is
            not named keeps what it has.

    Raises:
        InputError: an unknown name, or less than one byte.
    """
    if not limits:
        return profile
    processors = profile.machine.processors
    known = [processor.name for processor in processors]
    for name, limit_bytes in limits.items():
        if name not in known:
            raise InputError(
                f"a memory limit is given for '{name}'; the profile of {profile.machine.host} "
                f"knows {', '.join(known)}"
            )
        if limit_bytes < 1:
            raise InputError(f"the memory of {name} is {limit_bytes} bytes: give 1 or more")
    limited = tuple(
        msgspec.structs.replace(one, memory_bytes=limits.get(one.name, one.memory_bytes))
        for one in processors
    )
    machine = msgspec.structs.replace(profile.machine, processors=limited)
    return msgspec.structs.replace(profile, machine=machine)


def segment_bytes(blocks: Sequence[Block]) -> NDArray[np.int64]:
    """Estimate what each segment holds, `[first block, last block]`; 0 below the diagonal."""
    weights = np.cumsum([0, *(block.weights_bytes for block in blocks)])
    moved = [
        sum(tensor.size_bytes for tensor in (*block.inputs, *block.outputs)) for block in blocks
    ]
    needed = np.zeros((len(blocks), len(blocks)), np.int64)
    for first in range(len(blocks)):
        held = weights[first + 1 :] - weights[first]
        needed[first, first:] = held + np.maximum.accumulate(moved[first:])
    return needed


@dataclass(frozen=True, slots=True)
class Memory:
    """What the processors' memory keeps out of a problem.

    Attributes:
        processors: those of the problem.
        core_sets: every kind of lane.
        needed_bytes_BE: see `segment_bytes`.
        available_bytes_C: what each core set may hold; inf for no limit.
        kept_out_CBE: whether a core set has a time for a segment and no room.
    """

    processors: tuple[Processor, ...]
    core_sets: tuple[CoreSet, ...]
    needed_bytes_BE: NDArray[np.int64]  # noqa: N815 -- its axes are part of its name
    available_bytes_C: NDArray[np.float64]  # noqa: N815 -- as above
    kept_out_CBE: NDArray[np.bool_]  # noqa: N815 -- as above

    def nearest_miss(self, block: int | None = None) -> Shortage | None:
        """Return the segment kept out that lacks least; None if there is none.

        Args:
            block: only segments that hold this block.
        """
        able = self.kept_out_CBE
        if block is not None:
            holds = np.zeros(able.shape[1:], bool)
            holds[: block + 1, block:] = True
            able = able & holds
        if not able.any():
            return None
        lacking = self.needed_bytes_BE - self.available_bytes_C[:, np.newaxis, np.newaxis]
        flat = np.argmin(np.where(able, lacking, np.inf))
        index, first, last = map(int, np.unravel_index(flat, able.shape))
        return Shortage(
            processor=self.processors[self.core_sets[index].processor].name,
            cores=self.core_sets[index].cores,
            first_block=first,
            last_block=last,
            needed_bytes=int(self.needed_bytes_BE[first, last]),
            available_bytes=int(self.available_bytes_C[index]),
        )


def keep_out(
    processors: tuple[Processor, ...],
    core_sets: tuple[CoreSet, ...],
    blocks: Sequence[Block],
    timed: NDArray[np.bool_],
) -> Memory:
    """Find the segments that have a time and no room.

    Args:
        processors: those of the problem.
        core_sets: every kind of lane.
        blocks: of the network.
        timed: whether a core set has a time for a segment, `[core set, first, last block]`.
    """
    available_bytes = np.array([_room_bytes(processors[one.processor], one) for one in core_sets])
    needed_bytes = segment_bytes(blocks)
    too_large = needed_bytes > available_bytes[:, np.newaxis, np.newaxis]
    return Memory(processors, core_sets, needed_bytes, available_bytes, timed & too_large)


def _room_bytes(processor: Processor, core_set: CoreSet) -> float:
    if processor.memory_bytes is None:
        return inf
    return float(processor.memory_bytes * core_set.cores // processor.units)


def _bytes(size: int) -> str:
    return f"{show(size, 'size')} ({size} bytes)"
