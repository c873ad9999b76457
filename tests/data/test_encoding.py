"""Learning from training rows what columns become, and making features of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from evener.artifacts.encoding import CategoryColumn, DateColumn, NumberColumn, TextColumns
from evener.data.cells import Column
from evener.data.encode import encode
from evener.data.learn_encoding import MOST_CATEGORIES, learn_encoding
from evener.data.raw import RawTable
from evener.errors import InvalidDataError


def table(**columns: Column) -> RawTable:
    return RawTable(columns=columns, where="a.csv", row_name=lambda row: f"line {row + 2}")


def learned(rows: RawTable, train: int) -> tuple[dict[str, object], tuple[str, ...]]:
    encoding, notes = learn_encoding(rows, np.arange(train))
    return {one.names[0].split("=")[0].split(".")[0]: one for one in encoding.columns}, notes


def features(rows: RawTable, train: int, *, of: RawTable | None = None) -> dict[str, list[float]]:
    encoding, _ = learn_encoding(rows, np.arange(train))
    made = encode(encoding, of or rows)
    return dict(zip(encoding.feature_names, made.T.tolist(), strict=True))


def test_numbers_stay_numbers_and_words_become_a_feature_each() -> None:
    assert features(table(a=["1", "-3e1"], colour=["red", "blue"]), 2) == {
        "a": [1, -30],
        "colour=blue": [0, 1],
        "colour=red": [1, 0],
    }


@pytest.mark.parametrize("nothing", ["", "NA", "?", "nan", "NULL", " n/a "])
def test_where_a_number_is_missing_the_training_rows_median_stands_and_a_flag(
    nothing: str,
) -> None:
    rows = table(a=["1", nothing, "2", "9", "1000"])

    assert features(rows, 4) == {"a": [1, 2, 2, 9, 1000], "a=(missing)": [0, 1, 0, 0, 0]}


def test_what_is_missing_only_where_nothing_is_learned_has_no_flag() -> None:
    assert features(table(a=["1", "2", "3", ""]), 3) == {"a": [1, 2, 3, 2]}


def test_nothing_is_a_category_of_its_own() -> None:
    assert features(table(a=["x", "", "y", "?"]), 4)["a=(missing)"] == [0, 1, 0, 1]


def test_the_test_rows_teach_nothing() -> None:
    rows = table(a=["1", "2", "3", "100"], b=["x", "y", "x", "z"])

    found, _ = learned(rows, 3)

    assert found["a"] == NumberColumn(column="a", median=2.0, limits=(-1999.0, 2003.0))
    assert found["b"] == CategoryColumn(column="b", levels=("x", "y"))
    assert features(rows, 3)["b=x"] == [1, 0, 1, 0]


def test_rare_categories_are_one_other() -> None:
    common = ["x", "y"] * 1500
    rows = table(a=[*common, "p", "q"])

    encoding, notes = learn_encoding(rows, np.arange(3002))
    made = encode(encoding, table(a=["x", "p", "new"]))

    assert encoding.feature_names == ("a=x", "a=y", "a=(other)")
    assert made.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert notes == ("'a' has 2 rare texts taken together as 'other'",)


def test_of_many_categories_the_most_common_are_kept() -> None:
    often = [f"c{index}" for index in range(MOST_CATEGORIES)] * 3
    seldom = [f"r{index}" for index in range(9)]

    found, _ = learned(table(a=[*often, *seldom]), len(often) + len(seldom))

    assert found["a"] == CategoryColumn(column="a", levels=tuple(sorted(set(often))), other=True)


def test_what_differs_in_nearly_every_row_is_left_out_with_a_note() -> None:
    names = [f"person {index}" for index in range(MOST_CATEGORIES + 1)]

    found, notes = learned(table(a=names, b=[str(i) for i in range(len(names))]), len(names))

    assert list(found) == ["b"]
    assert notes[0].startswith("column 'a' left out: 65 different texts in 65 training rows are no")


@pytest.mark.parametrize(
    ("column", "note"),
    [
        (["7", "7", "8"], "left out, the same in every training row: a"),
        (["x", "x", "y"], "left out, the same in every training row: a"),
        (["", "?", "3"], "column 'a' left out: no training row has a value of it"),
        (["", "", "x"], "column 'a' left out: no training row has a value of it"),
    ],
)
def test_what_teaches_nothing_is_left_out_with_a_note(column: list[str], note: str) -> None:
    found, notes = learned(table(a=column, b=["1", "2", "3"]), 2)

    assert list(found) == ["b"]
    assert notes == (note,)


def test_where_nothing_is_left_the_notes_say_why() -> None:
    with pytest.raises(
        InvalidDataError, match="no column besides the target .*: left out, the same in"
    ):
        learn_encoding(table(a=["7", "7"]), np.arange(2))


def test_dates_are_taken_apart_into_what_varies() -> None:
    found = features(table(when=["2024-02-29", "2024-03-01", ""]), 3)

    assert found == {
        "when.month": [2, 3, 2.5],
        "when.day": [29, 1, 15],
        "when.weekday": [3, 4, 3.5],
        "when.days": [19782, 19783, 19782.5],
        "when=(missing)": [0, 0, 1],
    }


def test_dates_are_read_as_the_whole_column_writes_them() -> None:
    found, _ = learned(table(when=["01/02/2024", "02/02/2024", "31/12/2023"]), 2)

    assert isinstance(found["when"], DateColumn)
    assert found["when"].form == "%d/%m/%Y"


def test_a_slip_among_numbers_is_named_with_its_line() -> None:
    rows = table(a=["1"] * 30 + ["many"])

    with pytest.raises(
        InvalidDataError,
        match=r"'a' .* text in 1 of 31 training rows, first 'many' in line 32; make",
    ):
        learn_encoding(rows, np.arange(31))


def test_numbers_among_texts_are_texts() -> None:
    found, _ = learned(table(a=["A/5", "17", "A/5", "17"]), 4)

    assert found["a"] == CategoryColumn(column="a", levels=("17", "A/5"))


@pytest.mark.parametrize(
    ("later", "message"),
    [
        ({"b": ["1"]}, "a.csv has no column 'a', and the network reads it; columns: b"),
        ({"a": ["many"], "when": ["2024-01-01"]}, "line 2 of a.csv: column 'a' holds 'many', wh"),
        ({"a": ["1"], "when": ["soon"]}, "column 'when' holds 'soon', no date such as 2024-01-31"),
    ],
)
def test_later_rows_that_do_not_fit_are_named(later: dict[str, Column], message: str) -> None:
    encoding, _ = learn_encoding(
        table(a=["1", "2"], when=["2024-01-01", "2024-01-02"]), np.arange(2)
    )

    with pytest.raises(InvalidDataError, match=message):
        encode(encoding, table(**later))


@given(
    st.lists(
        st.tuples(
            st.one_of(st.floats(-1e6, 1e6).map(repr), st.sampled_from(["", "?"])),
            st.sampled_from(["red", "blue", "", "green"]),
        ),
        min_size=6,
        max_size=20,
    )
)
def test_rows_one_by_one_become_what_they_become_together(rows: list[tuple[str, str]]) -> None:
    rows += [("1", "red"), ("2", "blue")]
    numbers, colours = ([*column] for column in zip(*rows, strict=True))
    encoding, _ = learn_encoding(table(a=numbers, b=colours), np.arange(len(rows)))

    together = encode(encoding, table(a=numbers, b=colours))

    for index, (number, colour) in enumerate(rows):
        assert encode(encoding, table(a=[number], b=[colour])).tolist() == [
            together[index].tolist()
        ]
    assert np.isfinite(together).all()


TEXTS = ["good film good", "bad film", "good plot, bad film", "film", "unseen good words"]


def test_words_are_weighed_as_scikit_learn_weighs_them() -> None:
    encoding, _ = learn_encoding(table(t=TEXTS), np.arange(4), text=("t",))

    made = encode(encoding, table(t=TEXTS))

    learner = TfidfVectorizer(min_df=2, sublinear_tf=True).fit(TEXTS[:4])
    assert encoding.feature_names == ("t:bad", "t:film", "t:good")
    np.testing.assert_allclose(made, learner.transform(TEXTS).toarray(), rtol=1e-6)


def test_of_many_words_those_are_chosen_that_tell_classes_apart() -> None:
    marks = np.eye(2, dtype=np.float32)[[1, 0, 1, 0, 1]]
    texts = ["the good", "the bad", "the good", "the bad", "the good"]

    encoding, _ = learn_encoding(
        table(t=texts), np.arange(5), text=("t",), text_features=2, targets=marks
    )

    (words,) = encoding.columns
    assert isinstance(words, TextColumns)
    assert words.vocabulary == ("bad", "good")


def test_without_classes_those_are_chosen_that_stand_in_most_texts() -> None:
    encoding, _ = learn_encoding(table(t=TEXTS), np.arange(4), text=("t",), text_features=1)

    assert encoding.feature_names == ("t:film",)


def test_several_columns_are_one_text() -> None:
    rows = table(title=["a good one", ""], body=["", "good"])

    encoding, _ = learn_encoding(rows, np.arange(2), text=("title", "body"))

    assert encode(encoding, rows).tolist() == [[1], [1]]


def test_a_column_without_words_is_refused() -> None:
    with pytest.raises(InvalidDataError, match="no word of 't' stands in 2 training rows"):
        learn_encoding(table(t=["a", "b"]), np.arange(2), text=("t",))


def test_what_a_column_holds_is_told_by_the_training_rows() -> None:
    numbers = ["1", "2", "3", "4"]
    rows = table(a=[*numbers, "many"], b=["x", "y", "x", "y", "7"], when=["1/1/2024"] * 4 + ["no"])

    found, notes = learned(rows, 4)

    assert isinstance(found["a"], NumberColumn)
    assert isinstance(found["b"], CategoryColumn)
    assert notes == ("left out, the same in every training row: when",)
    with pytest.raises(InvalidDataError, match="line 6 of a.csv: column 'a' holds 'many', which"):
        features(rows, 4)


def test_numbers_far_beyond_the_training_rows_stand_at_a_limit() -> None:
    rows = table(a=["0", "1", "1e30", "-1e30", "900"])

    assert features(rows, 2)["a"] == [0, 1, 1001, -1000, 900]


def test_bins_say_how_far_a_number_fills_them() -> None:
    rows = table(a=["0", "1", "2", "4", "", "3", "9", "-9"])

    encoding, _ = learn_encoding(rows, np.arange(5), bins=2)
    made = encode(encoding, rows)

    assert encoding.feature_names == ("a", "a=(missing)", "a>0", "a>2")
    assert encoding.bins == (2, 3)
    assert made[:, 2].tolist() == [0, 0.5, 1, 1, 0.75, 1, 1, 0]
    assert made[:, 3].tolist() == [0, 0, 0, 1, 0, 0.5, 1, 0]


def test_two_values_have_no_bins() -> None:
    encoding, _ = learn_encoding(table(a=["0", "1", "1"], b=["1", "2", "3"]), np.arange(3), bins=8)

    assert encoding.feature_names == ("a", "b", "b>1", "b>2")


def test_runs_of_words_are_weighed_too() -> None:
    rows = table(text=TEXTS)
    encoding, _ = learn_encoding(rows, np.arange(4), text=("text",), text_run=2)

    expected = TfidfVectorizer(sublinear_tf=True, min_df=2, ngram_range=(1, 2)).fit(TEXTS[:4])

    assert "text:bad film" in encoding.feature_names
    assert encode(encoding, rows) == pytest.approx(expected.transform(TEXTS).toarray(), abs=1e-6)
