"""Parts of a work in pools: the same results anywhere, and nothing lost with a process."""

import multiprocessing
import os
import signal
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from evener.comm.pools import process_pool
from evener.workflow.chunks import Crew, Here


@pytest.fixture(autouse=True)
def _findable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let other processes import this module by the name that it has here."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2])


def doubled(part: int) -> int:
    return 2 * part


def die_once(marks: str, part: int) -> int:
    """Kill the process that gets part 2 first."""
    mark = Path(marks) / "dead"
    if part == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * part


def die_always(part: int) -> int:
    if part == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * part


def stop(part: int) -> int:
    """Take far too long over every part but the first, which is stopped by the user."""
    if part:
        time.sleep(3600)
    raise InterruptedError


def lost(part: int) -> int:
    return -part


def test_results_come_in_the_order_of_the_parts_and_each_is_told_of() -> None:
    told: list[tuple[int, int]] = []

    def hear(done: int, of: int) -> None:
        told.append((done, of))

    with Crew[int, int](Here) as crew:
        assert crew.map(doubled, [3, 1, 2], lost, told=hear) == [6, 2, 4]

    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_process_that_is_killed_loses_no_part(tmp_path: Path) -> None:
    with Crew[int, int](partial(process_pool, 2)) as crew:
        found = crew.map(partial(die_once, str(tmp_path)), list(range(6)), lost)
        again = crew.map(doubled, [7], lost)

    assert (tmp_path / "dead").exists()
    assert found == [0, 2, 4, 6, 8, 10]
    assert again == [14]


def test_a_part_that_kills_every_process_is_given_up_and_the_others_are_not() -> None:
    with Crew[int, int](partial(process_pool, 2)) as crew:
        assert crew.map(die_always, [1, 2, 3], lost) == [2, -2, 6]


def test_what_a_part_raises_is_raised() -> None:
    with Crew[str, int](Here) as crew, pytest.raises(ValueError, match="invalid literal"):
        crew.map(int, ["1", "x"], len)


def test_a_pool_that_an_exception_leaves_has_no_thread_and_no_process_any_more() -> None:
    threads, processes = set(threading.enumerate()), set(multiprocessing.active_children())

    with pytest.raises(InterruptedError):
        leave_early()

    # The interpreter would wake the thread at its end, which may be closing what it is woken by.
    assert set(threading.enumerate()) <= threads
    assert set(multiprocessing.active_children()) <= processes


def leave_early() -> None:
    with process_pool(2) as pool:
        assert list(pool.map(doubled, range(4))) == [0, 2, 4, 6]
        pool.submit(stop, 1)
        raise InterruptedError


def test_what_is_left_to_do_is_dropped_where_a_part_raises() -> None:
    with (
        pytest.raises(InterruptedError),
        Crew[int, int](partial(process_pool, 2)) as crew,
    ):
        crew.map(stop, [1, 0, 2, 3], lost)
