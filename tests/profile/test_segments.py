"""Timing segments at places."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from evener.artifacts.processors import Machine, Processor
from evener.errors import InputError
from evener.network.blocks import Blocks
from evener.network.model import Network
from evener.network.split import segment_model
from evener.profile.segments import Measured, Place, find_places, time_segments

FakeRuntime = Any  # see conftest.py
MakeRuntime = Callable[..., FakeRuntime]
MakeMachine = Callable[..., Machine]
LAYER_S, CUT_S = 0.25, 0.0625


@pytest.fixture
def measure(
    network: Network, blocks: Blocks, make_machine: MakeMachine, clock: Callable[[], float]
) -> Callable[..., Measured]:
    def run(runtimes: dict[str, FakeRuntime], **changes: Any) -> Measured:  # noqa: ANN401 -- keywords of time_segments
        places = find_places(make_machine(*runtimes), runtimes)
        return time_segments(
            [((0, 5), places), ((1, 2), places), ((4, 5), places)],
            model_of=lambda first, last: segment_model(network, blocks, first, last),
            runtimes=runtimes,
            optimisation="all",
            clock=clock,
            **changes,
        )

    return run


def test_each_segment_has_the_time_of_its_own_session(
    measure: Callable[..., Measured], make_runtime: MakeRuntime
) -> None:
    measured = measure({"fake": make_runtime()})

    (times,) = measured.times.values()
    assert {segment: timing.median_s for segment, timing in times.items()} == {
        (0, 5): 6 * LAYER_S,
        (1, 2): 2 * LAYER_S + 2 * CUT_S,
        (4, 5): 2 * LAYER_S + CUT_S,
    }


def test_one_session_is_open_at_a_time_and_none_at_the_end(
    measure: Callable[..., Measured], make_runtime: MakeRuntime
) -> None:
    runtime = make_runtime()

    measure({"fake": runtime})

    assert (runtime.most_open, runtime.open_sessions) == (1, 0)


def test_runs_happen_pinned_and_the_thread_is_free_again_after(
    measure: Callable[..., Measured], make_runtime: MakeRuntime
) -> None:
    before = os.sched_getaffinity(0)
    runtime = make_runtime()

    measure({"fake": runtime})

    assert runtime.cores_seen == {frozenset({min(before)})}
    assert os.sched_getaffinity(0) == before


def test_a_refusal_leaves_the_other_times(
    measure: Callable[..., Measured], make_runtime: MakeRuntime
) -> None:
    picky = make_runtime(name="picky", refuses=lambda layers: layers > 2)

    measured = measure({"fake": make_runtime(), "picky": picky})

    times = {place.runtime: set(found) for place, found in measured.times.items()}
    assert times == {"fake": {(0, 5), (1, 2), (4, 5)}, "picky": {(1, 2), (4, 5)}}
    (refused,) = measured.refusals.values()
    assert {segment: str(error) for segment, error in refused.items()} == {
        (0, 5): "no 6 layers here"
    }


def test_progress_hears_of_times_and_refusals(
    measure: Callable[..., Measured], make_runtime: MakeRuntime
) -> None:
    heard: list[tuple[int, int, str]] = []

    measure(
        {"fake": make_runtime(refuses=lambda layers: layers > 2)},
        progress=lambda done, total, what: heard.append((done, total, what)),
    )

    assert heard == [
        (1, 3, "blocks 0 to 5, fake on 1 core of cpu0: refused: no 6 layers here"),
        (2, 3, "blocks 1 to 2, fake on 1 core of cpu0: 625 ms"),
        (3, 3, "blocks 4 to 5, fake on 1 core of cpu0: 562 ms"),
    ]


def test_places_are_the_core_sets_with_each_runtime_that_the_processor_lists() -> None:
    processors = (
        Processor(name="cpu0", kind="cpu", cores=(0, 1), core_sets=(1, 2), runtimes=("a", "b")),
        Processor(name="gpu0", kind="gpu", runtimes=("b", "c")),
    )
    machine = Machine(host="board", system="", processors=processors, runtimes={})

    places = find_places(machine, {"b": Any, "c": Any})  # type: ignore[dict-item] # only names count

    assert list(map(str, places)) == [
        "b on 1 core of cpu0",
        "b on 2 cores of cpu0",
        "b on gpu0",
        "c on gpu0",
    ]
    assert places[2] == Place(processors[1], 1, "b")


def test_no_place_is_refused_with_what_there_is(make_machine: MakeMachine) -> None:
    with pytest.raises(InputError, match=r"none of the runtimes other can use .* board \(cpu0\)"):
        find_places(make_machine("fake"), {"other": Any})  # type: ignore[dict-item] # only names count
