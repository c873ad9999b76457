"""Plans that are made once for each condition, and asked for by several threads."""

import threading
from collections.abc import Callable

import pytest

from evener.artifacts.plan import Plan, Unit
from evener.run import plans as module
from evener.run.condition import Condition, Slowdowns
from evener.run.plans import Plans
from evener.testing.plans import chain

HOME = chain((1, [(0,)]))
OTHER = chain((1, [(1,)]))
LITTLE_S = 0.05  # what another thread gets to come in between


def plans_of(replan: Callable[[Slowdowns], Plan | None]) -> Plans:
    def open_nothing(_: Plan) -> None:
        raise NotImplementedError

    return Plans(HOME, open_nothing, replan, condition=Condition(term_s=60.0))  # type: ignore[arg-type] # opens none


def slow(factor: float) -> dict[Unit, float]:
    return {("p0a", 0): factor}


def test_what_does_not_concern_the_home_plan_leaves_it_and_the_rest_is_planned_once() -> None:
    asked = []

    def replan(slowdowns: Slowdowns) -> Plan | None:
        asked.append(dict(slowdowns))
        return None if slowdowns == slow(3.0) else OTHER

    plans = plans_of(replan)

    assert plans.under({("elsewhere", 0): 2.0}) == HOME
    assert [plans.under(slow(factor)) for factor in (2.0, 3.0, 2.0, 3.0)] == [
        OTHER,
        None,
        OTHER,
        None,
    ]
    assert asked == [slow(2.0), slow(3.0)]


def test_a_plan_that_is_known_is_given_though_another_thread_forgets_it_just_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_REMEMBERED", 1)
    plans = plans_of(lambda _: OTHER)

    class Interrupted(dict[frozenset[tuple[Unit, float]], Plan | None]):
        """Lets another thread plan for something else between two looks, if nothing forbids it."""

        def __contains__(self, key: object) -> bool:
            found = super().__contains__(key)
            if found and threading.current_thread() is threading.main_thread():
                other = threading.Thread(target=plans.under, args=(slow(9.0),))
                others.append(other)
                other.start()
                other.join(LITTLE_S)
            return found

    others: list[threading.Thread] = []
    plans._known = Interrupted()
    plans.under(slow(2.0))

    assert plans.under(slow(2.0)) == OTHER
    assert len(others) == 1
    for other in others:
        other.join()
