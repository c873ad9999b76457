"""Pipelines that are held ready for the case that a lane fails."""

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from math import inf

import msgspec
import numpy as np
import pytest

from evener.artifacts.plan import Lane, Part, Plan, Stage, Unit
from evener.errors import InputError, StageFailedError
from evener.run.pipeline import Pipeline
from evener.run.standby import Standby
from evener.testing.plans import of_stages
from evener.testing.scripted_runtime import SHAPE, ScriptedRuntime, vector

PATIENCE_S = 20.0
NOTHING: dict[Unit, float] = {}


def without(*lost: str) -> dict[Unit, float]:
    return {(name, None): inf for name in lost}


def plan_on(processor: str, rate_hz: float = 1.0) -> Plan:
    part = Part(first_block=0, last_block=0, runtime="scripted")
    lane = Lane(processor=processor, cores=(), parts=(part,), time_s=1 / rate_hz)
    stage = Stage(first_block=0, last_block=0, inputs=("x",), outputs=("y",), lanes=(lane,))
    return msgspec.structs.replace(of_stages(stage), rate_hz=rate_hz, latency_s=1 / rate_hz)


class Opener:
    """Makes pipelines of scripted sessions; a test may refuse or hold up their opening."""

    def __init__(self) -> None:
        self.runtime = ScriptedRuntime()
        self.asked: list[Plan] = []
        self.made: list[Pipeline] = []
        self.refused: set[str] = set()
        self.errors: dict[str, Exception] = {}
        self.held_up: dict[str, threading.Event] = {}
        self.begun = threading.Event()

    def __call__(self, plan: Plan) -> Pipeline:
        self.asked.append(plan)
        name = plan.stages[0].lanes[0].processor

        def segments(*_: int) -> bytes:
            self.begun.set()
            if name in self.held_up:
                assert self.held_up[name].wait(PATIENCE_S)
            if name in self.errors:
                raise self.errors[name]
            return b"refuse" if name in self.refused else b"x>y"

        runtimes = {"scripted": self.runtime}
        self.made.append(Pipeline(plan, segments, inputs=[vector("x")], runtimes=runtimes))
        return self.made[-1]

    @property
    def all_closed(self) -> bool:
        return all(session.closed for session in self.runtime.sessions)


@pytest.fixture
def opener() -> Opener:
    return Opener()


@pytest.fixture
def make(opener: Opener) -> Iterator[Callable[..., Standby]]:
    made = []

    def make_standby(may_hold: Callable[[Plan], bool] = lambda _: True, most: int = 4) -> Standby:
        made.append(Standby(opener, may_hold, most=most, margin=0.05))
        return made[-1]

    yield make_standby

    for standby in made:
        standby.close()
    for thread in threading.enumerate():
        if thread.name.startswith("stage "):
            thread.join(PATIENCE_S)  # of a pipeline that was given up
    assert opener.all_closed


def test_what_is_wanted_is_open_before_it_is_needed(
    make: Callable[..., Standby], opener: Opener
) -> None:
    standby = make()

    assert standby.hold([(plan_on("big"), without("little")), (plan_on("little"), without("big"))])
    assert standby.held == (plan_on("big"), plan_on("little"))
    taken = standby.take(plan_on("big"), without("little"))

    assert taken is not None
    assert (taken.plan, taken.ready) == (plan_on("big"), True)
    assert list(standby.held) == [plan_on("little")]
    seen: list[float] = []
    taken.pipeline.run(
        [(np.zeros(SHAPE, np.float32),)], lambda _, answer: seen.append(answer[0][0])
    )
    taken.pipeline.close()
    assert seen == [1.0]
    assert len(opener.asked) == 2


def test_what_is_held_is_given_to_one_only(make: Callable[..., Standby]) -> None:
    standby = make()
    standby.hold([(plan_on("big"), NOTHING)])

    first, second = (standby.take(plan_on("big"), NOTHING) for _ in range(2))

    assert first is not None
    first.pipeline.close()
    assert second is None


def test_what_is_not_wanted_any_more_is_closed(
    make: Callable[..., Standby], opener: Opener
) -> None:
    standby = make()
    standby.hold([(plan_on("big"), without("little")), (plan_on("little"), without("big"))])

    standby.hold([(plan_on("little"), without("big"))])

    assert standby.held == (plan_on("little"),)
    assert len(opener.asked) == 2


