"""What searches of real data came to, as records and as tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from real_data_sets import RealSet
from sections import Section, Table

from evener.units import show

EVOLVED: Final = "evolved network"
RECOMMENDED: Final = "recommended"
_NAMES: Final = {"evolved": EVOLVED, "recommended": RECOMMENDED}


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """What a model comes to.

    Attributes:
        what: it stands for.
        model: what it is.
        validation: quality on the validation rows, by metric; empty where it learned from them.
        test: quality on the test rows, by metric.
        took_s: seconds that a training took; 0 where it was not timed.
        before_s: seconds of the training, without the validation rows, that it was chosen by; 0
            where that is the same one.
        trainings: whose mean it is.
    """

    what: str
    model: str
    validation: dict[str, float]
    test: dict[str, float]
    took_s: float = 0.0
    before_s: float = 0.0
    trainings: int = 1


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What a data set came to.

    Attributes:
        name: of the set.
        metric: that the search made large, and by which a model is recommended.
        rows: of the parts, by name; of the first fold.
        features: columns that a network reads.
        figures: of each model.
        budget_s: of the search.
        search_s: that it took.
        evaluations: networks that it trained shortly; random search had as many.
        generations: that it came to.
        load: of the machine when it began and ended, processes that wanted a core.
        commit: by whose code.
        folds: whose mean it is.
        apart_s: seconds that each other thing took, which are not of the budget, by its name.
    """

    name: str
    metric: str
    rows: dict[str, int]
    features: int
    figures: tuple[Figure, ...]
    budget_s: float
    search_s: float
    evaluations: int
    generations: int
    load: tuple[float, float]
    commit: str
    folds: int = 1
    apart_s: dict[str, float] = {}


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a bar was reached.

    Attributes:
        what: the bar, for people.
        value: that it came to.
        holds: whether it was reached.
    """

    what: str
    value: float
    holds: bool


def verdicts(found: Measured, wanted: Sequence[RealSet]) -> Iterator[Verdict]:
    """Yield what became of each bar of a set."""
    one = next(each for each in wanted if each.name == found.name)
    of = {figure.what: figure for figure in found.figures}
    for bar in one.bars:
        value = of[_NAMES[bar.model]].test[bar.metric]
        sign = "<=" if bar.metric == "mae" else ">="
        what = f"{one.title}: {_NAMES[bar.model]}, {bar.metric} {sign} {bar.limit:g}"
        yield Verdict(what=what, value=value, holds=bar.holds(value))


def told(found: Measured) -> str:
    """Say in lines what a set came to."""
    head = (
        f"{found.name}: {found.evaluations} evaluations, {found.generations} generations in "
        f"{show(found.search_s, 'time')}, load {found.load[0]:.1f} to {found.load[1]:.1f}"
    )
    return "\n".join([head, *map(told_figure, found.figures)])


def told_figure(one: Figure) -> str:
    """Say in a line what a model came to."""
    tested = ", ".join(f"{name} {value:.4f}" for name, value in one.test.items())
    return f"  {one.what}: {tested} ({one.model})"


def sections(
    found: Sequence[Measured],
    wanted: Sequence[RealSet],
    missing: Sequence[str],
    run: Mapping[str, Any],
) -> list[Section]:
    """Return the parts of the report."""
    titles = {one.name: one for one in wanted}
    held = [verdict for one in found for verdict in verdicts(one, wanted)]
    written = (
        f"Written by `{run['command']}` on {run['date']} on {run['machine']['processor']}. "
        "Every figure is of test rows, which nothing was chosen by, unless it says otherwise; "
        "networks and the recommended model learned from the validation rows too, once they were "
        "chosen, but for the figures on these. Load is how many processes "
        "wanted a core of the machine when a set began and ended."
    )
    first = Section(
        "Searches of real data",
        text=(written, *(f"- {line}" for line in missing)),
        tables=(
            Table(
                ("bar", "reached", ""),
                [(one.what, f"{one.value:.4f}", "yes" if one.holds else "missed") for one in held],
            ),
        )
        if held
        else (),
    )
    return [first, *(_section(one, titles[one.name]) for one in found)]


def _section(found: Measured, one: RealSet) -> Section:
    rows = ", ".join(f"{count:,} {part}" for part, count in found.rows.items())
    text = (
        f"{rows} rows, {found.features:,} features. "
        f"Searched for {show(found.search_s, 'time')} of {show(found.budget_s, 'time')}: "
        f"{found.evaluations} networks in {found.generations} generations"
        + (f" of {found.folds} folds" if found.folds > 1 else "")
        + f", as many by random search; load {found.load[0]:.1f} to {found.load[1]:.1f}; "
        f"commit {found.commit}." + _apart(found) + (f" Note: {one.note}." if one.note else "")
    )
    table = Table(
        ("", "model", *one.metrics, f"{found.metric}, validation", "seconds", "trainings"),
        [_row(figure, found.metric, one.metrics) for figure in found.figures],
        words=2,
    )
    return Section(one.title, text=(text,), tables=(table,))


def _apart(found: Measured) -> str:
    """Say what took time outside the budget."""
    if not found.apart_s:
        return ""
    took = ", ".join(f"{what} {show(took_s, 'time')}" for what, took_s in found.apart_s.items())
    return f" Apart from the budget: {took}."


def _row(figure: Figure, metric: str, metrics: Sequence[str]) -> tuple[str, ...]:
    return (
        figure.what,
        figure.model,
        *(f"{figure.test[name]:.4f}" if name in figure.test else "" for name in metrics),
        f"{figure.validation[metric]:.4f}" if metric in figure.validation else "",
        f"{figure.took_s:.1f}" if figure.took_s else "",
        str(figure.trainings),
    )
