"""Entrants take turns: together where memory allows, else one at a time."""

import itertools
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from evener.artifacts.trace import Trace
from evener.errors import InfeasibleError
from evener.plan.decide import make_baseline
from evener.profile.energy import CountingMeter, Source
from evener.run.compare import Runner
from evener.run.pipeline import Pipeline
from evener.testing import plans
from evener.testing.scripted_runtime import SHAPE, ScriptedRuntime, vector
from evener.workflow.memory import plan_bytes
from evener.workflow.opening import open_network
from evener.workflow.profile import profile_network
from evener.workflow.race import Entrant, entrant, race, without_those_too_big

FRAMES = [(np.full(SHAPE, value, np.float32),) for value in range(3)]


class Room:
    """Counts who is open."""

    def __init__(self) -> None:
        self.open = 0
        self.most = 0
        self.times = 0

    def entrant(self, memory_bytes: int) -> Entrant:
        @contextmanager
        def opening() -> Iterator[Runner]:
            plan = plans.chain((1, [()]), runtime="scripted")
            runtimes = {"scripted": ScriptedRuntime()}
            with Pipeline(plan, lambda *_: b"x>y", inputs=[vector("x")], runtimes=runtimes) as one:
                self.open += 1
                self.times += 1
                self.most = max(self.most, self.open)
                yield one
                self.open -= 1

        return Entrant(open=opening, memory_bytes=memory_bytes, rate_hz=1000.0)


def run(room: Room, *, free_bytes: int) -> dict[str, list[Trace]]:
    entrants = {"a": room.entrant(400), "b": room.entrant(400)}
    return race(entrants, FRAMES, rounds=3, free_bytes=free_bytes)


def test_all_are_open_at_once_where_memory_allows(caplog: pytest.LogCaptureFixture) -> None:
    room = Room()

    traces = run(room, free_bytes=1000)

    assert (room.most, room.times, room.open) == (2, 2, 0)
    assert {name: len(found) for name, found in traces.items()} == {"a": 3, "b": 3}
    assert not caplog.records


def test_each_is_opened_for_its_turn_where_not_and_that_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    room = Room()

    with caplog.at_level(logging.WARNING):
        traces = run(room, free_bytes=900)

    assert (room.most, room.times, room.open) == (1, 8, 0)
    assert {name: len(found) for name, found in traces.items()} == {"a": 3, "b": 3}
    assert "a, b need about 800 B of memory together, 900 B are free" in caplog.text


def test_each_turn_is_metered_by_the_frame() -> None:
    joules = itertools.count(0, 50)  # one reading before a turn and one after it
    meter = CountingMeter([Source("c", lambda: float(next(joules)))], clock=lambda: 0.0)
    meter.least_s = 0.0

    traces = race({"a": Room().entrant(1)}, FRAMES, rounds=2, free_bytes=1000, meter=meter)

    assert [one.energy_j for one in traces["a"]] == [50.0 / one.frames for one in traces["a"]]


def test_a_turn_is_as_long_as_its_meter_needs_it() -> None:
    meter = CountingMeter([Source("c", time.monotonic)])
    meter.least_s = 0.05  # ten times the longest turn of these tests

    traces = race({"a": Room().entrant(1)}, FRAMES, rounds=2, free_bytes=1000, meter=meter)

    assert all(one.energy_j is not None for one in traces["a"])
    assert all((one.energy_j or 0.0) * one.frames >= 0.05 for one in traces["a"])


def test_what_does_not_fit_alone_is_refused_with_the_figures() -> None:
    with pytest.raises(InfeasibleError, match="'a' needs about 400 B of memory, 450 B") as caught:
        run(Room(), free_bytes=450)

    assert (caught.value.needed, caught.value.available) == (400, 450)


def test_those_too_big_are_told_apart() -> None:
    small, big = Room().entrant(10), Room().entrant(1000)

    able, reasons = without_those_too_big({"small": small, "big": big}, free_bytes=100)

    assert able == {"small": small}
    assert list(reasons) == ["big"]


def test_copies_hold_a_session_each(net: str) -> None:
    opened, profile = open_network(net), profile_network(net).value
    single, copies = (make_baseline(profile, what) for what in ("single", "copies"))
    lanes = len(copies.stages[0].lanes)

    assert plan_bytes(opened, single) > sum(one.weights_bytes for one in opened.blocks.blocks)
    if single.stages[0].lanes[0].parts == copies.stages[0].lanes[0].parts:
        assert plan_bytes(opened, copies) == lanes * plan_bytes(opened, single)
    assert entrant(opened, copies).memory_bytes == plan_bytes(opened, copies)
