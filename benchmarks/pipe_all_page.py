"""Write what was found of the Pipe-All paper's tables and figures, as Markdown and as a page."""

from collections.abc import Mapping, Sequence
from typing import Final

from pipe_all_paper import (
    AVERAGES,
    BELOW_HZ,
    BEST,
    PIPE_ALL,
    TABLE_1,
    Basis,
    Found,
    Way,
    averages,
)
from pipe_all_ways import Search
from sections import Section, Table

from evener.report.groups import Bar, Group, groups
from evener.units import Dimension, show

TITLE: Final = "Pipe-All, done again"
WHAT: Final[Mapping[Basis, str]] = {
    "predicted": "Predicted: sums of the board's times, nothing ran",
    "simulated": "Run by the real pipeline over simulated processors: each stage computes its "
    "answers here and then waits until the board's time is over",
    "computed": "Run on this machine: real computing; where it has two cores, Pipe-All has two "
    "stages",
}
LEGEND: Final = (
    "Peak is the whole network on the best one processor; Parallel is a copy on each; Pipe-All is "
    "the best pipeline of three stages on three processors; Evener is the best plan of any stages "
    "and copies. Latency is as the paper computes it (the slowest copy; the sum of a pipeline's "
    "stages), and where something ran also from admission to emission in order, by the wall clock."
)

SOURCE: Final = (
    "The tables and figures of E. Aghapour, G. Ananthanarayanan and A. Pathania: Integrated ARM "
    "big.Little-Mali Pipeline for High-Throughput CNN Inference, TechRxiv 2021, doi "
    "10.36227/techrxiv.14994885.v1, beside ours."
)
MEANS: Final = (
    "Means over the networks of how much more something is than with the other way. Networks whose "
    "times are all a cost model's estimates are left out."
)
WHY_MORE: Final = (
    "More is predicted over Peak than the paper measured, for Parallel as for Pipe-All. The boards "
    "were timed with a later program of the same authors, and each part alone, so that nothing "
    "contends for memory or grows warm. And the processors differ less there: in the paper the "
    "slowest copy took 5.2 times as long as Peak."
)
SEARCH: Final = (
    "The paper ran every configuration on the board. Here times of parts are measured once, and "
    "plans are computed from them; that both searches end in plans of equal rate is checked. Of "
    "AlexNet's layers the paper seems to count the three pools too."
)


def sections(
    searches: Sequence[Search],
    found: Sequence[Found],
    missing: Sequence[str],
    about: Mapping[str, object],
) -> list[Section]:
    """Say everything that was found, beside the paper.

    Args:
        searches: rows of Table 1.
        found: of every network in every place.
        missing: what there is nothing of, and why.
        about: command, date, commit and machine.
    """
    places = list(dict.fromkeys((one.basis, one.place) for one in found))
    by_place = {
        place: [one for one in found if (one.basis, one.place) == place] for place in places
    }
    made = [
        Section(
            TITLE,
            [
                SOURCE,
                "; ".join(f"{name}: {_inline(value)}" for name, value in about.items()),
                LEGEND,
            ],
        ),
        _averages(by_place),
        _table_1(searches),
    ]
    made += [
        _place(number, basis, place, of)
        for number, ((basis, place), of) in enumerate(by_place.items())
    ]
    if missing:
        made.append(Section("What is missing", [f"- {one}" for one in missing]))
    return made


def _averages(by_place: Mapping[tuple[Basis, str], Sequence[Found]]) -> Section:
    columns = {place: averages(of) for place, of in by_place.items()}
    names = dict.fromkeys([*AVERAGES, *(name for one in columns.values() for name in one)])
    rows = [
        [name, _percent(AVERAGES.get(name)), *(_percent(one.get(name)) for one in columns.values())]
        for name in names
    ]
    counted = [["networks", "5", *(str(sum(one.counts for one in of)) for of in by_place.values())]]
    head = ["average over the networks", "paper, measured on Khadas VIM3"]
    head += [f"{basis}, {place}" for basis, place in by_place]
    return Section("The four averages", [MEANS, WHY_MORE], [Table(head, counted + rows)])


