"""What opening a session on cores takes."""

import pytest

from evener.errors import InputError, RuntimeFailedError
from evener.runtime import opening, pinning

CORE = min(pinning.PROCESS_CORES)


def test_a_caller_on_its_core_is_let_through() -> None:
    with pinning.pinned((CORE,)):
        opening.check_caller("some", (CORE,))


def test_a_foreign_core_is_refused() -> None:
    with pytest.raises(InputError, match="is not among the cores this process may use"):
        opening.check_caller("some", (CORE + 1000,))


def test_threads_that_are_elsewhere_close_what_was_opened() -> None:
    closed: list[str] = []
    with (
        pinning.pinned((CORE,)),
        pytest.raises(RuntimeFailedError, match="the kernel confirms only"),
        opening.confirmed_threads("some", (CORE, CORE + 1000)) as if_misplaced,
    ):
        if_misplaced.callback(closed.append, "session")

    assert closed == ["session"]


def test_threads_that_are_in_place_close_nothing() -> None:
    closed: list[str] = []
    with (
        pinning.pinned((CORE,)),
        opening.confirmed_threads("some", (CORE,)) as if_misplaced,
    ):
        if_misplaced.callback(closed.append, "session")

    assert not closed


def test_a_failure_closes_too_and_lets_others_make_threads() -> None:
    closed: list[str] = []

    def open_badly() -> None:
        with opening.confirmed_threads("some", (CORE,)) as if_misplaced:
            if_misplaced.callback(closed.append, "session")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        open_badly()

    assert closed == ["session"]
    assert not pinning.MAKING.locked()
