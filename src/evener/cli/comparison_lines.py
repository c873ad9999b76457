"""What the table of a comparison holds, and what is said below it."""

from collections.abc import Iterator, Sequence

from evener.artifacts.comparison import Comparison
from evener.cli.board_words import simulated_on
from evener.cli.precision import deviation_words
from evener.units import count, show


def comparison_table(comparison: Comparison) -> tuple[str, Sequence[str], list[Sequence[str]]]:
    """Return title, columns and rows; with energies where something meters them."""
    columns = ["network", "kind", "stages", ">rate", ">quartiles", ">p50", ">p99"]
    rows: list[Sequence[str]] = []
    for row in comparison.rows:
        cells = [
            row.network,
            row.kind,
            row.name,
            show(row.rate_hz, "rate"),
            f"{show(row.rate_low_hz, 'rate')} - {show(row.rate_high_hz, 'rate')}",
            show(row.latency_p50_s, "time"),
            show(row.latency_p99_s, "time"),
        ]
        metered = [show(row.energy_j, "energy")] if comparison.energy_meter is not None else []
        rows.append(cells + metered)
    rounds = count(comparison.rounds, "round")
    title = f"frames by the wall clock, median of {rounds} and their quartiles"
    return title, columns + [">energy"] * (comparison.energy_meter is not None), rows


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """Say how the plans did, what could not take part and why, and the means over networks."""
    if comparison.board is not None:
        slow = comparison.slowdown
        slowed = f", {slow:g} times slowed down and told as without that" if slow != 1 else ""
        yield simulated_on(comparison.board, slowed, computed=comparison.computed)
    for ratio in comparison.ratios:
        yield (
            f"{ratio.network}: the plan reaches {ratio.median:.3f} of the best other, {ratio.over} "
            f"({ratio.low:.3f} - {ratio.high:.3f})"
        )
    for limit in comparison.limits:
        yield (
            f"{limit.network}: of 100 frames 99 took at most {show(limit.latency_p99_s, 'time')}, "
            f"the limit of {show(limit.max_latency_s, 'time')} is "
            f"{'kept' if limit.holds else 'missed'}"
        )
        if limit.over_best is not None:
            best = limit.over_best
            yield (
                f"{limit.network}: of the others that keep it {best.over} is the quickest, and the "
                f"plan reaches {best.median:.3f} of it ({best.low:.3f} - {best.high:.3f})"
            )
    for row in comparison.rows:
        if row.deviation is not None:
            yield f"{row.network}: {row.name}: {deviation_words(row.deviation)}"
    for one in comparison.left_out:
        yield f"{one.network}: without {one.name}: {one.reason}"
    if comparison.energy_meter is not None:
        yield f"energy per frame, that of the idle machine included, by {comparison.energy_meter}"
    each = ", ".join(f"{over} {mean:.3f}" for over, mean in comparison.ratio_means.items())
    yield f"over all networks (geometric mean): {comparison.ratio_best:.3f}" + (
        f"; over {each}" if each else ""
    )
