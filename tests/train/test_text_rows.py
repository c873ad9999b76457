"""Reading rows of numbers from text."""

from pathlib import Path

import numpy as np
import pytest

from evener.errors import InvalidFileError
from evener.train.text_rows import as_rows, read_rows


def test_numbers_stand_apart_by_blanks_or_commas(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_text("1 2\t3\n\n4,5, 6\n -7e-1   8 9 \n")

    expected = np.array([[1, 2, 3], [4, 5, 6], [-0.7, 8, 9]], np.float32)
    np.testing.assert_array_equal(as_rows(str(path)), expected)


def test_a_list_of_numbers_is_a_table_of_one_column() -> None:
    assert as_rows([1, 2]).tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1 2\n3 x\n", "line 2: could not convert string to float: '?x.*give numbers apart"),
        (b"1 2\n\n3\n", "line 3: 1 numbers, but the first row has 2; give every row as many"),
        (b"\n\n", "holds no row of numbers; check the path"),
        (b"\xff\xfe1", "cannot read .*: it is not text in UTF-8"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "rows.txt"
    path.write_bytes(content)

    with pytest.raises(InvalidFileError, match=message) as failure:
        read_rows(path)
    assert failure.value.path == str(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="cannot read .*: No such file or directory"):
        read_rows(tmp_path / "none.txt")
