"""A small project to search, in rows that no straight line divides."""

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


def write_project(folder: Path, more: str = "", *, toml: str = TOML, rows: int = 200) -> Path:
    """Write a project of two kinds of row that a circle tells apart.

    Args:
        folder: where; it must not be there yet.
        more: settings behind those of `toml`.
        toml: what its `evener.toml` begins with.
        rows: how many it has.
    """
    folder.mkdir()
    drawn = np.random.default_rng(0).normal(size=(rows, 3))
    lines = [
        f"{a:.4f},{b:.4f},{c:.4f},{'in' if a * a + b * b < 1 else 'out'}"
        for a, b, c in drawn.tolist()
    ]
    (folder / "rows.csv").write_text("\n".join(["a,b,c,kind", *lines]) + "\n")
    (folder / "evener.toml").write_text(toml + more)
    return folder


def change(project: Path, old: str, new: str) -> None:
    """Change the text of a project in a place that must be there."""
    path = project / "evener.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
