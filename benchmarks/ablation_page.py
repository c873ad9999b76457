"""What parts of a search add, by runs of equal seeds: as rows, and as tables for people."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, Final, TypeVar

import msgspec
import numpy as np
from ablation_algorithm import BLOCKS, INSTANCES, Run
from ablation_search import AGAIN, CACHED, PARTS, TABLE_TRAININGS, TRAININGS, Searched
from scipy.stats import t
from sections import Section, Table

WHOLE: Final = "whole"
DEFAULT: Final = "screened"  # the algorithm of the whole `evener search`
COMPETED: Final = "competition on"
PRUNED_ALIKE: Final = "no pruning, as much training"
ALONE: Final = "competition off, as much training"
ALGORITHM, SEARCH, DIGITS = "Algorithm 1", "evener search", "digits"
_SURE: Final = 0.95
RunT = TypeVar("RunT")
_OF_ALGORITHM: Final = (
    "The layer-wise competition is no line of Algorithm 1, and the whole is without it. Where it "
    f"is on, {INSTANCES} variants go on from the weights of the best network, each in an order of "
    f"rows of its own, and their layers compete after each of {BLOCKS} passes; the other row has "
    "as much training and takes the best variant. Pruning trains what it prunes: the row with as "
    "much training has these passes, and all connections. F is equation 3 on the rows to choose "
    "by, less is better, times 1,000."
)
_OF_SEARCH: Final = (
    f"{TRAININGS} trainings by the default algorithm; the best by validation error is trained in "
    f"full from drawn weights {AGAIN} times, and its mean error is shown. The whole inherits "
    "nothing, since that is its default."
)
_OF_CACHE: Final = (
    "Repeats: the share of the proposals that need no training, since their network was trained "
    "before; what the cache saves at an equal result. Without it, as many trainings "
    f"({TRAININGS} on digits, {TABLE_TRAININGS} on a table of NAS-Bench-201) end with the error "
    "beside it: on digits of test rows, as above; on a table of validation rows, which its "
    "searches choose by. A network that is trained again comes to the same here. The paper's "
    "algorithm and NSGA-II mutate so that 20 to 60 % of what they propose is new, which suits them "
    "with the cache; where few repeats are wanted it is 65 to 85 %, as would suit them without."
)


class Interval(msgspec.Struct, frozen=True):
    """A mean, and Student's interval that holds it with 95 %."""

    mean: float
    low: float
    high: float


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A part, and what it differs from another by.

    Attributes:
        of: Algorithm 1 or `evener search`; or where the cache was looked at: digits, or a table.
        part: what is different; the algorithm where the cache was looked at, which is off then.
        against: what it is compared with, from equal seeds.
        seeds: how many.
        error: share of test rows that are wrong; of a table the share of its validation rows.
        more: by how much its error is higher than the other's; None of the whole itself.
        fitness: by how much F on the validation rows is higher, of Algorithm 1.
        macs: multiply-accumulates of the network, mean, likewise.
        passes: over the training rows, of all networks together, mean, likewise.
        repeats: share of the proposals whose network was known, mean, where the cache was looked
            at.
    """

    of: str
    part: str
    against: str
    seeds: int
    error: Interval
    more: Interval | None = None
    fitness: Interval | None = None
    macs: float | None = None
    passes: float | None = None
    repeats: float | None = None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Every run, by part and seed.

    Attributes:
        runs: of Algorithm 1.
        searches: of `evener search`, by part or algorithm.
        tables: of tables, by table and algorithm.
    """

    runs: dict[str, dict[int, Run]]
    searches: dict[str, dict[int, Searched]]
    tables: dict[str, dict[str, dict[int, Searched]]]


def interval(values: Sequence[float]) -> Interval:
    """Return the mean and Student's interval of two values or more.

    Example:
        >>> interval([1.0, 2.0, 3.0]).mean
        2.0
    """
    mean, count = float(np.mean(values)), len(values)
    wide = float(t.ppf((1 + _SURE) / 2, count - 1) * np.std(values, ddof=1) / np.sqrt(count))
    return Interval(mean, mean - wide, mean + wide)


