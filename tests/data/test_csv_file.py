"""Opening CSV tables and checking their headers, by the reader of whole tables."""

import gzip
from pathlib import Path

import pytest

from evener.data.csv_file import read_header
from evener.data.raw import read_raw
from evener.errors import InvalidDataError, InvalidFileError


def written(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_found_in_the_header(tmp_path: Path, delimiter: str) -> None:
    text = "a,b,label\n1,2,x\n3,4,y\n".replace(",", delimiter)

    assert read_raw(written(tmp_path, text)).columns["b"] == ["2", "4"]


def test_a_compressed_table_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"a;b\n1;2\n"))

    assert read_raw(path).columns == {"a": ["1"], "b": ["2"]}
    assert read_header(path) == ["a", "b"]


def test_a_compressed_table_that_is_cut_off_says_so(tmp_path: Path) -> None:
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"a;b\n1;2\n" * 1000)[:-20])

    with pytest.raises(InvalidFileError, match="is damaged: .*; compress it again"):
        read_raw(path)


def test_a_byte_order_mark_blank_lines_and_spaces_do_not_matter(tmp_path: Path) -> None:
    table = read_raw(written(tmp_path, "\ufeffa , label\r\n 1 , x\r\n\r\n2,y\r\n"))

    assert table.columns == {"a": ["1", "2"], "label": ["x", "y"]}
    assert table.row_name(1) == "line 4"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match=r"cannot read .*gone\.csv: No such file.*relative"):
        read_raw(tmp_path / "gone.csv")


@pytest.mark.parametrize(("text", "what"), [("", "nothing"), ("a,label\n", "a header but no rows")])
def test_an_empty_table_says_so(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(InvalidFileError, match=f"holds {what}; it needs a header row and"):
        read_raw(written(tmp_path, text))


def test_a_file_that_is_no_text_says_so(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,label\n\xff\xfe\x00,1\n")

    with pytest.raises(InvalidFileError, match=r"not a CSV table in UTF-8: .*save it as UTF-8"):
        read_raw(path)


def test_an_unclosed_quote_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="not a CSV table in UTF-8: unexpected end of data"):
        read_raw(written(tmp_path, 'a,label\n"1,2\n'))


def test_a_ragged_row_is_named_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="line 3 has 3 values, the header has 2; give every"):
        read_raw(written(tmp_path, "a,label\n1,x\n2,y,z\n"))


def test_a_column_without_name_is_named_by_its_place(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="column 2 of 3 has no name; name every"):
        read_raw(written(tmp_path, "a,,label\n1,2,x\n"))


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"called 'a' \(columns 1 and 3\); rename one"):
        read_raw(written(tmp_path, "a,label,a\n1,x,2\n"))
