"""Branches at once are timed where that can gain, and their parts where it does."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from evener.artifacts.processors import Processor
from evener.artifacts.profile import Block, Execution, SegmentTime
from evener.errors import RuntimeFailedError
from evener.profile.measure import _Sweep
from evener.profile.segments import Measured, Place, Progress, Wanted, branching_places
from evener.profile.timing import Segment, Timing

CPU = Processor(name="cpu0", kind="cpu", cores=(0, 1, 2, 3), core_sets=(1, 2, 4))
WHOLE = (0, 2)
PARTS: tuple[Segment, ...] = ((0, 0), (1, 2), (0, 1), (2, 2))
BLOCKS = [
    Block(name=name, operators={}, macs=1, weights_bytes=0, inputs=(), outputs=()) for name in "abc"
]


def places(runtime: str = "onnxruntime") -> tuple[Place, ...]:
    return tuple(Place(CPU, cores, runtime) for cores in CPU.core_sets)


class Timed:
    """Take given seconds a block, by execution; None is refused."""

    def __init__(self, block_s: Mapping[Execution, float | None]) -> None:
        self.block_s = block_s
        self.asked: list[tuple[Segment, int, Execution]] = []

    def __call__(self, wanted: Wanted, progress: Progress) -> Measured:
        times: dict[Place, dict[Segment, Timing]] = {}
        refusals: dict[Place, dict[Segment, RuntimeFailedError]] = {}
        for segment, where in wanted:
            for place in where:
                self.asked.append((segment, place.cores, place.execution))
                time_s = self.block_s[place.execution]
                if time_s is None:
                    error = RuntimeFailedError("no", runtime=place.runtime)
                    refusals.setdefault(place, {})[segment] = error
                else:
                    took_s = time_s * (segment[1] - segment[0] + 1)
                    times.setdefault(place, {})[segment] = Timing(took_s, took_s, took_s, 5)
        progress(len(self.asked), len(self.asked), "")
        return Measured(times, refusals)


def swept(timed: Timed) -> Iterator[SegmentTime]:
    sweep = _Sweep(places(), timed, None, lambda _first, _last: True)
    sweep.everywhere([WHOLE, *PARTS])
    twins = {one: replace(one, execution="sequential") for one in branching_places(places())}
    sweep.where_quicker(twins, whole=WHOLE, parts=PARTS)
    return sweep.records(BLOCKS)


def test_only_a_runtime_that_can_is_asked_and_only_on_enough_cores() -> None:
    found = branching_places((*places(), *places("openvino")))

    assert [(one.runtime, one.cores, one.execution) for one in found] == [
        ("onnxruntime", 4, "parallel")
    ]
    assert str(found[0]) == "onnxruntime on 4 cores of cpu0, branches at once"


def test_where_the_whole_gains_its_parts_are_timed_too_and_the_middle_is_estimated() -> None:
    timed = Timed({"sequential": 1.0, "parallel": 0.5})

    records = [one for one in swept(timed) if one.execution == "parallel"]

    assert {(one.first_block, one.last_block) for one in records} == {
        (first, last) for first in range(3) for last in range(first, 3)
    }
    assert {one.cores for one in records} == {4}
    assert [one.median_s for one in records if (one.first_block, one.last_block) == WHOLE] == [1.5]
    assert [one.interpolated for one in records].count(True) == 1


@pytest.mark.parametrize("parallel_s", [0.99, 2.0, None])
def test_where_it_does_not_gain_clearly_nothing_more_is_timed_or_written(
    parallel_s: float | None,
) -> None:
    timed = Timed({"sequential": 1.0, "parallel": parallel_s})

    records = list(swept(timed))

    assert {one.execution for one in records} == {"sequential"}
    assert [one for one in timed.asked if one[2] == "parallel"] == [(WHOLE, 4, "parallel")]


def test_what_is_only_possible_with_branches_at_once_is_kept() -> None:
    records = list(swept(Timed({"sequential": None, "parallel": 1.0})))

    assert {one.execution for one in records} == {"parallel"}
