"""Reading the columns of a table as they stand in a file."""

from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from evener.data.raw import RawTable, read_raw, stack
from evener.errors import InvalidDataError, InvalidFileError


def table(**columns: list[str | None]) -> RawTable:
    return RawTable(columns=columns, where="a.csv", row_name=lambda row: f"line {row + 2}")


def test_parquet_keeps_its_numbers_and_says_the_rest_as_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    columns = {"a": [1, None], "b": [0.5, 1.5], "c": ["x", None], "d": [date(2024, 2, 29)] * 2}
    parquet.write_table(pa.table({**columns, "e": [True, False]}), path)

    found = read_raw(path)

    assert isinstance(found.columns["a"], np.ndarray)
    assert np.array_equal(found.columns["a"], [1, np.nan], equal_nan=True)
    assert isinstance(found.columns["b"], np.ndarray)
    assert found.columns["c"] == ["x", None]
    assert found.columns["d"] == ["2024-02-29", "2024-02-29"]
    assert found.columns["e"] == ["True", "False"]
    assert found.row_name(1) == "row 1"


def test_lines_of_json_may_leave_columns_out(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "good", "label": 1}\n\n{"text": "bad", "more": 0.5}\n')

    found = read_raw(path)

    assert found.columns == {"text": ["good", "bad"], "label": ["1", None], "more": [None, "0.5"]}
    assert found.row_name(1) == "line 3"


def test_a_line_that_is_no_object_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n\n[1]\n')

    with pytest.raises(InvalidFileError, match="line 3 is no JSON object"):
        read_raw(path)


def test_rows_that_are_taken_keep_their_names() -> None:
    found = table(a=["1", "2", "3"]).take(np.array([0, 2]))

    assert found.columns == {"a": ["1", "3"]}
    assert found.row_name(1) == "line 4"


def test_rows_of_two_files_stand_one_behind_the_other() -> None:
    second = RawTable(
        {"a": np.array([3.0, np.nan])}, where="b.csv", row_name=lambda row: f"row {row}"
    )

    found = stack(table(a=["1", "2"]), second)

    assert found.columns == {"a": ["1", "2", "3", None]}
    assert (found.row_name(1), found.row_name(2)) == ("line 3", "row 0 of b.csv")


def test_files_of_other_columns_do_not_belong_together() -> None:
    with pytest.raises(InvalidDataError, match="a.csv has a column 'b', and a.csv has none"):
        stack(table(a=["1"]), table(a=["1"], b=["2"]))
