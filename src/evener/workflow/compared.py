"""Put what took turns into rows, and the plan over each other row into ratios."""

from collections.abc import Iterable, Mapping, Sequence
from math import exp, log
from statistics import mean, median

import msgspec

from evener.artifacts.comparison import Comparison, LeftOut, Limit, Ratio, Row
from evener.artifacts.lowering import Deviation
from evener.artifacts.plan import Plan
from evener.artifacts.trace import Trace
from evener.run.compare import paired_ratio
from evener.workflow.live import summarise


def each_once(plans: Mapping[str, Plan]) -> dict[str, str]:
    """Return by the name of each plan that of the first which runs the same on the same cores.

    What runs the same is measured once, so that noise makes no difference where there is none.
    """
    first: dict[tuple[object, ...], str] = {}
    return {name: first.setdefault(_what_runs(plan), name) for name, plan in plans.items()}


def compared(
    network: str,
    plans: Mapping[str, tuple[Plan, Sequence[Trace]]],
    *,
    peers: Mapping[str, Sequence[Trace]] | None = None,
    lower: Iterable[tuple[Plan, Deviation, Sequence[Trace]]] = (),
    left_out: Mapping[str, str] | None = None,
    slowdown: float = 1.0,
) -> Comparison:
    """Compare the plan "plan" with the others.

    Args:
        network: name of the network.
        plans: each with its traces, one per round, by kind; "plan" is the first, and there is
            another, or a peer.
        peers: traces of what else took part, by name.
        lower: plans in lower precision, how far off they are, and their traces; in no ratio.
        left_out: what could not take part, with the reason.
        slowdown: how many times as long everything took; rows are as without it.
    """
    peers = peers or {}
    rows = [_row(network, plan, traces, slowdown) for plan, traces in plans.values()]
    rows += [_peer_row(network, name, traces) for name, traces in peers.items()]
    (_, ours), *_ = plans.values()
    others = {kind: traces for kind, (_, traces) in plans.items() if kind != "plan"} | dict(peers)
    ratios = [_ratio(network, name, ours, traces) for name, traces in others.items()]
    best = max(zip(others, rows[1:], strict=True), key=lambda rival: rival[1].rate_hz)[0]
    over_best = next(ratio for ratio in ratios if ratio.over == best)
    return Comparison(
        rows=(*rows, *(_lower_row(network, *one) for one in lower)),
        ratios=(over_best,),
        ratio_best=over_best.median,
        rounds=len(ours),
        ratios_each=tuple(ratios),
        ratio_means={ratio.over: ratio.median for ratio in ratios},
        left_out=tuple(
            LeftOut(network=network, name=name, reason=reason)
            for name, reason in (left_out or {}).items()
        ),
        slowdown=slowdown,
    )


def with_limit(
    found: Comparison, max_latency_s: float | None, *, copies_p99_s: float | None = None
) -> Comparison:
    """Say how the plan of a network kept its latency limit; none if there is no limit.

    Args:
        found: the comparison of one network.
        max_latency_s: the limit.
        copies_p99_s: what it is a share of, where it is.
    """
    if max_latency_s is None:
        return found
    plan = next(row for row in found.rows if row.kind == "plan")
    limit = Limit(
        network=plan.network,
        max_latency_s=max_latency_s,
        latency_p99_s=plan.latency_p99_s,
        copies_p99_s=copies_p99_s,
        over_best=_over_best_within(found, max_latency_s),
    )
    return msgspec.structs.replace(found, limits=(limit,))


def _over_best_within(found: Comparison, max_latency_s: float) -> Ratio | None:
    rate_hz = {
        row.name if row.kind == "peer" else row.kind: row.rate_hz
        for row in found.rows
        if row.latency_p99_s <= max_latency_s and row.deviation is None
    }
    able = [ratio for ratio in found.ratios_each if ratio.over in rate_hz]
    return max(able, key=lambda ratio: rate_hz[ratio.over], default=None)


def together(comparisons: Sequence[Comparison]) -> Comparison:
    """Put the comparisons of several networks into one, with the geometric means of the ratios."""
    ratios = tuple(ratio for one in comparisons for ratio in one.ratios)
    first = comparisons[0]
    everywhere = [
        over for over in first.ratio_means if all(over in one.ratio_means for one in comparisons)
    ]
    return Comparison(
        rows=tuple(row for one in comparisons for row in one.rows),
        ratios=ratios,
        ratio_best=_geometric_mean(ratio.median for ratio in ratios),
        rounds=first.rounds,
        ratios_each=tuple(ratio for one in comparisons for ratio in one.ratios_each),
        ratio_means={
            over: _geometric_mean(one.ratio_means[over] for one in comparisons)
            for over in everywhere
        },
        limits=tuple(limit for one in comparisons for limit in one.limits),
        left_out=tuple(one for found in comparisons for one in found.left_out),
        little=first.little,
        energy_meter=first.energy_meter,
        board=first.board,
        slowdown=first.slowdown,
        computed=first.computed,
    )


def _what_runs(plan: Plan) -> tuple[object, ...]:
    """Return all that makes a difference when a plan runs."""
    lanes = [
        (index, lane.processor, lane.cores, lane.parts)
        for index, stage in enumerate(plan.stages)
        for lane in stage.lanes
    ]
    return plan.credits, *lanes


def _row(network: str, plan: Plan, traces: Sequence[Trace], slowdown: float = 1.0) -> Row:
    predicted = plan.what != "all_cores" or "+" not in plan.stages[0].lanes[0].processor
    return msgspec.structs.replace(
        _peer_row(network, plan.outline, traces, slowdown),
        kind=plan.what,
        predicted_rate_hz=plan.rate_hz if predicted else None,
    )


def _lower_row(network: str, plan: Plan, found: Deviation, traces: Sequence[Trace]) -> Row:
    row = _row(network, plan, traces)
    name = f"{row.name} in {found.precision}"
    return msgspec.structs.replace(row, name=name, deviation=found)


def _peer_row(network: str, name: str, traces: Sequence[Trace], slowdown: float = 1.0) -> Row:
    found = summarise(traces, rivals=0)
    energies_j = [trace.energy_j for trace in traces if trace.energy_j is not None]
    return Row(
        network=network,
        name=name,
        kind="peer",
        rate_hz=found.rate_hz * slowdown,
        rate_low_hz=found.rate_low_hz * slowdown,
        rate_high_hz=found.rate_high_hz * slowdown,
        latency_p50_s=found.latency_p50_s / slowdown,
        latency_p99_s=found.latency_p99_s / slowdown,
        energy_j=median(energies_j) if energies_j else None,
    )


def _ratio(network: str, over: str, plan: Sequence[Trace], other: Sequence[Trace]) -> Ratio:
    paired = paired_ratio(plan, other)
    return Ratio(network=network, over=over, median=paired.median, low=paired.low, high=paired.high)


def _geometric_mean(ratios: Iterable[float]) -> float:
    return exp(mean(map(log, ratios)))
