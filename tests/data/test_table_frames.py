"""Rows of CSV and Parquet tables become frames, columns by name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evener.artifacts.tensor import Tensor
from evener.data.source import Source
from evener.data.table_frames import read_rows
from evener.errors import InvalidDataError, InvalidFileError, MissingExtraError

PAIR = (Tensor(name="features", shape=(1, 2), dtype="float32"),)


def csv(folder: Path, text: str) -> Path:
    path = folder / "rows.csv"
    path.write_text(text)
    return path


def values(source: Source) -> list[list[float]]:
    return [one.frame[0].reshape(-1).tolist() for one in source.frames]


def test_all_columns_make_the_input_in_their_order(tmp_path: Path) -> None:
    frames = list(read_rows(csv(tmp_path, "a,b\n1,2\n3,4.5\n"), PAIR).frames)

    assert [one.frame[0].tolist() for one in frames] == [[[1, 2]], [[3, 4.5]]]
    assert frames[0].frame[0].dtype == np.float32
    assert [one.where for one in frames] == ["line 2", "line 3"]
    assert [one.id for one in frames] == [None, None]


@pytest.mark.parametrize(
    "choices", [{"columns": ("b", "a")}, {"features": ("b", "a")}], ids=["columns", "card"]
)
def test_columns_are_found_by_name(choices: dict[str, Any], tmp_path: Path) -> None:
    path = csv(tmp_path, "a,other,b\n1,x,2\n")

    assert values(read_rows(path, PAIR, **choices)) == [[2, 1]]


def test_what_the_user_names_goes_before_what_the_card_does(tmp_path: Path) -> None:
    path = csv(tmp_path, "a,b,c\n1,2,3\n")

    assert values(read_rows(path, PAIR, columns=("c", "a"), features=("a", "b"))) == [[3, 1]]


def test_a_column_of_ids_goes_with_the_answers_and_is_no_number(tmp_path: Path) -> None:
    frames = read_rows(csv(tmp_path, "who,a,b\nx7,1,2\n"), PAIR, id_column="who").frames

    assert [(one.id, one.frame[0].tolist()) for one in frames] == [("x7", [[1, 2]])]


def test_a_word_of_a_column_is_one_and_the_others_zero(tmp_path: Path) -> None:
    path = csv(tmp_path, "colour\nred\n blue\n")

    assert values(read_rows(path, PAIR, features=("colour=blue", "colour=red"))) == [[0, 1], [1, 0]]


def test_a_column_whose_name_holds_a_sign_of_equality_is_itself(tmp_path: Path) -> None:
    path = csv(tmp_path, "colour=red,b\n0.25,2\n")

    assert values(read_rows(path, PAIR, columns=("colour=red", "b"))) == [[0.25, 2]]


def test_several_inputs_are_read_from_columns_of_their_names(tmp_path: Path) -> None:
    inputs = (
        Tensor(name="n", shape=(1,), dtype="int64"),
        Tensor(name="x", shape=(1, 1), dtype="float32"),
    )
    path = csv(tmp_path, "x,n\n0.5,3\n")

    (one,) = read_rows(path, inputs).frames
    (other,) = read_rows(path, inputs, columns=("n", "n")).frames

    assert [array.tolist() for array in one.frame] == [[3], [[0.5]]]
    assert one.frame[0].dtype == np.int64
    assert [array.tolist() for array in other.frame] == [[3], [[3]]]


def test_of_several_columns_one_number_is_the_one_of_its_name(tmp_path: Path) -> None:
    x = (Tensor(name="x", shape=(1,), dtype="float32"),)

    assert values(read_rows(csv(tmp_path, "a,x\n1,2\n"), x)) == [[2]]


@pytest.mark.parametrize(
    ("text", "choices", "message"),
    [
        ("a,b\n1,\n", {}, r"line 2 of .*rows.csv: column 'b' has no value; fill it in or remove"),
        ("a,b\n1,2\n1,nan\n", {}, "line 3 of .*: column 'b' holds NaN; replace it by a number"),
        ("a,b\n1,two\n", {}, "column 'b' holds 'two', which is no number; write one"),
        ("a,b\n1,1e39\n", {}, r"column 'b' holds 1e\+39, which is no float32; write a smaller"),
        ("a,b\n1,2,3\n", {}, "line 2 has 3 values, the header has 2"),
        ("a,b,c\n1,2,3\n", {}, "gives 3 columns and 'features' takes 2 numbers; name the columns"),
        ("alpha,b\n1,2\n", {"columns": ("b", "alfa")}, "no column 'alfa', .*did you mean 'alpha'?"),
        ("a,b\n1,2\n", {"id_column": "who"}, "no column 'who', and --id names it; columns: a, b"),
        ("c\nx\n", {"features": ("c=red", "c=blue")}, "column 'c' says 'x', and the network knows"),
        ("a,a\n1,2\n", {}, "two columns are called 'a'"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_its_place(
    text: str, choices: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidDataError, match=message):
        list(read_rows(csv(tmp_path, text), PAIR, **choices).frames)


def test_a_fraction_is_no_integer(tmp_path: Path) -> None:
    whole = (Tensor(name="n", shape=(1,), dtype="int64"),)

    with pytest.raises(InvalidDataError, match=r"holds 1.5, which is no int64; write a whole"):
        list(read_rows(csv(tmp_path, "n\n1.5\n"), whole).frames)


def test_several_inputs_of_many_numbers_are_no_columns(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="takes 2 numbers, and each of 2 inputs is read"):
        list(read_rows(csv(tmp_path, "a,b\n1,2\n"), PAIR * 2).frames)


def test_a_missing_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="cannot read .*none.csv: No such file"):
        list(read_rows(tmp_path / "none.csv", PAIR).frames)


def parquet(folder: Path, **columns: Sequence[Any]) -> Path:
    pa = pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    from pyarrow import parquet as pq

    path = folder / "rows.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_parquet_gives_the_frames_that_csv_gives(tmp_path: Path) -> None:
    rows = [(number / 3, number, f"n{number}") for number in range(3000)]
    a, b, who = zip(*rows, strict=True)
    text = "".join(f"{one},{other},{name}\n" for one, other, name in rows)

    stored = read_rows(parquet(tmp_path, a=a, b=b, who=who), PAIR, id_column="who")
    written = read_rows(csv(tmp_path, f"a,b,who\n{text}"), PAIR, id_column="who")

    assert (stored.count, written.count) == (3000, None)
    for one, other in zip(stored.frames, written.frames, strict=True):
        assert np.array_equal(one.frame[0], other.frame[0])
        assert one.id == other.id


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1.0, None], "row 1 of .*rows.parquet: column 'b' has no value"),
        ([1.0, float("nan")], "row 1 of .*: column 'b' holds NaN"),
        (["1", "two"], "row 1 of .*: column 'b' holds 'two'"),
        ([[1.0], [2.0]], r"row 0 of .*: column 'b' holds \[1.0\], which is no number"),
    ],
)
def test_what_parquet_cannot_give_is_refused_with_its_row(
    column: list[Any], message: str, tmp_path: Path
) -> None:
    path = parquet(tmp_path, a=[1.0, 2.0], b=column)

    with pytest.raises(InvalidDataError, match=message):
        list(read_rows(path, PAIR).frames)


def test_what_is_no_parquet_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    path = tmp_path / "rows.parquet"
    path.write_text("a,b\n1,2\n")

    with pytest.raises(InvalidFileError, match="cannot read .*rows.parquet: .*; give a Parquet"):
        read_rows(path, PAIR)


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'evener\[parquet\]'"):
        read_rows(tmp_path / "rows.parquet", PAIR)
