"""Pinning, as the kernel sees it."""

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.errors import InputError
from evener.runtime import pinning
from evener.runtime.pinning import PROCESS_CORES, pinned

CORE = max(PROCESS_CORES)


def test_the_calling_thread_stays_on_the_first_core_and_goes_back_afterwards() -> None:
    before = pinning.thread_cores()
    with pinned((CORE, *(PROCESS_CORES - {CORE}))):
        assert pinning.thread_cores() == {CORE}

    assert pinning.thread_cores() == before


def test_it_goes_back_after_an_error_too() -> None:
    before = pinning.thread_cores()
    with pytest.raises(KeyError), pinned((CORE,)):
        raise KeyError

    assert pinning.thread_cores() == before


def test_only_the_calling_thread_is_pinned() -> None:
    main = threading.get_native_id()
    before = pinning.thread_cores(main)
    seen: list[tuple[frozenset[int], frozenset[int]]] = []

    def body() -> None:
        with pinned((CORE,)):
            seen.append((pinning.thread_cores(), pinning.thread_cores(main)))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()

    assert seen == [(frozenset({CORE}), before)]


def test_a_thread_that_started_pinned_may_pin_itself_elsewhere() -> None:
    with pinned((min(PROCESS_CORES),)), pinned((CORE,)):
        assert pinning.thread_cores() == {CORE}


def test_no_cores_pin_nothing() -> None:
    before = pinning.thread_cores()
    with pinned(()):
        assert pinning.thread_cores() == before


def test_a_core_of_another_process_is_named_beside_those_there_are() -> None:
    with (
        pytest.raises(InputError, match=r"core 9999 is not among the cores this process may use"),
        pinned((9999,)),
    ):
        pass


def test_a_core_given_twice_is_refused() -> None:
    with pytest.raises(InputError, match="name a core twice"), pinned((CORE, CORE)):
        pass


def test_a_thread_that_may_leave_the_cores_confirms_none() -> None:
    if len(PROCESS_CORES) < 2:
        pytest.skip("needs two cores")

    assert pinning.confirmed_cores({CORE}, pinning.threads()) == frozenset()


def test_waiting_for_threads_that_never_come_ends() -> None:
    with pinned((CORE,)):
        confirmed = pinning.await_confirmed({CORE, 9999}, pinning.threads(), patience_s=0.0)

    assert confirmed == {CORE}


def test_a_thread_that_has_ended_may_run_nowhere() -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()

    assert pinning.thread_cores(2**22 + 1) == frozenset()


def test_the_kernel_and_the_system_call_agree() -> None:
    assert pinning.thread_cores() == os.sched_getaffinity(0)


@given(st.sets(st.integers(0, 300), min_size=1))
def test_the_kernels_lists_are_read_back(cores: set[int]) -> None:
    spans: list[list[int]] = []
    for core in sorted(cores):
        if spans and spans[-1][1] == core - 1:
            spans[-1][1] = core
        else:
            spans.append([core, core])
    text = ",".join(f"{a}-{b}" if a != b else f"{a}" for a, b in spans)

    assert pinning.parse_cores(text) == cores
