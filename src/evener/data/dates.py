"""Recognise dates as tables write them, and take them apart."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from evener.artifacts.encoding import DatePart

PARTS: Final[tuple[DatePart, ...]] = (
    *("year", "month", "day", "weekday", "hour", "minute", "days"),
)
ISO: Final = "iso"
_FORMS: Final = (
    *(ISO, "%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%d.%m.%Y", "%d.%m.%Y %H:%M"),
    *("%m/%d/%Y", "%m/%d/%Y %H:%M", "%d/%m/%Y", "%d/%m/%Y %H:%M"),
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def find_form(texts: Iterable[str], others: Iterable[str | None] = ()) -> str | None:
    """Return how all of some texts write a date; None if they do not.

    Where several ways would do, one is taken that others write theirs by too, if there is one.
    Where that leaves two, the month is taken to stand before the day, as in the United States.

    Args:
        texts: that say whether they are dates.
        others: of the same column, which do not.

    Example:
        >>> find_form(["2024-02-29", "2023-01-01 12:30"]), find_form(["31/12/2023", "01/02/2024"])
        ('iso', '%d/%m/%Y')
        >>> find_form(["may", "june"]) is None
        True
    """
    left = list(_FORMS)
    for text in texts:
        left = [form for form in left if read_date(text, form) is not None]
        if not left:
            return None
    for text in filter(None, others):
        left = [form for form in left if read_date(text, form) is not None] or left
        if len(left) == 1:
            break
    return left[0]


def read_date(text: str, form: str) -> datetime | None:
    """Return the date that a text says; None if it says none so."""
    try:
        iso = form == ISO
        found = datetime.fromisoformat(text) if iso else datetime.strptime(text, form)  # noqa: DTZ007 - its zone follows
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def part_of(date: datetime, part: DatePart) -> float:
    """Return a part of a date as a number; Monday is weekday 0.

    Example:
        >>> [part_of(datetime(2024, 2, 29, 18, tzinfo=UTC), part) for part in PARTS]
        [2024.0, 2.0, 29.0, 3.0, 18.0, 0.0, 19782.75]
    """
    if part == "days":
        return (date - _EPOCH).total_seconds() / 86_400
    if part == "weekday":
        return float(date.weekday())
    return float(getattr(date, part))
