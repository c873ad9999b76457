"""Small projects: one to search, whose rows no straight line divides, and one to build."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

TOML: Final = """
[data]
source = "rows.csv"
target = "kind"

[search]
population = 4
generations = 5
epochs = 3
depth = 3
widths = [4, 8, 16, 32]
finalists = 2
together = 3

[train]
epochs = 4
"""


TO_BUILD: Final = """
[data]
source = "rows.csv"
target = "kind"

[requirements]
accuracy = ">= 0.8"
latency_p99 = "<= 1 s"
size = "<= 1 B ?"

[search]
population = 4
generations = 1
epochs = 2
depth = 2
density = 0.9
widths = [64, 128]
finalists = 1

[train]
epochs = 6
learning_rate = 0.03
"""


def write_project(folder: Path, more: str = "", *, toml: str = TOML, rows: int = 200) -> Path:
    """Write a project of two kinds of row that a circle tells apart.

    Args:
        folder: where; it must not be there yet.
        more: settings behind those of `toml`.
        toml: what its `evener.toml` begins with.
        rows: how many it has.
    """
    return _write(folder, toml + more, rows, lambda a, b: "in" if a * a + b * b < 1 else "out")


def write_project_to_build(folder: Path) -> Path:
    """Write a project of two kinds of row that a line tells apart: little training is enough.

    Args:
        folder: where; it must not be there yet.
    """
    return _write(folder, TO_BUILD, 150, lambda a, b: "red" if a + b > 0 else "blue")


def _write(folder: Path, toml: str, rows: int, kind: Callable[[float, float], str]) -> Path:
    folder.mkdir()
    drawn = np.random.default_rng(0).normal(size=(rows, 3))
    lines = [f"{a:.4f},{b:.4f},{c:.4f},{kind(a, b)}" for a, b, c in drawn.tolist()]
    (folder / "rows.csv").write_text("\n".join(["a,b,c,kind", *lines]) + "\n")
    (folder / "evener.toml").write_text(toml)
    return folder


def change(project: Path, old: str, new: str) -> None:
    """Change the text of a project in a place that must be there."""
    path = project / "evener.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
