"""Groups of the kernel that limit CPU time: found, made, emptied and removed."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evener.errors import InputError
from evener.runtime import cgroup
from evener.runtime.cgroup import (
    Hierarchy,
    find_hierarchy,
    limited,
    move,
    quota_us,
    remove_stale,
    threads_file,
)

V1_MOUNTS = """\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 {root} {folder} rw,relatime - cgroup cgroup rw,cpu,cpuacct
42 31 0:39 / /nowhere rw,relatime - cgroup2 cgroup2 rw
"""


def describe(proc: Path, *, groups: str, mounts: str) -> Path:
    proc.mkdir(parents=True)
    (proc / "cgroup").write_text(groups)
    (proc / "mountinfo").write_text(mounts)
    return proc


@pytest.mark.parametrize(
    ("root", "path", "below"),
    [("/", "/", ""), ("/", "/a/b", "a/b"), ("/docker/1", "/docker/1/a", "a")],
)
def test_the_group_of_this_process_is_found_below_the_mount(
    tmp_path: Path, root: str, path: str, below: str
) -> None:
    proc = describe(
        tmp_path / "proc",
        groups=f"4:memory:/elsewhere\n3:cpu,cpuacct:{path}\n0::/\n",
        mounts=V1_MOUNTS.format(root=root, folder="/groups"),
    )

    assert find_hierarchy(proc) == Hierarchy(Path("/groups") / below, version=1)


def test_the_second_version_counts_where_it_has_the_cpu_controller(tmp_path: Path) -> None:
    folder = tmp_path / "unified/user"
    folder.mkdir(parents=True)
    (folder / "cgroup.controllers").write_text("cpuset cpu memory\n")
    proc = describe(
        tmp_path / "proc",
        groups="0::/user\n",
        mounts=f"42 31 0:39 / {tmp_path}/unified rw - cgroup2 cgroup2 rw\n",
    )

    found = find_hierarchy(proc)

    assert found == Hierarchy(folder, version=2)
    assert found.threads == folder / "cgroup.threads"


def test_without_a_controller_the_error_says_what_it_takes(tmp_path: Path) -> None:
    proc = describe(
        tmp_path / "proc",
        groups="0::/\n",
        mounts=f"42 31 0:39 / {tmp_path} rw - cgroup2 cgroup2 rw\n",
    )

    with pytest.raises(InputError, match="no control group here limits CPU time; a limit takes"):
        find_hierarchy(proc)
    with pytest.raises(InputError, match="no core can be limited: .*No such file"):
        find_hierarchy(tmp_path / "no-proc")


def test_a_share_below_the_least_quota_takes_a_longer_period() -> None:
    assert [quota_us(share) for share in (0.4, 0.8, 1.4, 0.1)] == [
        (1000, 2500),
        (2000, 2500),
        (3500, 2500),
        (1000, 10000),
    ]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Note what would be written into the kernel's files; removing a group removes its files."""
    notes: list[tuple[str, str]] = []
    monkeypatch.setattr(
        cgroup, "_write", lambda path, text: notes.append((f"{path.parent.name}/{path.name}", text))
    )
    monkeypatch.setattr(Path, "rmdir", shutil.rmtree)
    return notes


def test_groups_of_the_second_version_are_threaded_before_they_are_limited(
    tmp_path: Path, written: list[tuple[str, str]]
) -> None:
    with limited(Hierarchy(tmp_path, version=2), {"cpu1": 0.4}) as groups:
        (folder,) = tmp_path.iterdir()
        assert groups == {"cpu1": folder / "cgroup.threads"}

    assert written == [
        (f"{folder.name}/cgroup.type", "threaded"),
        (f"{tmp_path.name}/cgroup.subtree_control", "+cpu"),
        (f"{folder.name}/cpu.max", "1000 2500"),
    ]
    assert list(tmp_path.iterdir()) == []


def test_threads_are_sent_back_before_a_group_is_removed(
    tmp_path: Path, written: list[tuple[str, str]]
) -> None:
    with limited(Hierarchy(tmp_path, version=1), {"cpu1": 0.4}) as groups:
        groups["cpu1"].write_text("7\n8\n")
        written.clear()

    assert written == [(f"{tmp_path.name}/tasks", "7"), (f"{tmp_path.name}/tasks", "8")]


def test_a_group_that_cannot_be_made_is_bad_input_and_leaves_nothing(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="no core can be limited: .*cpu.cfs_period_us: No such"),
        limited(Hierarchy(tmp_path, version=1), {"cpu1": 0.4}),
    ):
        pytest.fail("there is no kernel behind this folder")

    assert list(tmp_path.iterdir()) == []


def test_only_groups_of_processes_that_are_gone_are_removed(
    tmp_path: Path, written: list[tuple[str, str]]
) -> None:
    del written  # nothing moves
    alive = f"evener-{os.getpid()}-{cgroup._born(os.getpid())}-cpu1"
    for name in (alive, f"evener-{os.getpid()}-1-cpu1", "evener-4194305-1-free", "other"):
        (tmp_path / name).mkdir()

    remove_stale(Hierarchy(tmp_path, version=1))

    assert {folder.name for folder in tmp_path.iterdir()} == {alive, "other"}


@pytest.fixture
def hierarchy() -> Iterator[Hierarchy]:
    """Return where this kernel lets this process make groups."""
    try:
        found = find_hierarchy()
        with limited(found, {"probe": 0.9}):
            pass
    except InputError as error:
        pytest.skip(str(error))
    yield found
    assert list(found.folder.glob(f"evener-{os.getpid()}-*")) == []


def test_the_kernel_throttles_a_thread_beyond_its_share(hierarchy: Hierarchy) -> None:
    with limited(hierarchy, {"cpu0": 0.4}) as groups:
        move(threading.get_native_id(), groups["cpu0"])
        end_s = time.thread_time() + 0.03  # of CPU time: however busy the machine is
        while time.thread_time() < end_s:
            pass
        stat = (groups["cpu0"].parent / "cpu.stat").read_text().split()
        assert str(threading.get_native_id()) in groups["cpu0"].read_text().split()

    assert int(stat[stat.index("nr_throttled") + 1]) > 0
    assert str(threading.get_native_id()) in hierarchy.threads.read_text().split()


def test_a_thread_that_has_ended_is_no_error(hierarchy: Hierarchy) -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()

    move(thread.native_id or 0, hierarchy.threads)


def test_what_a_killed_process_left_is_gone_at_the_next_start(hierarchy: Hierarchy) -> None:
    script = (
        "import os, signal\n"
        "from evener.runtime.cgroup import find_hierarchy, limited\n"
        "with limited(find_hierarchy(), {'cpu0': 0.5}):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.Popen([sys.executable, "-c", script])
    assert killed.wait() == -signal.SIGKILL
    left = list(hierarchy.folder.glob(f"evener-{killed.pid}-*"))
    assert len(left) == 1

    with limited(hierarchy, {"cpu0": 0.5}) as groups:
        assert threads_file(groups["cpu0"].parent, hierarchy.version) == groups["cpu0"]
        assert not left[0].exists()