def _table_1(searches: Sequence[Search]) -> Section:
    head = ["network", "layers", "paper", "cut points", "paper", "configurations", "paper"]
    head += [
        "dynamic programming",
        "trying every plan",
        "paper",
        "plans of any kind",
        "searched in",
    ]
    rows = []
    for one in searches:
        paper = TABLE_1[one.network]
        rows.append(
            [
                one.network,
                *(str(number) for number in (one.layers, paper.layers, one.points, paper.points)),
                *(str(number) for number in (one.configurations, paper.configurations)),
                *(show(time_s, "time") for time_s in (one.dp_s, one.exhaustive_s)),
                f"{paper.hours:g} h",
                str(one.full),
                show(one.full_s, "time"),
            ]
        )
    return Section("Table 1: design space and search time", [SEARCH], [Table(head, rows)])


def _place(number: int, basis: Basis, place: str, found: Sequence[Found]) -> Section:
    text = [f"{WHAT[basis]}.", *_notes(found)]
    names = list(dict.fromkeys(way.name for one in found for way in one.processors))
    alone = [
        [
            _name(one),
            *(
                _value({way.name: way for way in one.processors}.get(name), "rate")
                for name in names
            ),
        ]
        for one in found
    ]
    highest = max(way.rate_hz for one in found for way in one.processors)
    text.append(
        f"Alone the quickest processor reaches {show(highest, 'rate')}; in the paper none reaches "
        f"{BELOW_HZ:g} /s with any network."
    )
    ran = basis != "predicted"
    head = ["network", "way", "plan", "rate", "latency"] + ["p50", "p99"] * ran
    ways = [
        [
            _name(one),
            way.name,
            way.outline,
            show(way.rate_hz, "rate"),
            show(way.latency_s, "time"),
            *((show(way.latency_p50_s, "time"), show(way.latency_p99_s, "time")) if ran else ()),
        ]
        for one in found
        for way in one.ways
    ]
    letter = chr(ord("a") + number)
    charts = [
        groups(
            f"alone{letter}",
            [
                Group(_name(one), [Bar(way.name, way.rate_hz) for way in one.processors])
                for one in found
            ],
            dimension="rate",
            title=f"Figure 2, {basis}, {place}: rate of each processor alone",
        ),
        *(
            groups(
                f"{what}{letter}",
                [Group(_name(one), [_bar(way, what) for way in one.ways]) for one in found],
                dimension=dimension,
                title=f"{figure}, {basis}, {place}: {what}",
            )
            for figure, what, dimension in _FIGURE_7
        ),
    ]
    tables = [Table(["Figure 2: alone", *names], alone), Table(head, ways, words=3)]
    return Section(f"Figures 2, 7a and 7b: {basis}, {place}", text, tables, charts)


_FIGURE_7: Final[tuple[tuple[str, str, Dimension], ...]] = (
    ("Figure 7a", "rate", "rate"),
    ("Figure 7b", "latency", "time"),
)


def _notes(found: Sequence[Found]) -> list[str]:
    """Say what a reader must know of some networks' figures."""
    notes = []
    for one in found:
        if one.estimate is not None:
            out = "" if one.counts else "; not in the averages: the board has no table of it"
            notes.append(f"{one.network}: {one.estimate}{out}.")
    slowest = max(one.slowdown for one in found)
    if slowest > 1:
        notes.append(
            f"So that this machine could compute as quickly as all the board's processors "
            f"together, these took up to {slowest:g} times as long; figures are given as without."
        )
    if any(one.basis == "simulated" for one in found):
        notes.append(
            "A run ends when the slowest copy is done with its last frame, the others idle: rates "
            "of Parallel, and of plans with copies, are a few per cent low."
        )
    errors = [one.max_error for one in found if one.max_error is not None]
    if errors:
        notes.append(
            f"Every answer was held against the unsplit network's: the largest difference is "
            f"{max(errors):.2g} of the largest output."
        )
    loads = [one.load for one in found if one.load is not None]
    if loads:
        notes.append(f"Processes that wanted to run meanwhile, at most: {max(loads):.1f}.")
    return notes


def _name(found: Found) -> str:
    return found.network if found.counts else f"{found.network} (estimated)"


def _bar(way: Way, what: str) -> Bar:
    chosen = way.name in (PIPE_ALL, BEST)
    return Bar(way.name, way.rate_hz if what == "rate" else way.latency_s, chosen=chosen)


def _value(way: Way | None, dimension: Dimension) -> str:
    return show(None if way is None else way.rate_hz, dimension)


def _percent(more: float | None) -> str:
    return "-" if more is None else f"{more:+.2%}".replace("%", " %")


def _inline(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return str(value)
