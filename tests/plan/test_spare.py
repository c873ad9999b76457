"""Leaving a core to the thread that feeds the devices."""

from collections.abc import Callable

import msgspec

from evener.artifacts.profile import Contention, Profile
from evener.plan.decide import make_plan
from evener.plan.spare import spare_core


def machine_of(profile_of: Callable[..., Profile], sizes: dict[str, int]) -> Profile:
    """Profile one block that takes a core 4 s, two cores 2 s and a device 1 s."""
    seconds = {1: 4.0, 2: 2.0}
    times = {
        (name, cores): lambda _first, _last, time_s=1.0 if name == "gpu" else seconds[cores]: time_s
        for name, most in sizes.items()
        for cores in ((1, 2) if most > 1 else (1,))
    }
    profile = profile_of(1, sizes, times)
    contention = tuple(
        Contention(processor=name, others=1, factor=2.0 if name == "gpu" else 1.0) for name in sizes
    )
    return msgspec.structs.replace(profile, contention=contention)


def test_the_spared_core_is_the_last_of_the_fastest_cluster(
    profile_of: Callable[..., Profile],
) -> None:
    spared = spare_core(machine_of(profile_of, {"big": 2, "little": 2, "gpu": 1}))

    assert spared is not None
    cores = {one.name: (one.cores, one.core_sets) for one in spared.machine.processors}
    assert cores == {"big": ((0,), (1,)), "little": ((2, 3), (1, 2)), "gpu": ((), (1,))}


def test_a_device_with_a_core_for_its_thread_is_slowed_by_no_company(
    profile_of: Callable[..., Profile],
) -> None:
    whole = machine_of(profile_of, {"big": 2, "gpu": 1})
    spared = spare_core(whole)

    assert spared is not None
    assert [one.processor for one in spared.contention] == ["big"]
    # The device alone makes 1 frame/s; beside two busy cores 1/2 + 2/4; beside one core 1 + 1/4.
    assert make_plan(whole).rate_hz == 1.0
    assert make_plan(spared).rate_hz == 1.25


def test_nothing_is_spared_without_a_device_or_a_second_core(
    profile_of: Callable[..., Profile],
) -> None:
    assert spare_core(machine_of(profile_of, {"big": 2, "little": 2})) is None
    assert spare_core(machine_of(profile_of, {"big": 1, "gpu": 1})) is None
