"""The benchmark of several networks: shapes, precisions, and a record that says both."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench_networks
import numpy as np
import pytest
from onnx import helper

import evener
from evener.artifacts.comparison import Comparison
from evener.network.frames import read_arrays
from evener.testing import tiny
from evener.workflow import race

Run = Callable[..., dict[str, object]]


def rows_of(record: dict[str, object]) -> list[dict[str, object]]:
    """Return the rows of a record."""
    comparison = record["comparison"]
    assert isinstance(comparison, dict)
    rows: list[dict[str, object]] = comparison["rows"]
    return rows


@pytest.fixture
def nets(tmp_path: Path) -> list[str]:
    """Return a network with static shapes, and one whose input `images` is open."""
    pixels = tiny.network(
        [
            helper.make_node("Conv", ["images", "w"], ["c"], pads=[1] * 4),
            helper.make_node("Relu", ["c"], ["r"]),
        ],
        inputs=[tiny.floats("images", 1, 2, "high", "wide")],
        outputs=[tiny.floats("r", 1, 3, "high", "wide")],
        weights={"w": np.ones((3, 2, 3, 3), np.float32) / 18},
    )
    paths = [tmp_path / "dense.onnx", tmp_path / "pixels.onnx"]
    for path, content in zip(paths, (tiny.dense(layers=3), pixels), strict=True):
        path.write_bytes(content)
    return [str(path) for path in paths]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return the benchmark, run with arguments for a round; it returns its record."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(race, "_ROUND_S", (0.005, 0.005))

    def call(*arguments: str) -> dict[str, object]:
        out = tmp_path / "record.json"
        kept = ["--kept", str(tmp_path / "kept")]
        command = ["bench_networks.py", *arguments, "--rounds", "1", *kept, "-o", str(out)]
        monkeypatch.setattr(sys, "argv", command)
        assert bench_networks.main() == 0
        found: dict[str, object] = json.loads(out.read_text())
        return found

    return call


def test_a_shape_goes_to_the_network_with_that_input_and_into_the_record(
    run: Run, nets: list[str]
) -> None:
    record = run(*nets, "--shape", "images=1,2,8,8", "--runtimes", "onnxruntime")

    assert record["shapes"] == {"images": [1, 2, 8, 8]}
    assert record["precision"] is None
    networks = [row["network"] for row in rows_of(record) if row["kind"] == "plan"]
    assert networks == ["dense", "pixels"]


def test_what_is_measured_is_kept_and_only_the_rest_is_measured(
    run: Run, nets: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []
    bench = evener.bench_networks

    def noted(nets: list[str], **more: Any) -> Comparison:  # noqa: ANN401 - handed on
        measured.extend(nets)
        return bench(nets, **more)

    monkeypatch.setattr(evener, "bench_networks", noted)
    shape = ("--shape", "images=1,2,8,8", "--runtimes", "onnxruntime")

    first = run(nets[1], *shape)
    both = run(*nets, *shape)

    assert measured == [nets[1], nets[0]]
    assert first["missing"] == both["missing"] == []
    assert rows_of(both)[-len(rows_of(first)) :] == rows_of(first)


def test_a_network_for_which_no_time_is_left_is_named(
    nets: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, kept = str(tmp_path / "record.json"), str(tmp_path / "kept")
    command = ["bench_networks.py", nets[0], "--minutes", "-1", "--kept", kept, "-o", out]
    monkeypatch.setattr(sys, "argv", command)

    assert bench_networks.main() == 1
    assert "dense: no time was left; run the same command again" in capsys.readouterr().err


def test_means_are_of_rivals_that_took_part_everywhere() -> None:
    one, other = (
        Comparison(
            rows=(),
            ratios=(),
            ratio_best=best,
            rounds=1,
            ratios_each=(),
            ratio_means=ratios,
        )
        for best, ratios in ((1.0, {"single": 2.0, "copies": 1.0}), (4.0, {"single": 8.0}))
    )

    assert bench_networks.means([one, other]) == pytest.approx({"single": 4.0, "best": 2.0})
    assert bench_networks.means([]) == {}


def test_a_lower_precision_is_judged_by_given_or_random_frames_and_the_record_says_which(
    run: Run, nets: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = tmp_path / "frames.npz"
    rng = np.random.default_rng(0)
    np.savez(frames, images=rng.normal(size=(32, 1, 2, 8, 8)).astype(np.float32))
    seen: list[dict[str, tuple[int, ...]]] = []
    bench = evener.bench_networks

    def noted(nets: list[str], *, engines: evener.Engines, **more: Any) -> Comparison:  # noqa: ANN401 - handed on
        assert engines.precision is not None
        assert engines.precision.calibration is not None
        arrays = read_arrays(engines.precision.calibration)
        seen.append({name: array.shape for name, array in arrays.items()})
        return bench(nets, engines=engines, **more)

    monkeypatch.setattr(evener, "bench_networks", noted)

    record = run(
        *(*nets, "--shape", "images=1,2,8,8", "--precision", "int8", "--max-error", "0.9"),
        *("--calibration", f"{nets[1]}={frames}", "--runtimes", "onnxruntime"),
    )

    assert seen == [{"x": (64, 2, 8)}, {"images": (32, 1, 2, 8, 8)}]
    assert record["precision"] == {
        "precision": "int8",
        "max_error": 0.9,
        "calibration": {nets[0]: "64 random frames, seed 0", nets[1]: str(frames)},
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--precision", "int8"), "--precision and --max-error go together"),
        (("--max-error", "0.1"), "--precision and --max-error go together"),
        (("--calibration", "a=f.npz"), "--calibration NET=FILE.npz is for a NET given"),
        (("--calibration", "f.npz"), "'f.npz' names no frames: write NET=FILE.npz"),
        (("--shape", "images=8x8"), "'images=8x8' is no shape: write NAME=1,3,224,224"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        bench_networks.read_options(["a", *arguments, "-o", "r.json"])

    assert message in capsys.readouterr().err


def test_a_shape_that_no_network_has_ends_with_2(
    nets: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "record.json"
    kept = str(tmp_path / "kept")
    command = ["bench_networks.py", *nets, "--shape", "z=1", "--kept", kept, "-o", str(out)]
    monkeypatch.setattr(sys, "argv", command)

    assert bench_networks.main() == 2
    assert not out.exists()
