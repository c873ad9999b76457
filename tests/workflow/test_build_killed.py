"""A build that was killed at any step goes on, and ends in the same files."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evener.testing.projects import change
from evener.workflow.build import BuildResult, build_project

pytest.importorskip("torch", reason="building trains, which needs the extra 'train'")

# Children of one process, as starting Python and loading torch takes longer than most steps.
_KILLED = """
import os, signal, sys
from pathlib import Path
import onnxscript, skl2onnx, sklearn.linear_model, torch._dynamo, torch.onnx
from evener.train import baselines, export, fit
from evener.workflow import build, place, race
race._ROUND_S = (0.005, 0.005)
place.ROUNDS, place.LEAST_FRAMES = 2, 50
kept = {}
for folder, moment in zip(map(Path, sys.argv[1::2]), sys.argv[2::2]):
    told, tell = os.pipe()
    def progress(message, done, total):
        if moment in message:
            os.write(tell, b"now")
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        build.build_project(folder / "project", progress=progress)
        os._exit(0)
    os.close(tell)
    assert os.read(told, 3) == b"now", moment
    os.killpg(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == -signal.SIGKILL, moment
    there = {path: path.read_bytes() for path in (folder / "project" / ".evener").glob("*.json")
             if path.name != "search.json"}  # written after each generation
    assert there.items() >= kept.get(folder, {}).items(), moment
    kept[folder] = there
"""
MOMENTS = (
    "generation 1",
    "in full",
    "and validation rows",
    "writing and checking",
    "trying the best",
)


@pytest.fixture(scope="module")
def killed(
    undisturbed: tuple[Path, BuildResult], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """Kill a build step by step, and another as it delivers a simple model; return their folders.

    Projects lie in them, with caches beside them.
    """
    steps, simple = (tmp_path_factory.mktemp(name) for name in ("steps", "simple"))
    new = shutil.ignore_patterns(".evener", "report.html")
    shutil.copytree(undisturbed[0], steps / "project", ignore=new)
    shutil.copytree(undisturbed[0].parent, simple, dirs_exist_ok=True)
    change(simple / "project", "epochs = 6", 'epochs = 6\ndeliver = "recommended"')
    moments = [*((steps, one) for one in MOMENTS), (simple, "training the model")]
    ended = subprocess.run(
        [sys.executable, "-c", _KILLED, *(str(word) for pair in moments for word in pair)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return steps, simple


@pytest.mark.usefixtures("short")
def test_a_build_killed_step_by_step_ends_in_the_same_network(
    killed: tuple[Path, Path],
    undisturbed: tuple[Path, BuildResult],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = killed[0] / "project"
    monkeypatch.setenv("XDG_CACHE_HOME", str(killed[0] / "cache"))
    state, whole = project / ".evener", undisturbed[0] / ".evener"
    there = {path.name: content_sha256(path) for path in state.glob("*.json")}

    network = build_project(project).network

    assert {name: content_sha256(state / name) for name in there} == there
    assert not list(project.rglob(".partial-*"))
    assert network.read_bytes() == (whole / "network.onnx").read_bytes()
    assert content_sha256(state / "card.json") == content_sha256(whole / "card.json")


def test_a_build_killed_as_it_delivers_a_simple_model_ends_in_the_same_file(
    built: Path, killed: tuple[Path, Path]
) -> None:
    change(built, "epochs = 6", 'epochs = 6\ndeliver = "recommended"')

    again, whole = build_project(killed[1] / "project"), build_project(built)

    assert "train" in again.ran
    assert again.card == whole.card
    assert again.card.family == "linear"
    assert again.network.read_bytes() == whole.network.read_bytes()


def content_sha256(path: Path) -> str:
    return str(json.loads(path.read_text())["sha256"])