def verdict(more: Interval | None) -> str:
    """Say what an interval of a difference shows.

    Example:
        >>> verdict(Interval(0.1, -0.1, 0.3)), verdict(Interval(0.2, 0.1, 0.3))
        ('no difference seen', 'more errors')
    """
    if more is None:
        return ""
    if more.low > 0:
        return "more errors"
    return "fewer errors" if more.high < 0 else "no difference seen"


def rows_of(found: Found) -> list[Row]:
    """Return all comparisons that there are runs of two seeds or more for."""
    rows = [
        *(_of_algorithm(found.runs, part, WHOLE) for part in found.runs),
        _of_algorithm(found.runs, COMPETED, ALONE),
        *(_of_search(found.searches, part) for part in found.searches if part in PARTS),
        _uncached(DIGITS, DEFAULT, found.searches.get(WHOLE, {})),
        *(_uncached(DIGITS, name, runs) for name, runs in found.searches.items() if name in CACHED),
    ]
    for table, names in found.tables.items():
        rows += [_uncached(table, name, runs) for name, runs in names.items()]
    return [one for one in rows if one is not None]


def _of_algorithm(runs: Mapping[str, Mapping[int, Run]], part: str, against: str) -> Row | None:
    pairs = _pairs(runs, part, against)
    if len(pairs) < 2:
        return None
    errors = [(one.test_error, other.test_error) for one, other in pairs]
    scores = [(one.fitness, other.fitness) for one, other in pairs]
    return Row(
        of=ALGORITHM,
        part=part,
        against=against,
        seeds=len(pairs),
        error=interval([one for one, _ in errors]),
        more=None if part == against else _apart(errors),
        fitness=None if part == against else _apart(scores),
        macs=fmean(one.macs for one, _ in pairs),
        passes=fmean(one.passes for one, _ in pairs),
    )


def _of_search(runs: Mapping[str, Mapping[int, Searched]], part: str) -> Row | None:
    pairs = _pairs(runs, part, WHOLE)
    if len(pairs) < 2:
        return None
    errors = [(one.cached.test_error, other.cached.test_error) for one, other in pairs]
    return Row(
        of=SEARCH,
        part=part,
        against=WHOLE,
        seeds=len(pairs),
        error=interval([one for one, _ in errors]),
        more=None if part == WHOLE else _apart(errors),
    )


def _uncached(of: str, algorithm: str, runs: Mapping[int, Searched]) -> Row | None:
    if len(runs) < 2:
        return None
    some = [*runs.values()]
    return Row(
        of=of,
        part=algorithm,
        against="with the cache",
        seeds=len(some),
        error=interval([one.uncached.test_error for one in some]),
        more=_apart([(one.uncached.test_error, one.cached.test_error) for one in some]),
        repeats=fmean(one.repeats for one in some),
    )


def _pairs(
    runs: Mapping[str, Mapping[int, RunT]], part: str, against: str
) -> list[tuple[RunT, RunT]]:
    """Return the runs of either, of the seeds that both have."""
    some, others = runs.get(part, {}), runs.get(against, {})
    return [(one, others[seed]) for seed, one in some.items() if seed in others]


def _apart(pairs: Iterable[tuple[float, float]]) -> Interval:
    return interval([one - other for one, other in pairs])


def told(row: Row) -> str:
    """Say in a line what a comparison came to."""
    repeats = "" if row.repeats is None else f", {row.repeats:.0%} repeats"
    against = "" if row.more is None else f", than {row.against} {_points(row.more)}"
    return f"{row.of}, {row.part}: {100 * row.error.mean:.2f} % wrong{against}{repeats}"


