"""The benchmark of real data, on tables that are made here."""

import gzip
import io
from pathlib import Path

import msgspec
import numpy as np
import pytest
import real_data
import real_data_sets
from PIL import Image
from real_data_page import Measured, verdicts
from real_data_peers import fit_peers
from real_data_sets import Bar, RealSet

from evener.artifacts.project import DataSection, SearchSection, TrainSection
from evener.data.load import load_dataset
from evener.errors import InputError

SHORT = SearchSection(
    population=2, generations=1, epochs=1, depth=1, widths=(4, 8), activations=("relu",)
)
ONCE = TrainSection(epochs=2, batch=16)
MODELS = [
    "evolved network",
    "random search",
    "fixed network",
    "linear",
    "forest",
    "boosting",
    "recommended",
    "scikit-learn HistGradientBoosting",
    "scikit-learn MLP",
]


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    """A folder of data: a line with noise, and which half of it a row is in."""
    rng = np.random.default_rng(0)
    rows = [(x, 3 * x + rng.normal(0, 0.1)) for x in rng.normal(size=120)]
    text = "\n".join(["x,y", *(f"{x:.4f},{y:.4f}" for x, y in rows)])
    (tmp_path / "line.csv.gz").write_bytes(gzip.compress(text.encode()))
    text = "\n".join(["x,y", *(f"{x:.4f},{'up' if y > 0 else 'down'}" for x, y in rows)])
    (tmp_path / "halves.csv").write_text(text)
    return tmp_path


def halves(*bars: Bar) -> RealSet:
    return RealSet(
        name="halves",
        title="Halves",
        parts=lambda _sets, _kept: [DataSection(source="halves.csv", target="y")],
        search=SHORT,
        train=ONCE,
        metrics=("auc", "accuracy"),
        bars=bars,
        workers=1,
    )


def line() -> RealSet:
    return RealSet(
        name="line",
        title="Line",
        parts=lambda sets, kept: real_data_sets.fold_tables(
            sets, kept, source="line.csv.gz", target="y"
        ),
        search=SHORT,
        train=ONCE,
        metrics=("mae",),
        workers=1,
    )


def test_a_set_is_measured_once_and_written_beside_its_bars(
    sets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        real_data_sets,
        "SETS",
        (halves(Bar("recommended", "auc", 0.9), Bar("evolved", "accuracy", 1.01)),),
    )
    out = sets / "out"
    arguments = [str(sets), "--kept", str(sets / "kept"), "-o", str(out)]

    codes = [real_data.main(arguments)]
    first = msgspec.json.decode(out.with_suffix(".json").read_bytes())
    codes.append(real_data.main(arguments))
    again = msgspec.json.decode(out.with_suffix(".json").read_bytes())

    assert codes == [1, 1]  # no accuracy is above 1
    assert first["sets"] == again["sets"]
    [found] = msgspec.convert(first["sets"], list[Measured])
    assert [one.what for one in found.figures] == MODELS
    assert found.evaluations == 2
    text = out.with_suffix(".md").read_text()
    assert "| Halves: recommended, auc >= 0.9 |" in text
    assert "| Halves: evolved network, accuracy >= 1.01 |" in text


def test_the_recommended_model_is_best_on_the_validation_rows(sets: Path) -> None:
    found = real_data.measure(halves(), sets, sets / "kept", 60.0)

    of = {one.what: one for one in found.figures}
    families = [of[name] for name in ("linear", "forest", "boosting", "evolved network")]
    assert of["recommended"].validation["accuracy"] == max(
        one.validation["accuracy"] for one in families
    )
    assert of["scikit-learn MLP"].validation == {}  # it learned from these rows


def test_peers_learn_rows_as_they_stand(sets: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{'up' if x > 100 else 'down'}" for x in rng.uniform(99, 101, 300)]
    (sets / "far.csv").write_text("\n".join(["x,y", *rows]))
    dataset = load_dataset(DataSection(source="far.csv", target="y"), sets)

    found = {one.what: one.test["accuracy"] for one in fit_peers(dataset, seed=0)}

    assert found["scikit-learn HistGradientBoosting"] > 0.95


def test_each_row_is_tested_in_one_fold(sets: Path) -> None:
    sections = real_data_sets.fold_tables(sets, sets, source="line.csv.gz", target="y")
    tested = [load_dataset(one, sets).row_counts["test"] for one in sections]

    assert tested == [12] * real_data_sets.FOLDS


def test_figures_of_folds_are_their_mean(sets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_data_sets, "FOLDS", 2)

    found = real_data.measure(line(), sets, sets / "kept", 120.0)

    assert found.folds == 2
    assert (found.evaluations, found.budget_s) == (4, 120.0)
    linear = next(one for one in found.figures if one.what == "linear")
    assert linear.test["mae"] < 0.2


def test_pictures_are_read_from_jpegs(tmp_path: Path) -> None:
    files = [_jpeg(level) for level in (0, 120, 240)] * 5
    starts = np.cumsum([0, *map(len, files)])
    data = np.frombuffer(b"".join(files), np.uint8)
    parts = {
        key: value
        for part in ("train", "test")
        for key, value in (
            (f"{part}_jpeg", data),
            (f"{part}_offsets", starts),
            (f"y_{part}", np.array([0, 1, 2] * 5)),
        )
    }
    np.savez(tmp_path / "jpegs.npz", **parts)  # type: ignore[arg-type]  # arrays by name

    [section] = real_data_sets.open_jpegs(tmp_path, tmp_path, source="jpegs.npz", first=9)
    dataset = load_dataset(section, tmp_path)

    assert dataset.picture == (3, 8, 8)
    assert dataset.row_counts["test"] == 9
    means = dataset.rows("test")[0].mean(axis=1)
    assert np.allclose(means, dataset.rows("test")[1] * 120 / 255, atol=0.02)


def _jpeg(level: int) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (8, 8), (level, level, level)).save(content, "JPEG")
    return content.getvalue()


def test_a_mean_is_of_metrics_that_every_fold_has() -> None:
    found = real_data.mean_of([{"r2": 0.5, "mae": 1.0}, {"r2": 0.75}])

    assert found == {"r2": 0.625}


def test_a_lower_error_reaches_a_bar_of_the_error() -> None:
    assert Bar("evolved", "mae", 2.4).holds(2.3)
    assert not Bar("evolved", "mae", 2.4).holds(2.5)
    assert Bar("evolved", "r2", 0.8).holds(0.81)


def test_a_bar_is_held_against_its_model(sets: Path) -> None:
    one = halves(Bar("evolved", "auc", 0.0), Bar("recommended", "auc", 1.1))
    found = real_data.measure(one, sets, sets / "kept", 60.0)

    assert [verdict.holds for verdict in verdicts(found, [one])] == [True, False]


def test_a_set_that_there_is_not_is_named() -> None:
    with pytest.raises(InputError, match="no data set is called 'iris'; there is boston"):
        real_data_sets.named(["iris"])


def test_a_folder_of_data_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVENER_TEST_DATA", raising=False)

    with pytest.raises(InputError, match="set EVENER_TEST_DATA"):
        real_data.main([])
