"""A cache, networks and a built project of one's own, and rounds as short as they can be."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evener.runtime.pinning import PROCESS_CORES
from evener.testing import projects, tiny
from evener.workflow import place, race, stand_in

if TYPE_CHECKING:
    from evener.workflow.build import BuildResult

BOARD = """
name = "toy"
source = "made up"
[processors.big]
kind = "cpu"
cores = [0, 1, 2, 3, 4, 5, 6, 7]
runtime = "armcl"
precision = "f32"
[processors.gpu]
kind = "gpu"
runtime = "armcl"
precision = "f16"
[parts.dense]
blocks = [1, 1, 1, 1]
macs = [128, 128, 128, 128]
[networks.dense.big]
part_ms = [10.0, 10.0, 10.0, 10.0]
[networks.dense.gpu]
part_ms = [10.0, 10.0, 10.0, 10.0]
"""


@pytest.fixture(autouse=True)
def _quick_and_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(race, "_ROUND_S", (0.005, 0.005))


_FITTED: dict[object, Any] = {}


@pytest.fixture(scope="module")
def simple_models_once() -> Iterator[None]:
    """Fit the simple models of the same rows once, for tests of what stands beside them."""
    from evener.train import baselines

    fit = baselines.fit_baselines

    def once(dataset: Any, **choices: Any) -> Any:  # noqa: ANN401 - as it takes and returns
        key = (dataset.sha256, *choices.values())
        if key not in _FITTED:
            _FITTED[key] = fit(dataset, **choices)
        return _FITTED[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(baselines, "fit_baselines", once)
        yield


def _shorten(patch: pytest.MonkeyPatch) -> None:
    """Measure as little as possible where a plan is chosen."""
    patch.setattr(race, "_ROUND_S", (0.005, 0.005))
    patch.setattr(place, "ROUNDS", 2)
    patch.setattr(place, "LEAST_FRAMES", 50)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure as little as possible where a plan is chosen."""
    _shorten(monkeypatch)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project to build."""
    _shorten(monkeypatch)
    return projects.write_project_to_build(tmp_path / "project")


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> "tuple[Path, BuildResult]":
    """Build a project that nobody kills or changes, with a cache beside it."""
    from evener.workflow.build import build_project

    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        _shorten(patch)
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        project = projects.write_project_to_build(folder / "project")
        return project, build_project(project)


@pytest.fixture
def built(
    undisturbed: "tuple[Path, BuildResult]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Copy the project that is built, and its cache, to where a test looks for one."""
    _shorten(monkeypatch)
    shutil.copytree(undisturbed[0].parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / "project"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, bytes], str]:
    """Write a network into a file and return its path."""

    def make(name: str, content: bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content)
        return str(path)

    return make


@pytest.fixture
def net(write: Callable[[str, bytes], str]) -> str:
    """Return the path of a network of four blocks."""
    return write("dense.onnx", tiny.dense(layers=4))


@pytest.fixture
def frames(tmp_path: Path) -> Path:
    """Return a file of frames for the networks that `tiny.dense` makes."""
    path = tmp_path / "frames.npz"
    np.savez(path, x=np.stack([frame for (frame,) in tiny.frames(48)]))
    return path


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the times of a simulated processor also where this machine, busy, computes longer."""
    monkeypatch.setattr(stand_in, "MOST_OVERRUNS", 1.0)


@pytest.fixture
def two_cores() -> None:
    """Skip a test that needs two cores to be about anything."""
    if len(PROCESS_CORES) < 2:
        pytest.skip("this process may use one core only, and two stages need two")


@pytest.fixture
def board(tmp_path: Path) -> str:
    """Write a board on which each of the four blocks takes 10 ms anywhere."""
    path = tmp_path / "toy.toml"
    path.write_text(BOARD)
    return str(path)
