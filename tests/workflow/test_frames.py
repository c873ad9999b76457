"""A run reads its frames from anywhere, and writes its answers as the user wants them."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from evener.artifacts.architecture import Architecture
from evener.artifacts.card import Card
from evener.artifacts.files import file_sha256, save
from evener.artifacts.timeline import load_timeline
from evener.data.frames import SAMPLE_FRAMES
from evener.data.sources import Reading
from evener.errors import InputError, InvalidDataError
from evener.testing import tiny
from evener.workflow.cutting import Cutting
from evener.workflow.frames import find_card, with_card
from evener.workflow.manner import Manner
from evener.workflow.run import run_network

Write = Callable[[str, bytes], str]
WEIGHTS = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
CLASSES = ("iris", "rose", "tulip")
COLUMNS = ("width", "height", "colour=red", "colour=white")


@pytest.fixture
def net(write: Write) -> str:
    """Return the path of a classifier of rows of any number, with a card beside it."""
    content = tiny.network(
        [
            helper.make_node("MatMul", ["features", "w"], ["z"]),
            helper.make_node("Softmax", ["z"], ["probabilities"]),
        ],
        inputs=[helper.make_tensor_value_info("features", 1, ["batch", 4])],
        outputs=[helper.make_tensor_value_info("probabilities", 1, ["batch", 3])],
        weights={"w": WEIGHTS},
    )
    path = write("network.onnx", content)
    card = Card(
        network_sha256=file_sha256(Path(path)),
        network_bytes=len(content),
        architecture=Architecture(),
        weights=12,
        features=4,
        data_sha256="ab" * 32,
        rows={},
        classes=CLASSES,
        seed=0,
        epochs=1,
        validation={},
        test={},
        export_error=0.0,
        baselines=(),
        feature_names=COLUMNS,
    )
    save(Path(path).with_name("card.json"), card)
    return path


@pytest.fixture
def table(tmp_path: Path) -> tuple[Path, list[str]]:
    """Return a table of 300 rows with a column that the network does not read, and the answers."""
    rng = np.random.default_rng(1)
    sizes = rng.normal(size=(300, 2)).astype(np.float32)
    red = rng.integers(2, size=300)
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["plant", "height", "width", "colour"])
        for index, ((width, height), is_red) in enumerate(zip(sizes, red, strict=True)):
            rows.writerow([f"p{index}", height, width, "red" if is_red else "white"])
    features = np.column_stack([sizes, red, 1 - red]).astype(np.float32)
    return path, [CLASSES[index] for index in (features @ WEIGHTS).argmax(axis=1)]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("batch", [1, 8])
def test_rows_of_a_table_are_scored_by_the_names_that_the_card_knows(
    kind: str, batch: int, net: str, table: tuple[Path, list[str]], tmp_path: Path
) -> None:
    path, expected = table
    out = tmp_path / f"scores.{kind}"
    if kind == "parquet":
        pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")

    result = run_network(
        net, frames=path, reading=Reading(id_column="plant"), out=out, stages=1, batch=batch
    )

    assert (result.trace.frames, result.trace.checked) == (300, SAMPLE_FRAMES)
    assert result.holds
    if kind == "csv":
        with out.open() as file:
            rows = list(csv.DictReader(file))
    else:
        from pyarrow import parquet

        rows = parquet.read_table(out).to_pylist()
    assert [row["prediction"] for row in rows] == expected
    assert [row["id"] for row in rows] == [f"p{index}" for index in range(300)]


def test_a_row_that_cannot_be_taken_ends_the_run_with_its_place_and_leaves_no_file(
    net: str, table: tuple[Path, list[str]], tmp_path: Path
) -> None:
    path, _ = table
    lines = path.read_text().splitlines()
    lines[290] = "p289,1.5,,red"
    path.write_text("\n".join(lines))
    before = set(tmp_path.iterdir())

    with pytest.raises(InvalidDataError, match="line 291 of .*: column 'width' has no value"):
        run_network(net, frames=path, out=tmp_path / "scores.csv", stages=1)

    assert {one.name for one in set(tmp_path.iterdir()) - before} <= {"cache"}


def test_a_card_says_the_shape_unless_the_user_does(net: str) -> None:
    card = find_card(net)

    assert with_card(Cutting(), card).shapes == {"features": (1, 4)}
    assert with_card(Cutting(shapes={"features": (2, 4)}), card).shapes == {"features": (2, 4)}
    assert with_card(Cutting(shapes={"x": (1,)}), None).shapes == {"x": (1,)}


def test_the_card_of_another_network_or_of_somebody_else_is_none(net: str) -> None:
    card = Path(net).with_name("card.json")

    assert find_card("resnet50") is None
    other = Path(net).with_name("other.onnx")
    other.write_bytes(tiny.dense())
    assert find_card(str(other)) is None
    card.write_text('{"kind": "card of a sound machine"}')
    assert find_card(net) is None
    card.write_text("no JSON")
    assert find_card(net) is None
    card.unlink()
    assert find_card(net) is None


def test_lines_of_json_go_in_and_come_out(net: str, tmp_path: Path) -> None:
    frames, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    frames.write_text(
        "".join(f'{{"id": "n{index}", "features": [[{index}, 1, 0, 1]]}}\n' for index in range(5))
    )

    result = run_network(net, frames=frames, out=out, stages=1)

    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert result.trace.checked == result.trace.frames == 5
    assert [(one["frame"], one["id"]) for one in records] == [(i, f"n{i}") for i in range(5)]
    z = np.array([[index, 1, 0, 1] for index in range(5)], np.float32) @ WEIGHTS
    probabilities = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    found = [one["outputs"]["probabilities"][0] for one in records]
    assert np.allclose(found, probabilities, rtol=1e-5)


def test_what_is_left_out_by_a_policy_leaves_the_numbers_of_the_others(
    net: str, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"

    result = run_network(
        net, frames=200, out=out, stages=1, policy="drop_oldest", source_rate_hz=1e6
    )

    numbers = [json.loads(line)["frame"] for line in out.read_text().splitlines()]
    assert numbers == sorted(numbers)
    assert len(numbers) == result.trace.frames == 200 - result.trace.dropped


def test_pictures_are_answered_and_annotated(write: Write, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="needs the extra 'images'")
    content = tiny.network(
        [helper.make_node("GlobalAveragePool", ["x"], ["y"])],
        inputs=[tiny.floats("x", 1, 3, 32, 32)],
        outputs=[tiny.floats("y", 1, 3, 1, 1)],
        weights={},
    )
    net = write("mean.onnx", content)
    (tmp_path / "photos").mkdir()
    for name, colour in {"a": (255, 0, 0), "b": (0, 0, 255), "c": (0, 255, 0)}.items():
        image.new("RGB", (40, 40), colour).save(tmp_path / "photos" / f"{name}.png")
    (tmp_path / "labels.txt").write_text("red\ngreen\nblue\n")

    run_network(
        net,
        frames=tmp_path / "photos",
        out=tmp_path / "out.csv",
        labels=tmp_path / "labels.txt",
        annotate=tmp_path / "seen",
        stages=1,
    )

    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["prediction"]) for row in rows] == [
        ("a.png", "red"),
        ("b.png", "blue"),
        ("c.png", "green"),
    ]
    names = sorted(one.name for one in (tmp_path / "seen").iterdir())
    assert names == ["000000.png", "000001.png", "000002.png"]


def test_what_cannot_be_written_is_said_before_anything_is_planned(
    net: str, table: tuple[Path, list[str]], tmp_path: Path
) -> None:
    path, _ = table
    labels = tmp_path / "labels.txt"
    labels.write_text("one\ntwo\n")

    with pytest.raises(InputError, match="there are 2 labels"):
        run_network(net, frames=path, out=tmp_path / "a.csv", labels=labels)
    with pytest.raises(InputError, match="--labels names classes in a .csv or .parquet file or on"):
        run_network(net, frames=path, out=tmp_path / "a.npz", labels=labels)
    with pytest.raises(InputError, match="--annotate writes on pictures, and the frames are made"):
        run_network(net, frames=path, annotate=tmp_path / "seen")
    with pytest.raises(InputError, match="makes up random frames, and there is nothing to read"):
        run_network(net, frames=9, reading=Reading(limit=3))
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("batch", [1, 4])
def test_a_timeline_has_each_frame_once_in_each_stage(
    batch: int, net: str, table: tuple[Path, list[str]], tmp_path: Path
) -> None:
    trace = tmp_path / "t.json"

    run_network(net, frames=table[0], reading=Reading(limit=20), timeline=trace, batch=batch)

    timeline = load_timeline(trace)
    stages = {lane.stage for lane in timeline.lanes}
    for stage in stages:
        ran = [n for lane in timeline.lanes if lane.stage == stage for n in lane.frames]
        assert sorted(ran) == list(timeline.frames) == list(range(20 // batch))
    assert timeline.network == "network"


def test_what_has_no_one_clock_or_plan_has_no_timeline(tmp_path: Path) -> None:
    path = tmp_path / "t.json"

    with pytest.raises(
        InputError, match="--trace draws one plan by one clock, and --supervise may"
    ):
        Manner(supervise=True).check(None, path)
    with pytest.raises(InputError, match="and each of --ranks may have another clock; leave out"):
        Manner(transport="ranks").check(None, path)
    Manner(transport="processes").check(None, path)


@pytest.mark.parametrize("rate_hz", [0.0, 1e-300, float("inf"), float("nan")])
def test_a_source_that_no_clock_can_pace_is_refused(rate_hz: float) -> None:
    with pytest.raises(InputError, match="frames per second is none: give a rate from 1e-06"):
        Manner(source_rate_hz=rate_hz).check(None)
