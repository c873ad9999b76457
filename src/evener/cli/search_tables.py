"""How a search looks to a person: the front, and what it is held against."""

from statistics import fmean, stdev
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType

from evener.artifacts.data_edge import Connectivity, DataEdge
from evener.artifacts.front import COSTS, Front, Scored
from evener.artifacts.search_state import SearchState
from evener.cli.layout import lay_out, table
from evener.units import count, show

if TYPE_CHECKING:
    from evener.workflow import SearchResult


def front_table(front: Front) -> Group:
    """Lay out the networks that no other beats."""
    by_id = {one.score.id: one for one in front.scored}
    rows = [_row(front, by_id[id_]) for id_ in front.front]
    seeds = sorted({len(one.test) for one in front.retrained})
    title = f"the front of {count(len(front.scored), 'network')}, cheapest first"
    if seeds:
        fewer = f"{seeds[0]} to " if len(seeds) > 1 else ""
        title += f"; trained in full: mean and deviation of {fewer}{count(seeds[-1], 'seed')}"
    return table(
        title,
        (
            "network",
            ">MACs",
            ">weights",
            *(f">{cost}" for cost in front.planned),
            f">{front.metric}, shortly",
            ">in full",
            ">test",
            "",
        ),
        rows,
    )


def _row(front: Front, one: Scored) -> tuple[str, ...]:
    full = front.retrained_of(one.score.id)
    return (
        str(one.architecture),
        f"{one.score.macs:,}",
        f"{one.score.weights:,}",
        *planned_costs(front, one),
        "-" if one.score.quality is None else f"{one.score.quality:.4f}",
        "-" if full is None else _spread(full.validation),
        "-" if full is None else _spread(full.test),
        "chosen" if one.score.id == front.chosen else "",
    )


def planned_costs(front: Front, one: Scored) -> list[str]:
    """Write what a network's plan costs, for each cost of plans that the search made small."""
    return [show(front.cost_of(one, cost), COSTS[cost][1]) for cost in front.planned]


def _spread(found: tuple[float, ...]) -> str:
    return f"{fmean(found):.4f}" + (f" ± {stdev(found):.4f}" if len(found) > 1 else "")


def held_against(result: "SearchResult") -> list[RenderableType]:
    """Say what the search was worth."""
    rows = [("the chosen network", _figure(result.test))]
    rows += [(name, _figure(value)) for name, value in result.baselines.items()]
    last = result.found.generations[-1] if result.found.generations else None
    lines: list[RenderableType] = [
        table("held against", ("what", f">{result.metric} (test)"), rows),
        _effort(result),
        *_edge(result.found),
        _recommended(result),
    ]
    lines += _set_apart(result.found)
    if last is not None and last.best is not None and last.random_best is not None:
        lines.append(
            f"validation after the short training: {last.best:.4f}, by random search with as many "
            f"evaluations {last.random_best:.4f}"
        )
    return lines


def _set_apart(front: Front) -> list[str]:
    """Say which trainings in full came to nothing, those together that did for the same reason."""
    seeds: dict[tuple[str, str], list[int]] = {}
    for one in front.set_apart:
        seeds.setdefault((f"{one.id[:6]} ({one.of})", one.message), []).append(one.seed)
    names: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for (name, message), of in seeds.items():
        names.setdefault((message, tuple(of)), []).append(name)
    return [
        f"set apart: {', '.join(who)}, trained in full from seed{'s' * (len(of) > 1)} "
        f"{', '.join(map(str, of))}: {message}"
        for (message, of), who in names.items()
    ]


def _edge(front: Front) -> list[str]:
    """Say where λ is critical on the data, and in networks that start as these did."""
    return [] if front.edge is None else _edge_said(front.edge)


@lay_out.register
def _(edge: DataEdge) -> RenderableType:
    return Group(*_edge_said(edge))


def _edge_said(edge: DataEdge) -> list[str]:
    known = ", ".join(f"{name} {value:g}" for name, value in sorted(edge.paper.items()))
    said = f"λ_c of hyperparameters on the training rows: {edge.critical} ({known})"
    return [said, *map(_links, edge.connectivity)]


def _links(found: Connectivity) -> str:
    where = f"none up to 1, by theory {found.critical_theory:.3f}"
    if found.critical is not None:
        where = f"{found.critical}, by theory {found.critical_theory:.3f}"
    return (
        f"λ_c of links, {found.activation}: {where}; at {found.density:g} χ₁ is {found.chi}, by "
        f"theory {found.chi_theory:.3g}"
    )


def _effort(result: "SearchResult") -> str:
    """Say what it took, and what of that went into what it is held against."""
    words = [
        f"{count(result.evaluations, 'evaluation')} in {show(result.elapsed_s, 'time')}",
        f"of which training in full took {show(result.full_s, 'time')}",
    ]
    if result.found.random:
        words.append(f"{len(result.found.random)} by random search are in it")
    words.append(f"the simple models took {show(result.simple_s, 'time')} beside it")
    if result.found.edge is not None:
        words.append(f"measuring λ_c took {show(result.probe_s, 'time')} beside it")
    if result.kept:
        words.append("searched before")
    return ", ".join(words)


def _recommended(result: "SearchResult") -> str:
    from evener.workflow.recommend import NETWORK

    best = result.recommended
    what = "the chosen network" if best.family == NETWORK else f"the model '{best.family}'"
    return (
        f"recommended: {what}, the best on the validation split ({result.metric} "
        f"{best.validation:.4f}; test {_figure(best.test)})"
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


@lay_out.register
def _(state: SearchState) -> RenderableType:
    return (
        f"a search after {count(len(state.generations), 'generation')}: "
        f"{count(len(state.scored), 'network')} evaluated, {len(state.random)} by random search "
        "beside it"
    )
