"""The page of a sweep."""

from pathlib import Path

import msgspec
import pytest

from evener.artifacts.swept import Interval, Sweep, Swept
from evener.artifacts.topology import Topology
from evener.errors import InvalidFileError
from evener.report.sweep_page import write_sweep

DENSE = Swept(
    widths=(4, 8, 2),
    topology=Topology(shards=2),
    seeds=3,
    weights=48,
    bytes_per_row=64,
    train_loss=Interval(0.01, 0.001),
    test_loss=Interval(0.2, 0.01),
    train_accuracy=Interval(1.0, 0.0),
    test_accuracy=Interval(0.97, 0.01),
    iteration_s=1e-3,
    epoch_s=2e-2,
    communication_share=0.125,
)
APART = msgspec.structs.replace(
    DENSE,
    topology=Topology(shards=2, halo=0),
    weights=40,
    bytes_per_row=0,
    test_accuracy=Interval(0.9652, 0.0121),
)
WIDER = msgspec.structs.replace(APART, widths=(4, 10, 2), weights=48, equal_weights=True)
SWEEP = Sweep(
    settings=("halo=0,full",),
    data="<digits>",
    train_rows=1200,
    test_rows=597,
    batch=32,
    iterations=40,
    ranks=2,
    points=(APART, DENSE, WIDER),
    best=1,
    recommended=0,
    reason="halo 0 reaches the best",
)


def test_it_says_what_to_take_and_shows_every_network(tmp_path: Path) -> None:
    path = tmp_path / "s.html"

    write_sweep(path, SWEEP)

    text = path.read_text()
    assert "Recommended: halo 0 reaches the best." in text
    assert "&lt;digits&gt;: 1,200 rows to learn from, 597 to judge by; 40 iterations" in text
    assert "4-8-2, 2 shards, halo 0, input replicated (recommended)" in text
    assert "4-8-2, 2 shards, halo full, input replicated (best)" in text
    assert "4-10-2, 2 shards, halo 0, input replicated" in text
    assert "96.52 ± 1.21 %" in text
    assert "12.5%" in text
    assert "equal weights: 0.9652 at 1, measured" in text
    assert "0.0100 on rows that it learned from, 0.2000 on others" in text


def test_equal_sweeps_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_sweep(tmp_path / name, SWEEP)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_without_classes_it_draws_the_loss(tmp_path: Path) -> None:
    points = tuple(
        msgspec.structs.replace(one, test_accuracy=None, train_accuracy=None)
        for one in SWEEP.points
    )

    write_sweep(tmp_path / "s.html", msgspec.structs.replace(SWEEP, points=points))

    assert "loss on test rows" in (tmp_path / "s.html").read_text()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(InvalidFileError, match="s.html"):
        write_sweep(tmp_path / "file" / "s.html", SWEEP)