def test_without_room_nothing_is_opened(make: Callable[..., Standby], opener: Opener) -> None:
    standby = make(lambda plan: plan == plan_on("little"))

    standby.hold([(plan_on("big"), without("little")), (plan_on("little"), without("big"))])

    assert opener.asked == [plan_on("little")]


def test_no_more_are_held_than_allowed_the_likeliest_first(make: Callable[..., Standby]) -> None:
    standby = make(most=2)

    standby.hold(
        [
            (plan_on("a"), NOTHING),
            (plan_on("b"), without("a")),
            (plan_on("c"), without("a", "b")),
        ]
    )

    assert standby.held == (plan_on("a"), plan_on("b"))


def test_a_plan_that_could_not_be_opened_is_not_tried_again(
    make: Callable[..., Standby], opener: Opener
) -> None:
    standby, wanted = (
        make(),
        [(plan_on("big"), without("little")), (plan_on("little"), without("big"))],
    )
    opener.refused = {"big"}

    for _ in range(2):
        assert standby.hold(wanted)

    assert standby.held == (plan_on("little"),)
    assert opener.asked == [plan_on("big"), plan_on("little")]


@pytest.mark.parametrize(
    ("error", "why"),
    [(OSError(11, "no process"), "[Errno 11] no process"), (MemoryError(), "MemoryError")],
)
def test_a_machine_without_room_for_it_costs_the_spare_and_not_the_run(
    make: Callable[..., Standby],
    opener: Opener,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    why: str,
) -> None:
    standby = make()
    wanted = [(plan_on("big"), without("little")), (plan_on("little"), without("big"))]
    opener.errors = {"big": error}

    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert standby.hold(wanted)

    assert standby.held == (plan_on("little"),)
    assert opener.asked == [plan_on("big"), plan_on("little")]
    assert caplog.messages == [f"the plan 'one session: big[]' cannot be held ready: {why}"]


def test_nobody_waits_for_one_whose_opening_ended_with_a_fault_of_the_program(
    make: Callable[..., Standby], opener: Opener
) -> None:
    standby = make()
    opener.errors = {"big": ZeroDivisionError("a fault")}

    with pytest.raises(ZeroDivisionError, match="a fault"):
        standby.hold([(plan_on("big"), NOTHING)])

    assert not standby.opening
    assert standby.take(plan_on("big"), NOTHING) is None


def test_what_is_wrong_with_the_plan_itself_is_raised(make: Callable[..., Standby]) -> None:
    stage = msgspec.structs.replace(plan_on("big").stages[0], inputs=("z",), outputs=("z",))
    wrong = msgspec.structs.replace(plan_on("big"), stages=(stage,))

    with pytest.raises(InputError, match="stage 0 is to hand on 'z'"):
        make().hold([(wrong, NOTHING)])


def test_one_that_is_nearly_as_good_does_as_well(
    make: Callable[..., Standby], opener: Opener
) -> None:
    standby = make()
    standby.hold([(plan_on("big", 1.0), NOTHING)])

    standby.hold([(plan_on("other", 1.04), NOTHING)])  # not better by the margin of 5 %
    taken = standby.take(plan_on("other", 1.04), {("gone", None): inf})

    assert len(opener.asked) == 1
    assert taken is not None
    taken.pipeline.close()
    assert taken.plan == plan_on("big", 1.0)


@pytest.mark.parametrize(
    ("rate_hz", "slowdowns"),
    [
        (1.06, {}),  # better by the margin
        (0.01, {("big", None): inf}),  # what is held uses what is lost
        (0.6, {("big", None): 2.0}),  # what is held is slow now
    ],
)
def test_one_that_is_worse_as_things_are_does_not_do(
    make: Callable[..., Standby], rate_hz: float, slowdowns: dict[Unit, float]
) -> None:
    standby = make()
    standby.hold([(plan_on("big", 1.0), NOTHING)])

    assert standby.take(plan_on("other", rate_hz), slowdowns) is None


