"""What memory there is for sessions."""

from pathlib import Path

import msgspec
import pytest

from evener.workflow import memory
from evener.workflow.memory import may_hold, plan_bytes
from evener.workflow.opening import open_network
from evener.workflow.plan import plan_opened
from evener.workflow.wish import Wish

MB = 1_000_000


def group(folder: Path, *, limit: str, used: int, files: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 1\ninactive_file {files}\n")


def test_a_group_that_holds_this_process_leaves_what_its_limit_leaves(tmp_path: Path) -> None:
    group(tmp_path / "a" / "b", limit="max", used=50)
    group(tmp_path / "a", limit="1000", used=700, files=200)
    group(tmp_path, limit="5000", used=6000)
    (tmp_path / "proc").write_text("4:memory:/other\n0::/a/b\n")

    assert list(memory._left_by_groups(tmp_path / "proc", tmp_path)) == [500, 0]


def test_without_such_groups_there_is_no_limit(tmp_path: Path) -> None:
    assert list(memory._left_by_groups(tmp_path / "proc", tmp_path)) == []


def test_what_is_free_is_no_more_than_a_group_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_left_by_groups", lambda _: iter([7 * MB]))

    assert memory.free_bytes_now() == 7 * MB


def test_sessions_for_the_case_of_need_take_half_of_what_is_free_and_no_device(
    net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_network(net, runtimes=["onnxruntime"])
    plan, _ = plan_opened(opened, Wish(stages=1))
    needed = plan_bytes(opened, plan) + 100 * MB * len(plan.stages[0].lanes)
    (stage,) = plan.stages
    lane = msgspec.structs.replace(stage.lanes[0], processor="npu", cores=())
    on_device = msgspec.structs.replace(
        plan, stages=(msgspec.structs.replace(stage, lanes=(lane,)),)
    )

    monkeypatch.setattr(memory, "free_bytes_now", lambda: 2 * needed)
    assert may_hold(opened, plan)
    assert not may_hold(opened, on_device)
    monkeypatch.setattr(memory, "free_bytes_now", lambda: 2 * needed - 2)
    assert not may_hold(opened, plan)
