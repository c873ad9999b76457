"""How the columns of a table become the numbers that a network reads; learned from training rows.

A feature is named after its column: "age" a number, "age=(missing)" whether it was missing,
"colour=red" whether the column says so, "colour=(other)" whether it says something rare,
"when.month" a part of a date, "text:word" how much of a text a word is, "age>30" how far a number
reaches from 30 to the next edge of its bins.
"""

from typing import Literal

import msgspec

DatePart = Literal["year", "month", "day", "weekday", "hour", "minute", "days"]
MISSING_NAME = "(missing)"
OTHER_NAME = "(other)"


class NumberColumn(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="number"
):
    """A column of numbers.

    Attributes:
        column: its name.
        median: of training rows; stands where there is no number.
        flag: whether a feature says that there was none.
        limits: lowest and highest number that is passed on; others stand at the nearer one. None
            if all are.
        edges: of the bins that it fills too, in rising order; none, or one more than bins.
    """

    column: str
    median: float
    flag: bool = False
    limits: tuple[float, float] | None = None
    edges: tuple[float, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its features."""
        flag = (f"{self.column}={MISSING_NAME}",) if self.flag else ()
        return (self.column, *flag, *(f"{self.column}>{edge:.9g}" for edge in self.edges[:-1]))


class CategoryColumn(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="category"
):
    """A column of texts of which a few come again and again; a feature each is 1 or 0.

    Attributes:
        column: its name.
        levels: the texts that have a feature, sorted.
        other: whether one feature stands for all other texts.
        missing: whether one stands for no text; without it all features are 0 then.
    """

    column: str
    levels: tuple[str, ...]
    other: bool = False
    missing: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its features."""
        more = ((OTHER_NAME,) if self.other else ()) + ((MISSING_NAME,) if self.missing else ())
        return tuple(f"{self.column}={level}" for level in (*self.levels, *more))


class DateColumn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="date"):
    """A column of dates, each taken apart; "days" counts them from 1970.

    Attributes:
        column: its name.
        form: how a date is written, as `strptime` takes it, or "iso".
        parts: those that differ between training rows.
        medians: of each part, where there is no date.
        flag: whether a feature says that there was none.
    """

    column: str
    form: str
    parts: tuple[DatePart, ...]
    medians: tuple[float, ...]
    flag: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its features."""
        flag = (f"{self.column}={MISSING_NAME}",) if self.flag else ()
        return (*(f"{self.column}.{part}" for part in self.parts), *flag)


class TextColumns(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="text"
):
    """Columns whose words are weighed by TF-IDF, all of a row as one text.

    Attributes:
        columns: their names.
        vocabulary: the words, or runs of words with a blank between, that have a feature, sorted.
        idf: inverse document frequency of each among training rows.
        run: most words of a run.
    """

    columns: tuple[str, ...]
    vocabulary: tuple[str, ...]
    idf: tuple[float, ...]
    run: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its features."""
        return tuple(f"{self.columns[0]}:{word}" for word in self.vocabulary)


EncodedColumn = NumberColumn | CategoryColumn | DateColumn | TextColumns


class Encoding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How each row of a table becomes features.

    Attributes:
        columns: in the order of their features.

    Example:
        >>> age = NumberColumn(column="age", median=28.0, flag=True)
        >>> sex = CategoryColumn(column="sex", levels=("female", "male"))
        >>> Encoding(columns=(age, sex)).feature_names
        ('age', 'age=(missing)', 'sex=female', 'sex=male')
    """

    columns: tuple[EncodedColumn, ...]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of all features, in order."""
        return tuple(name for one in self.columns for name in one.names)

    @property
    def bins(self) -> tuple[int, ...]:
        """Places of the features that say how much of a bin a number fills.

        Example:
            >>> Encoding(columns=(NumberColumn(column="a", median=1.0, edges=(0, 1, 9)),)).bins
            (1, 2)
        """
        found: list[int] = []
        first = 0
        for one in self.columns:
            last = first + len(one.names)
            if isinstance(one, NumberColumn) and one.edges:
                found += range(last - len(one.edges) + 1, last)
            first = last
        return tuple(found)

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the columns that a table must have."""
        found: list[str] = []
        for one in self.columns:
            found += one.columns if isinstance(one, TextColumns) else (one.column,)
        return tuple(found)