def test_one_whose_lane_died_meanwhile_is_not_given(
    make: Callable[..., Standby], opener: Opener
) -> None:
    standby = make()
    standby.hold([(plan_on("big"), NOTHING)])

    opener.made[0].abandon(StageFailedError("killed", stage=0))

    assert standby.take(plan_on("big"), NOTHING) is None
    standby.hold([(plan_on("big"), NOTHING)])
    assert len(opener.made) == 2


def test_one_that_is_being_opened_is_waited_for(
    make: Callable[..., Standby], opener: Opener
) -> None:
    standby, go_on = make(), threading.Event()
    opener.held_up = {"big": go_on}
    with ThreadPoolExecutor(2) as pool:
        holding = pool.submit(standby.hold, [(plan_on("big"), NOTHING)])
        assert opener.begun.wait(PATIENCE_S)
        assert standby.opening
        taking = pool.submit(standby.take, plan_on("big"), NOTHING)
        go_on.set()

        assert holding.result(PATIENCE_S)
        taken = taking.result(PATIENCE_S)

    assert taken is not None
    taken.pipeline.close()
    assert not taken.ready
    assert not standby.opening


@pytest.mark.parametrize("how", ["interrupt", "take"])
def test_one_that_is_being_opened_is_given_up_for_the_end_or_for_another(
    make: Callable[..., Standby], opener: Opener, how: str
) -> None:
    standby, go_on = make(), threading.Event()
    opener.held_up = {"big": go_on}
    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(standby.hold, [(plan_on("big"), NOTHING)])
        assert opener.begun.wait(PATIENCE_S)
        if how == "interrupt":
            standby.interrupt()
        else:
            assert standby.take(plan_on("other", 9.0), NOTHING) is None
        go_on.set()

        assert holding.result(PATIENCE_S) is (how == "take")

    assert not standby.held
    standby.begin()
    assert standby.hold([(plan_on("big"), NOTHING)])  # it was no fault of the plan
    assert list(standby.held) == [plan_on("big")]


class OpenLate(Pipeline):
    """A pipeline that is open, but does not say so before it may."""

    def __init__(self, plan: Plan, runtime: ScriptedRuntime) -> None:
        super().__init__(
            plan, lambda *_: b"x>y", inputs=[vector("x")], runtimes={"scripted": runtime}
        )
        self.open, self.may_say_so = threading.Event(), threading.Event()

    def open_behind(self) -> None:
        super().open_behind()
        self.open.set()
        assert self.may_say_so.wait(PATIENCE_S)


@pytest.mark.parametrize("how", ["close", "interrupt"])
def test_one_that_is_open_just_after_it_was_given_up_is_closed_and_not_held(how: str) -> None:
    runtime = ScriptedRuntime()
    late = OpenLate(plan_on("big"), runtime)
    standby = Standby(lambda _: late, lambda _: True, most=4, margin=0.05)
    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(standby.hold, [(plan_on("big"), NOTHING)])
        assert late.open.wait(PATIENCE_S)
        getattr(standby, how)()
        late.may_say_so.set()

        assert not holding.result(PATIENCE_S)

    for thread in threading.enumerate():
        if thread.name.startswith("stage "):
            thread.join(PATIENCE_S)  # nobody else waits for one that was given up
    assert standby.held == ()
    assert [session.closed for session in runtime.sessions] == [True]


def test_what_is_closed_holds_nothing_any_more(
    make: Callable[..., Standby], opener: Opener
) -> None:
    standby = make()
    standby.close()

    standby.begin()

    assert not standby.hold([(plan_on("big"), NOTHING)])
    assert opener.asked == []


@pytest.mark.parametrize("held", [True, False])
def test_after_an_interrupt_no_more_is_planned(
    make: Callable[..., Standby], opener: Opener, held: bool
) -> None:
    standby = make()
    if held:
        standby.hold([(plan_on("a"), NOTHING)])
    planned = []

    def wanted() -> Iterator[tuple[Plan, dict[Unit, float]]]:
        for name in ("b", "c", "d"):
            planned.append(name)
            if name == "c":
                standby.interrupt()
            yield plan_on(name, 9.0), NOTHING

    assert not standby.hold(wanted())

    assert planned == ["b", "c"]
    # Which of those held are useless is known only once all is planned.
    assert standby.held == ((plan_on("a"),) if held else (plan_on("b", 9.0),))
    assert len(opener.asked) == 1
