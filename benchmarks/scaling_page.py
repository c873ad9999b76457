"""Write what was found of the Blue Gene paper's tables, as sections of a page."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from xml.etree.ElementTree import Element

from scaling_paper import COMMUNICATION, LINKS, MODELS, TIMES_S, WEIGHTS, Point, workers
from sections import Section, Table

from evener.artifacts.calibration import Calibration
from evener.artifacts.topology import Topology
from evener.report.curves import Curve, Mark, curves
from evener.train.carriage import Carriage
from evener.train.sharding import count_weights
from evener.units import show

TITLE: Final = "The Blue Gene paper, done again"
SOURCE: Final = (
    "Tables I to IV of M. Surajiwale, R. Chowdhury, K. Fawcett and A. Giris: A Massively Parallel "
    "Artificial Deep Neural Network Framework for IBM Blue Gene/Q, 2017, beside ours. One of the "
    "paper's ranks only gathers: its 33 ranks are 32 workers here. What an iteration is, the paper "
    "does not say; one row of data is assumed, and ours is one row, forward, back and the update."
)
LEGEND: Final = (
    "Times marked m were measured here, by the wall clock, median of at least two seconds, one "
    "thread a rank. Times marked p are projected: nothing of the kind ran, and the cost model says "
    "them from the calibration below and from a link that is named; the links of 200 Gb/s and "
    "10 Gb/s are assumed. A projection has each rank on a core of its own like the measured one."
)
OTHER_NETWORKS: Final = (
    "With boundaries only, the network changes with the number of workers, since weights between "
    "workers do not exist; so the columns of the paper are times of different networks, and no "
    "strong scaling of one. The weights that are trained stand beside every time. On one rank the "
    "same network runs with all shards in one process, and comes to the same weights."
)
SHARE: Final = (
    "Longest and mean time of the ranks in communication, and the longest as a share of the "
    "iteration, as the paper has it. The paper's are measured, and hold waiting for slower ranks; "
    "in ours all ranks have equal work, and what is left is messages. What ran here on two ranks "
    "stands in Table III. The paper thinks of a dense network by broadcasts; values can also "
    "be gathered at once, or sums of products be scattered to the ranks of their neurons."
)
WAYS: Final[dict[Carriage, str]] = {
    "cheapest": "values or sums, whichever are fewer",
    "gather": "values gathered",
    "sums": "sums scattered",
    "broadcast": "values broadcast in turn",
}
CHECK: Final = (
    "The cost model against what was measured, to say how far projections are to be trusted. Two "
    "ranks share this machine's memory, and what else runs on it."
)


def sections(
    points: Sequence[Point],
    calibration: Calibration | None,
    missing: Sequence[str],
    about: Mapping[str, object],
) -> list[Section]:
    """Say everything that was found, beside the paper.

    Args:
        points: what was measured and projected.
        calibration: what projections are made from.
        missing: what there is nothing of, and why.
        about: command, date, commit and machine.
    """
    models = list(dict.fromkeys(one.model for one in points))
    links = list(dict.fromkeys(one.link for one in points if one.basis == "projected"))
    made = [
        Section(
            TITLE,
            [SOURCE, "; ".join(f"{name}: {_inline(one)}" for name, one in about.items()), LEGEND],
        ),
        _table_1(),
        *(_times(model, [one for one in points if one.model == model]) for model in models),
    ]
    if "L" in models and links:
        made.append(_table_4([one for one in points if one.model == "L"], links))
    made.append(_check([one for one in points if one.basis == "measured"]))
    if calibration is not None:
        made.append(_calibration(calibration))
    if missing:
        made.append(Section("What is missing", [f"- {one}" for one in missing]))
    return made


def _table_1() -> Section:
    head = ["model", "layers", "weights", "paper", "with boundaries only, on so many workers"]
    rows = []
    for model, widths in MODELS.items():
        fewest, most = min(TIMES_S[model]), max(TIMES_S[model])
        left = "; ".join(
            f"{count:,}: {_boundary(model, count):,} "
            f"({_boundary(model, count) / WEIGHTS[model]:.1%})"
            for count in (fewest, most)
        )
        dense = count_weights(Topology(), widths)
        layers = "-".join(map(str, widths))
        rows.append([model, layers, f"{dense:,}", f"{WEIGHTS[model]:,}", left])
    return Section("Table I: the networks", [OTHER_NETWORKS], [Table(head, rows, words=2)])


def _boundary(model: str, shards: int) -> int:
    return count_weights(Topology(shards=shards, halo=1), MODELS[model])


def _times(model: str, points: Sequence[Point]) -> Section:
    name = "Table II" if model == "S" else "Table III"
    fastest = LINKS[0].name
    head = ["workers or shards", "weights trained", "paper", "one rank, all shards"]
    head += [f"as many ranks, {fastest}", "halo 16: weights", "as many ranks"]
    head += ["dense: weights", "as many ranks"]
    rows = [
        [
            f"{count:,}",
            f"{_boundary(model, count):,}",
            show(TIMES_S[model].get(count), "time"),
            _time(_find(points, count, 1 if count > 1 else "full", ranks=1)),
            _time(_find(points, count, 1, ranks=count, link=fastest)),
            *_weights_and_time(_find(points, count, 16, ranks=count, link=fastest)),
            *_weights_and_time(_find(points, count, "full", ranks=count, link=fastest)),
        ]
        for count in workers(model)
    ]
    tables = [Table(head, rows), _measured_here(points)]
    chart = _chart(model, points, fastest)
    return Section(f"{name}: an iteration of {model}", _words(model, points), tables, [chart])


def _measured_here(points: Sequence[Point]) -> Table:
    """Say what ran here on one rank and on two, and how long the ranks were in communication."""
    head = ["measured here", "ranks", "weights trained", "time", "quartiles"]
    head += ["bytes sent", "communication: longest", "mean", "share"]
    rows = [
        [
            _network(one),
            str(one.ranks),
            f"{one.weights:,}",
            _time(one),
            f"{show(one.low_s, 'time')} to {show(one.high_s, 'time')}",
            *_communication(one if one.ranks > 1 else None),
        ]
        for one in points
        if one.basis == "measured" and (one.halo == "full" or one.shards == 32)
    ]
    return Table(head, rows)


def _network(one: Point) -> str:
    if one.halo != "full":
        return f"halo {one.halo}, {one.shards} shards"
    return "dense" if one.ranks == 1 else f"dense, {WAYS[one.carriage]}"


def _communication(one: Point | None) -> list[str]:
    """Write what ranks send in an iteration, and how long they are in communication."""
    if one is None:
        return ["-"] * 4
    return [
        show(one.bytes_per_iteration, "size"),
        f"{show(one.communication_max_s, 'time')} {one.basis[0]}",
        show(one.communication_mean_s, "time"),
        f"{100 * one.share:.1f} %",
    ]


def _words(model: str, points: Sequence[Point]) -> list[str]:
    """Say what the table comes to, in a sentence."""
    dense = next(
        (
            one
            for one in points
            if one.basis == "measured" and one.halo == "full" and one.ranks == 1
        ),
        None,
    )
    if dense is None:
        return []
    best = min(TIMES_S[model].values())
    said = (
        f"One core trains all {dense.weights:,} weights of {model} in "
        f"{show(dense.iteration_s, 'time')} an iteration (measured); the paper's best is "
        f"{show(best, 'time')} with {max(TIMES_S[model]):,} workers, "
        f"{best / dense.iteration_s:,.1f} times as long, for "
        f"{_boundary(model, max(TIMES_S[model])):,} weights."
    )
    return [said]


def _chart(model: str, points: Sequence[Point], link: str) -> Element:
    paper = [Mark(count, seconds) for count, seconds in TIMES_S[model].items()]
    drawn = [Curve("paper", paper)]
    for name, halo, alone in (
        ("one rank", 1, True),
        ("halo 1", 1, False),
        ("dense", "full", False),
    ):
        marks = [
            Mark(one.shards, one.iteration_s, measured=one.basis == "measured")
            for count in workers(model)
            for one in [_find(points, count, halo, ranks=1 if alone else count, link=link)]
            if one is not None
        ]
        if len(marks) > 1:
            drawn.append(Curve(name, marks))
    return curves(
        f"times{model}",
        drawn,
        title=f"An iteration of {model}: filled points are measured, open ones projected ({link})",
        x_axis="workers or shards",
        y_axis="seconds an iteration",
    )


def _table_4(points: Sequence[Point], links: Sequence[str]) -> Section:
    paper_head = ["workers", "paper: weights", "longest", "mean", "share"]
    paper = [
        [
            f"{count:,}",
            f"{_boundary('L', count):,}",
            show(longest_s, "time"),
            show(mean_s, "time"),
            f"{share:.1f} %",
        ]
        for count, (longest_s, mean_s, share) in COMMUNICATION.items()
    ]
    tables = [Table(paper_head, paper)]
    kinds: list[tuple[str, int | str, Carriage]] = [("boundaries only", 1, "cheapest")]
    kinds += [(f"dense, {words}", "full", carriage) for carriage, words in WAYS.items()]
    for link in links:
        for kind, halo, carriage in kinds:
            head = [f"{link}, {kind}: workers", "weights", "an iteration", "bytes sent"]
            head += ["communication: longest", "mean", "share"]
            rows = [
                [f"{count:,}", f"{one.weights:,}", _time(one), *_communication(one)]
                for count in workers("L")
                for one in [_find(points, count, halo, ranks=count, link=link, carriage=carriage)]
                if one is not None
            ]
            if rows:
                tables.append(Table(head, rows))
    return Section("Table IV: communication of L", [SHARE], tables)


def _check(points: Sequence[Point]) -> Section:
    rows = [
        [
            one.model,
            _network(one),
            str(one.ranks),
            show(one.iteration_s, "time"),
            show(one.predicted_s, "time"),
            f"{one.predicted_s / one.iteration_s:.2f}",
        ]
        for one in points
        if one.predicted_s is not None
    ]
    head = ["model", "network", "ranks", "measured", "cost model", "ratio"]
    return Section("How near the cost model is", [CHECK], [Table(head, rows, words=2)])


def _calibration(of: Calibration) -> Section:
    memory = Table(
        ["arrays of", "read", "scaled in place"],
        [
            [
                show(read.at, "size"),
                f"{show(read.per_s, 'size')}/s",
                f"{show(update.per_s, 'size')}/s",
            ]
            for read, update in zip(of.reads, of.updates, strict=True)
        ],
    )
    products = Table(
        ["rows of a batch", "products"],
        [[f"{rate.at:g}", f"{show(rate.per_s, 'count')}FLOP/s"] for rate in of.products],
    )
    text = (
        f"One core of {of.processor}; a layer costs {show(of.dense_layer_s, 'time')} beside its "
        f"weights, {show(of.sharded_layer_s, 'time')} where shards see a part, and "
        f"{show(of.shard_s, 'time')} each of them."
    )
    if of.link is not None:
        text += (
            f" {of.link.name}: {show(of.link.latency_s, 'time')} a message, "
            f"{show(of.link.gap_s, 'time')} each further one, "
            f"{show(of.link.bandwidth_bytes_per_s, 'size')}/s."
        )
    return Section("Calibration", [text], [memory, products])


def _find(
    points: Iterable[Point],
    shards: int,
    halo: int | str,
    *,
    ranks: int,
    link: str = "",
    carriage: Carriage = "cheapest",
) -> Point | None:
    """Return a point; what ran on one rank needs no link."""
    return next(
        (
            one
            for one in points
            if (one.shards, one.halo, one.ranks) == (shards, halo, ranks)
            and one.carriage == carriage
            and (ranks == 1 or one.link == link)
        ),
        None,
    )


def _weights_and_time(one: Point | None) -> list[str]:
    return ["-", "-"] if one is None else [f"{one.weights:,}", _time(one)]


def _time(one: Point | None) -> str:
    return "-" if one is None else f"{show(one.iteration_s, 'time')} {one.basis[0]}"


def _inline(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return str(value)
