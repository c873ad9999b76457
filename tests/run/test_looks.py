"""Looking at something again and again."""

import threading

import pytest

from evener.run.looks import again_and_again

PATIENCE_S = 20.0


def unexpected(error: Exception) -> None:
    raise AssertionError from error


def test_each_function_is_called_again_and_again_in_a_thread_of_its_own() -> None:
    held = threading.Event()
    first, second = threading.Semaphore(0), threading.Semaphore(0)

    def wait_once() -> None:
        first.release()
        assert held.wait(PATIENCE_S)

    with again_and_again([wait_once, second.release], every_s=0.0, failed=unexpected):
        assert first.acquire(timeout=PATIENCE_S)
        for _ in range(3):
            assert second.acquire(timeout=PATIENCE_S)
        held.set()
        for _ in range(2):
            assert first.acquire(timeout=PATIENCE_S)


def test_what_fails_is_told_and_not_called_again() -> None:
    told: list[Exception] = []
    failed = threading.Event()

    def fail() -> None:
        raise OSError("gone")

    def note(error: Exception) -> None:
        told.append(error)
        failed.set()

    with again_and_again([fail], every_s=0.0, failed=note):
        assert failed.wait(PATIENCE_S)

    assert [str(error) for error in told] == ["gone"]


def test_without_an_interval_nothing_is_called() -> None:
    with again_and_again([pytest.fail], every_s=None, failed=unexpected):
        pass


def test_no_thread_outlives_the_block() -> None:
    before = threading.active_count()
    begun = threading.Event()

    with again_and_again([begun.set] * 3, every_s=0.0, failed=unexpected):
        assert begun.wait(PATIENCE_S)

    assert threading.active_count() == before