def sections(
    rows: Sequence[Row], counts: Mapping[str, int], missing: Sequence[str], run: Mapping[str, Any]
) -> list[Section]:
    """Return the parts of the report.

    Args:
        rows: what was found.
        counts: rows of the digits, by part.
        missing: what was not run, and why.
        run: command, date and machine.
    """
    by_kind: dict[str, list[Row]] = {}
    for row in rows:
        by_kind.setdefault(row.of, []).append(row)
    ones, whole = by_kind.pop(ALGORITHM, []), by_kind.pop(SEARCH, [])
    return [
        Section(
            "What each part of the search adds",
            text=(
                _written(counts, run),
                *(f"- {line}" for line in (*_findings(rows), *missing)),
            ),
        ),
        *([_algorithm(ones)] if ones else []),
        *([_search(whole)] if whole else []),
        *([_cache(by_kind)] if by_kind else []),
    ]


def _written(counts: Mapping[str, int], run: Mapping[str, Any]) -> str:
    return (
        f"Written by `{run['command']}` on {run['date']} on {run['machine']['processor']}. Digits "
        f"of scikit-learn, {counts['train']} rows to learn from, {counts['validation']} to choose "
        f"by, {counts['test']} to test. One part is switched off, or on where the whole has it "
        "not; differences are of equal seeds, in points of per cent, with Student's intervals of "
        '95 %, over seeds and not over data. "No difference seen" means that the interval holds 0, '
        "not that there is none: what may be, lies within. Of so many intervals, one in twenty "
        "misses 0 by chance."
    )


def _findings(rows: Sequence[Row]) -> list[str]:
    """Return a line for each verdict and search, with the parts it is of."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.more is not None and row.against == WHOLE:
            found.setdefault((row.of, verdict(row.more)), []).append(row.part)
    return [f"{of}, {said}: {'; '.join(parts)}." for (of, said), parts in found.items()]


def _algorithm(rows: Sequence[Row]) -> Section:
    return Section(
        "The paper's Algorithm 1",
        text=(_OF_ALGORITHM,),
        tables=(
            Table(
                (
                    "part",
                    "than",
                    "what is seen",
                    "wrong, %",
                    "more, points",
                    "F, more",
                    "MACs",
                    "passes",
                    "seeds",
                ),
                [
                    (
                        row.part,
                        row.against if row.more else "",
                        verdict(row.more),
                        _percent(row.error),
                        _points(row.more),
                        _points(row.fitness, 1000),
                        f"{row.macs:,.0f}",
                        f"{row.passes:,.0f}",
                        str(row.seeds),
                    )
                    for row in rows
                ],
                words=3,
            ),
        ),
    )


def _search(rows: Sequence[Row]) -> Section:
    return Section(
        "`evener search`",
        text=(_OF_SEARCH,),
        tables=(
            Table(
                ("part", "what is seen", "wrong, %", "more than whole, points", "seeds"),
                [
                    (
                        row.part,
                        verdict(row.more),
                        _percent(row.error),
                        _points(row.more),
                        str(row.seeds),
                    )
                    for row in rows
                ],
                words=2,
            ),
        ),
    )


def _cache(by_kind: Mapping[str, Sequence[Row]]) -> Section:
    return Section(
        "The cache of networks that are known",
        text=(_OF_CACHE,),
        tables=(
            Table(
                (
                    "where",
                    "algorithm",
                    "without the cache",
                    "repeats",
                    "wrong without, %",
                    "more than with it, points",
                    "seeds",
                ),
                [
                    (
                        row.of,
                        row.part,
                        verdict(row.more),
                        f"{row.repeats:.0%}",
                        _percent(row.error),
                        _points(row.more),
                        str(row.seeds),
                    )
                    for rows in by_kind.values()
                    for row in rows
                ],
                words=3,
            ),
        ),
    )


def _percent(error: Interval) -> str:
    return f"{100 * error.mean:.2f} ({100 * error.low:.2f} to {100 * error.high:.2f})"


def _points(more: Interval | None, scale: float = 100) -> str:
    if more is None:
        return ""
    return f"{scale * more.mean:+.2f} ({scale * more.low:+.2f} to {scale * more.high:+.2f})"
