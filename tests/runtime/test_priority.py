"""Processes that stand behind those that work."""

import logging
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evener.runtime import priority
from evener.runtime.priority import BEHIND, may_step_forward, stand_behind, step_forward

TWO_THREADS = (
    "import sys, threading; threading.Thread(target=sys.stdin.read).start(); print('here', "
    "flush=True)"
)
INITIAL = "         0          0 4294967295"
needs_way_back = pytest.mark.skipif(
    not may_step_forward(), reason="who may not lower a niceness does not raise it"
)


@pytest.fixture
def process() -> Iterator[int]:
    """Start a process with a thread beside its first."""
    with subprocess.Popen(
        [sys.executable, "-c", TWO_THREADS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as started:
        assert started.stdout is not None
        started.stdout.readline()
        yield started.pid
        started.kill()


def niceness(process: int) -> set[int]:
    threads = [int(entry.name) for entry in Path(f"/proc/{process}/task").iterdir()]
    return {os.getpriority(os.PRIO_PROCESS, thread) for thread in threads}


@needs_way_back
def test_it_is_nicer_and_steps_forward_with_all_its_threads(process: int) -> None:
    mine = os.getpriority(os.PRIO_PROCESS, 0)

    assert stand_behind(process)
    assert os.getpriority(os.PRIO_PROCESS, process) == mine + BEHIND
    step_forward(process)

    assert niceness(process) == {mine}


@needs_way_back
def test_of_a_process_that_ended_nothing_is_left_to_do() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()

    assert not stand_behind(ended.pid)
    step_forward(ended.pid)


def test_a_process_that_the_kernel_keeps_behind_is_logged_and_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "7" / "task" / "7").mkdir(parents=True)

    def refuse(*_: int) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "setpriority", refuse)

    with caplog.at_level(logging.WARNING):
        step_forward(7, tmp_path)

    assert caplog.messages == [
        (
            "process 7 keeps a niceness greater by 10, and gets about a tenth of a core that "
            "others use: [Errno 13] Permission denied; allow it CAP_SYS_NICE, or a niceness "
            "(ulimit -e)"
        )
    ]


def test_who_could_not_come_back_does_not_stand_behind(
    process: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = niceness(process)
    monkeypatch.setattr(priority, "may_step_forward", lambda: False)

    assert not stand_behind(process)
    assert niceness(process) == before


@pytest.mark.parametrize(
    ("limit", "capabilities", "users", "may"),
    [
        (0, "0000000000000000", INITIAL, False),
        (0, "0000000000800000", INITIAL, True),  # CAP_SYS_NICE
        (0, "0000000000800000", None, True),  # in a kernel without user namespaces
        (0, "ffffffffff7fffff", INITIAL, False),  # every other
        (0, "ffffffffffffffff", "0 1000 1", False),  # of a container's own namespace
        (0, "ffffffffffffffff", "0 1000 1\n1 100000 65536", False),
        (20, "0000000000000000", "0 1000 1", True),  # a niceness of 0 and more
        (19, "0000000000000000", INITIAL, False),
        (resource.RLIM_INFINITY, "0000000000000000", INITIAL, True),
    ],
)
def test_a_limit_or_a_capability_lets_it_come_back(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: int,
    capabilities: str,
    users: str | None,
    may: bool,
) -> None:
    if users is not None:
        (tmp_path / "uid_map").write_text(f"{users}\n")
    (tmp_path / "status").write_text(f"Name:\tpython\nCapEff:\t{capabilities}\n")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    monkeypatch.setattr(os, "getpriority", lambda *_: 0)

    assert may_step_forward(tmp_path) is may
