"""Reading CSV tables."""

from pathlib import Path

import numpy as np
import pytest

from evener.data.csv_file import MOST_CATEGORIES, read_csv
from evener.errors import InvalidDataError, InvalidFileError


def written(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_bytes(text.encode())
    return path


def test_numbers_stay_numbers_and_the_target_is_text(tmp_path: Path) -> None:
    table = read_csv(written(tmp_path, "a,label,b\n1,yes,2.5\n-3e1,no,4\n"), "label")

    assert table.features.tolist() == [[1.0, 2.5], [-30.0, 4.0]]
    assert table.features.dtype == np.float32
    assert table.feature_names == ("a", "b")
    assert table.target == ("yes", "no")


def test_a_column_of_words_becomes_one_column_per_word(tmp_path: Path) -> None:
    table = read_csv(written(tmp_path, "colour,label\nred,0\nblue,1\nred,1\n"), "label")

    assert table.feature_names == ("colour=blue", "colour=red")
    assert table.features.tolist() == [[0, 1], [1, 0], [0, 1]]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_found_in_the_header(tmp_path: Path, delimiter: str) -> None:
    text = "a,b,label\n1,2,x\n3,4,y\n".replace(",", delimiter)

    assert read_csv(written(tmp_path, text), "label").features.tolist() == [[1, 2], [3, 4]]


def test_a_byte_order_mark_blank_lines_and_spaces_do_not_matter(tmp_path: Path) -> None:
    table = read_csv(written(tmp_path, "\ufeffa , label\r\n 1 , x\r\n\r\n2,y\r\n"), "label")

    assert table.feature_names == ("a",)
    assert table.target == ("x", "y")
    assert table.row_name(1) == "line 4"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match=r"cannot read .*gone\.csv: No such file.*relative"):
        read_csv(tmp_path / "gone.csv", "label")


@pytest.mark.parametrize(("text", "what"), [("", "nothing"), ("a,label\n", "a header but no rows")])
def test_an_empty_table_says_so(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(InvalidFileError, match=f"holds {what}; it needs a header row and"):
        read_csv(written(tmp_path, text), "label")


def test_a_file_that_is_no_text_says_so(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,label\n\xff\xfe\x00,1\n")

    with pytest.raises(InvalidFileError, match=r"not a CSV table in UTF-8: .*save it as UTF-8"):
        read_csv(path, "label")


def test_an_unclosed_quote_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="not a CSV table in UTF-8: unexpected end of data"):
        read_csv(written(tmp_path, 'a,label\n"1,2\n'), "label")


def test_a_ragged_row_is_named_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="line 3 has 3 values, the header has 2; give every"):
        read_csv(written(tmp_path, "a,label\n1,x\n2,y,z\n"), "label")


def test_a_target_that_is_not_there_is_answered_with_the_nearest_column(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidDataError, match=r"no column 'lable'.*did you mean 'Label'\? columns: a, Label"
    ) as caught:
        read_csv(written(tmp_path, "a,Label\n1,x\n"), "lable")
    assert caught.value.column == "lable"


def test_of_many_columns_the_first_are_listed(tmp_path: Path) -> None:
    header = ",".join(f"c{index}" for index in range(25))

    with pytest.raises(InvalidDataError, match=r"c18, c19 and 5 more. Choose one of them"):
        read_csv(written(tmp_path, f"{header}\n{header}\n"), "zzz")


def test_text_among_numbers_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidDataError, match=r"column 'a' .* text in 1 of 3 rows, first 'many' in line 3; make"
    ):
        read_csv(written(tmp_path, "a,label\n1,x\nmany,y\n3,x\n"), "label")


def test_missing_values_are_counted(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidDataError, match="column 'a' has no value in 2 of 3 rows, first in line 3; fill"
    ):
        read_csv(written(tmp_path, "a,label\n1,x\n,y\n ,x\n"), "label")


def test_a_column_without_name_is_named_by_its_place(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="column 2 of 3 has no name; name every"):
        read_csv(written(tmp_path, "a,,label\n1,2,x\n"), "label")


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"called 'a' \(columns 1 and 3\); rename one"):
        read_csv(written(tmp_path, "a,label,a\n1,x,2\n"), "label")


def test_a_target_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="no column besides the target 'label'; add"):
        read_csv(written(tmp_path, "label\nx\ny\n"), "label")


def test_a_column_of_names_is_no_category(tmp_path: Path) -> None:
    count = MOST_CATEGORIES + 1
    rows = "".join(f"person {index},x\n" for index in range(count))

    with pytest.raises(InvalidDataError, match=f"'a' holds {count} different texts, more than"):
        read_csv(written(tmp_path, f"a,label\n{rows}"), "label")
