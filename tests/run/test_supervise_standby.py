"""Runs with plans held ready: what a failure needs is open before it happens."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.plan import Plan
from evener.artifacts.trace import Trace
from evener.run.condition import Slowdowns
from evener.run.entry import Frame
from evener.run.supervise import SupervisedPipeline
from evener.runtime.session import Array
from evener.testing.scripted_pipelines import numbered
from evener.testing.scripted_supervision import (
    BY_HAND,
    Machine,
    Once,
    all_of,
    alone,
    replan,
    two_stages,
)

PATIENCE_S = 20.0


def holding(
    machine: Machine, pipeline: SupervisedPipeline, frames: list[Frame]
) -> tuple[Trace, list[tuple[int, float]]]:
    """Run frames, and after each answer let a minute go by and hold ready what is needed."""
    seen: list[tuple[int, float]] = []

    def emit(number: int, answer: tuple[Array, ...]) -> None:
        seen.append((number, answer[0][0]))
        machine.now_s += 60.0
        pipeline.hold_ready()

    return pipeline.run(frames, emit), seen


def test_what_a_failure_needs_is_open_before_it_happens() -> None:
    machine = Machine(Once(("little", 7)))
    with machine.supervised(two_stages(credits=1), may_hold=lambda _: True) as pipeline:
        opened_at: list[str] = []

        def emit(number: int, _: tuple[Array, ...]) -> None:
            if number == 6:
                machine.now_s = 60.0
                pipeline.hold_ready()
                opened_at.extend(machine.opened)

        trace = pipeline.run(numbered(20), emit)

    home, on_little, on_big = (
        "2 stages: big[] > little[]",
        "one session: little[]",
        "one session: big[]",
    )
    assert opened_at == [home, on_little, on_big]
    assert machine.opened == opened_at
    (switch,) = trace.switches
    assert (switch.after, switch.ready, switch.frame) == (on_big, True, 7)
    assert all(session.closed for session in machine.sessions.sessions)


def test_the_likeliest_loss_is_prepared_for_before_the_next_is_planned_for() -> None:
    machine, order = Machine(), []

    def noted(slowdowns: Slowdowns) -> Plan | None:
        order.append("plan")
        return replan(slowdowns)

    def may_hold(plan: Plan) -> bool:
        order.append(plan.outline)
        return True

    with machine.supervised(replan=noted, may_hold=may_hold) as pipeline:
        holding(machine, pipeline, numbered(3))

    assert order == ["plan", "one session: little[]", "plan", "one session: big[]"]


def test_nothing_is_held_ready_without_room_nor_before_a_plan_has_run_for_a_while() -> None:
    for may_hold, after_s in ((False, 60.0), (True, 0.5)):
        machine = Machine(Once(("little", 7)))

        def emit(_: int, __: tuple[Array, ...], machine: Machine = machine) -> None:
            machine.now_s = after_s  # noqa: B023 - it is called in this round
            pipeline.hold_ready()

        limits = msgspec.structs.replace(BY_HAND, standby_after_s=1.0)
        with machine.supervised(
            limits=limits,
            may_hold=lambda _: may_hold,  # noqa: B023 - as above
        ) as pipeline:
            trace = pipeline.run(numbered(20), emit)

        assert [one.ready for one in trace.switches] == [False]


def test_where_nothing_would_be_left_the_first_plan_is_held_ready() -> None:
    machine = Machine(Once(("little", 3), ("big", 9)))
    with machine.supervised(two_stages(credits=1), may_hold=lambda _: True) as pipeline:
        seen: list[int] = []

        def emit(number: int, _: tuple[Array, ...]) -> None:
            seen.append(number)
            machine.now_s += 5.0
            pipeline.hold_ready()

        trace = pipeline.run(numbered(20), emit)

    assert seen == list(range(20))
    assert [(one.after, one.ready) for one in trace.switches] == [
        ("one session: big[]", True),
        ("2 stages: big[] > little[]", True),
    ]


def test_what_is_held_ready_outlives_a_run_and_is_asked_for_once() -> None:
    machine = Machine()
    with machine.supervised(may_hold=lambda _: True) as pipeline:
        for _ in range(2):
            _, seen = holding(machine, pipeline, numbered(10))
            assert seen == all_of(10)
        assert pipeline.held_ready == (alone("little"), alone("big"))

    assert len(machine.opened) == 3
    assert all(session.closed for session in machine.sessions.sessions)


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(st.integers(0, 29), st.sampled_from(["big", "little"]), max_size=6),
    st.integers(1, 5),
)
def test_every_frame_is_answered_once_and_in_order_with_standby_too(
    faults: dict[int, str], credits: int
) -> None:
    script = Once(*((processor, frame) for frame, processor in faults.items()))
    machine = Machine(script)
    home = two_stages(credits=credits)
    with machine.supervised(home, may_hold=lambda _: True) as pipeline:
        _, seen = holding(machine, pipeline, numbered(30))

    assert seen == all_of(30)
    assert all(session.closed for session in machine.sessions.sessions)
