"""Raw rows of a table become frames as training made features of them."""

from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.encoding import CategoryColumn, Encoding, NumberColumn
from evener.artifacts.project import DataSection
from evener.artifacts.tensor import Tensor
from evener.data.load import load_dataset
from evener.data.source import Source
from evener.data.sources import Reading, open_source
from evener.data.table_frames import read_rows
from evener.errors import InvalidDataError

ENCODING = Encoding(
    columns=(
        NumberColumn(column="age", median=30.0, flag=True),
        CategoryColumn(column="sex", levels=("f", "m"), other=True),
    )
)
INPUTS = (Tensor(name="features", shape=(1, 5), dtype="float32"),)


def rows(folder: Path, text: str, *, id_column: str | None = None) -> Source:
    path = folder / "rows.csv"
    path.write_text(text)
    return read_rows(path, INPUTS, encoding=ENCODING, id_column=id_column)


def test_missing_values_and_unknown_words_are_taken_as_in_training(tmp_path: Path) -> None:
    source = rows(tmp_path, "who,sex,extra,age\na,f,1,20\nb,?,2,NA\nc,x,3,40\n", id_column="who")

    frames = list(source.frames)

    assert [one.frame[0].tolist() for one in frames] == [
        [[20, 0, 1, 0, 0]],
        [[30, 1, 0, 0, 0]],
        [[40, 0, 0, 0, 1]],
    ]
    assert [one.id for one in frames] == ["a", "b", "c"]
    assert frames[0].frame[0].dtype == np.float32


def test_json_lines_are_rows_as_those_of_other_tables_are(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(
        '{"who": "a", "sex": "f", "age": 20}\n'
        '{"who": "b", "age": null}\n'
        '{"sex": "x", "age": "40"}\n'
    )

    frames = list(
        open_source(
            tmp_path / "rows.jsonl", INPUTS, Reading(id_column="who"), encoding=ENCODING
        ).frames
    )

    assert [one.frame[0].tolist() for one in frames] == [
        [[20, 0, 1, 0, 0]],
        [[30, 1, 0, 0, 0]],
        [[40, 0, 0, 0, 1]],
    ]
    assert [one.where for one in frames] == ["line 1", "line 2", "line 3"]


def test_more_rows_than_are_read_at_once_keep_their_places(tmp_path: Path) -> None:
    source = rows(tmp_path, "sex,age\n" + "".join(f"f,{age}\n" for age in range(700)))

    frames = list(source.frames)

    assert [one.frame[0][0, 0] for one in frames] == list(range(700))
    assert frames[-1].where == "line 701"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sex,agee\nf,1\n", "has no column 'age', and the network reads it; did you mean 'agee'"),
        ("sex,age\nf,1\nf,old\n", "line 3 of .*: column 'age' holds 'old', which is no number"),
        ("sex,age\nf,1e39\n", "line 2 of .*: column 'age' holds a number too large"),
    ],
)
def test_rows_that_do_not_fit_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        list(rows(tmp_path, text).frames)


def test_a_network_that_reads_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("age,sex\n1,f\n")
    inputs = (Tensor(name="x", shape=(1, 3), dtype="float32"),)

    with pytest.raises(InvalidDataError, match=r"become 5 numbers a row.* reads 'x' \[1, 3\]"):
        list(read_rows(tmp_path / "rows.csv", inputs, encoding=ENCODING).frames)


def test_bins_and_runs_of_words_are_those_of_training(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = ("good", "bad", "film", "plot")
    table = [
        f"{size:.3f},{' '.join(rng.choice(words, 4))},{'up' if size > 0 else 'down'}"
        for size in rng.normal(size=60)
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["size,text,label", *table]))
    section = DataSection(source="rows.csv", text="text", text_run=2, bins=4)
    dataset = load_dataset(section, tmp_path)
    inputs = (Tensor(name="features", shape=(1, dataset.features.shape[1]), dtype="float32"),)

    source = read_rows(tmp_path / "rows.csv", inputs, encoding=dataset.encoding)

    assert dataset.bins == (1, 2, 3, 4)
    assert "text:good film" in dataset.feature_names
    np.testing.assert_array_equal([one.frame[0][0] for one in source.frames], dataset.features)
