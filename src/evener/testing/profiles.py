"""Small profiles with times that can be checked in the head."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from evener.artifacts.processors import Machine, Processor
from evener.artifacts.profile import Block, HandOff, Profile, SegmentTime
from evener.artifacts.tensor import Tensor

Key = tuple[str, int] | tuple[str, int, float]  # processor, cores and perhaps its clock
Times = Mapping[Key, Callable[[int, int], float | None]]


def _tensor(index: int) -> Tensor:
    return Tensor(name=f"t{index}", shape=(250,), dtype="float32")


def _processor(name: str, cores: int, first: int) -> Processor:
    if name.startswith("gpu"):
        return Processor(name=name, kind="gpu", runtimes=("fake",))
    sets = tuple(sorted({2**power for power in range(7) if 2**power <= cores} | {cores}))
    return Processor(
        name=name,
        kind="cpu",
        cores=tuple(range(first, first + cores)),
        core_sets=sets,
        runtimes=("fake",),
    )


def make_profile(
    blocks: int,
    sizes: Mapping[str, int],
    times: Times,
    *,
    hand_off: HandOff | None = None,
    energy_j: Mapping[str, float] | None = None,
    energies: Times | None = None,
    idle_w: float | None = None,
    memory: Mapping[str, int] | None = None,
    states: Sequence[int] | None = None,
) -> Profile:
    """Make a profile.

    Args:
        blocks: how many; 1000 bytes cross every cut.
        sizes: cores of each processor; names that start with "gpu" are devices.
        times: by processor, cores and perhaps clock, seconds of the blocks from first to last;
            None if unable.
        hand_off: its cost; nothing if None.
        energy_j: of any segment, by processor.
        energies: joules of the blocks from first to last, by the keys of `times`.
        idle_w: what the machine draws when idle.
        memory: bytes of some processors.
        states: how many each block keeps; none if None.
    """
    clocks: dict[str, set[float]] = {}
    for name, _, *clock in times:
        clocks.setdefault(name, set()).update(clock)
    processors: list[Processor] = []
    for name, cores in sizes.items():
        processors.append(
            msgspec.structs.replace(
                _processor(name, cores, sum(p.units for p in processors)),
                clocks_hz=tuple(sorted(clocks.get(name, ()))),
                memory_bytes=(memory or {}).get(name),
            )
        )
    segments = [
        SegmentTime(
            first_block=first,
            last_block=last,
            processor=name,
            cores=cores,
            runtime="fake",
            median_s=time_s,
            low_s=time_s,
            high_s=time_s,
            repeats=5,
            clock_hz=next(iter(clock), None),
            energy_j=(
                energies[key](first, last) if energies is not None else (energy_j or {}).get(name)
            ),
        )
        for key, time_of in times.items()
        for name, cores, *clock in [key]
        for first in range(blocks)
        for last in range(first, blocks)
        if (time_s := time_of(first, last)) is not None
    ]
    return Profile(
        network="toy",
        network_sha256="0" * 64,
        granularity="paper",
        blocks=tuple(
            Block(
                name=f"block{index}",
                operators={"Conv": 1},
                macs=1,
                weights_bytes=4,
                inputs=(_tensor(index),),
                outputs=(_tensor(index + 1),),
                states=kept,
            )
            for index, kept in enumerate(states or [0] * blocks)
        ),
        machine=Machine(
            host="board",
            system="Linux",
            processors=tuple(processors),
            runtimes={"fake": "1"},
            idle_w=idle_w,
        ),
        segments=tuple(segments),
        hand_off=hand_off or HandOff(fixed_s=0.0),
    )
