"""Write a sweep as one HTML page: which network to take, a chart, and the table of all."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import Element

from evener.artifacts.files import write_whole
from evener.artifacts.swept import Interval, Sweep, Swept
from evener.report.curves import Curve, Mark, curves
from evener.report.document import document, table
from evener.report.markup import page, tag
from evener.units import count, show

LEGEND: Final = (
    "A shard sees so many neurons of either neighbour as the halo says; full is a dense network. "
    "Figures are means over the seeds, with the interval that holds the true mean with 95 % "
    "confidence, if the results of seeds are normally distributed. Bytes are what all shards "
    "receive for a row, forward and back, if each is a rank of its own: they follow from the "
    "network. Times were measured on the ranks that trained it."
)


def write_sweep(path: Path, sweep: Sweep) -> None:
    """Write the page; equal sweeps give equal bytes.

    Args:
        path: the HTML file.
        sweep: what it shows.

    Raises:
        InvalidFileError: the file cannot be written; nothing is left behind.
    """
    write_whole(path, page(_document(sweep)).encode(errors="backslashreplace"))


def _document(sweep: Sweep) -> Element:
    title = f"Sweep of {' and '.join(sweep.settings)}"
    about = (
        f"{sweep.data}: {sweep.train_rows:,} rows to learn from, {sweep.test_rows:,} to judge by; "
        f"{sweep.iterations:,} iterations of {sweep.batch} rows, "
        f"{count(sweep.points[0].seeds, 'seed')}, on {count(sweep.ranks, 'rank')}."
    )
    body = [
        tag("h1", title),
        tag("p", about, class_="lead"),
        tag("p", f"Recommended: {sweep.reason}.", class_="verdict good"),
        tag("figure", _merit(sweep), tag("figcaption", "Filled points were measured here.")),
        tag("figure", _losses(sweep), tag("figcaption", _over_fitting(sweep.points))),
        tag("h2", "All networks"),
        tag("p", LEGEND, class_="note"),
        _table(sweep),
    ]
    return document(title, *body)


def _merit(sweep: Sweep) -> Element:
    """Draw how good networks are by what they exchange."""
    accuracy = sweep.points[0].test_accuracy is not None
    drawn = [
        Curve(
            name,
            [
                Mark(max(one.bytes_per_row, 1), of.mean, of.half_width or 0.0)
                for one in sorted(points, key=lambda one: one.bytes_per_row)
                for of in [one.test_accuracy or one.test_loss]
            ],
        )
        for name, points in _families(sweep.points)
    ]
    return curves(
        "merit",
        drawn,
        title=f"Test {'accuracy' if accuracy else 'loss'} by bytes between shards",
        x_axis="bytes for a row (1: none)",
        y_axis="accuracy on test rows" if accuracy else "loss on test rows",
        y_scale="linear",
    )


def _losses(sweep: Sweep) -> Element:
    """Draw the losses on rows that were learned from and on others, by weights."""
    points = sorted(
        (one for one in sweep.points if not one.equal_weights), key=lambda one: one.weights
    )
    drawn = [
        Curve(name, [Mark(one.weights, of.mean, of.half_width or 0.0) for one, of in losses])
        for name, losses in (
            ("test", [(one, one.test_loss) for one in points]),
            ("train", [(one, one.train_loss) for one in points]),
        )
    ]
    return curves(
        "losses",
        drawn,
        title="Loss on rows that were learned from, and on others",
        x_axis="weights",
        y_axis="loss",
        y_scale="linear",
    )


def _families(points: Sequence[Swept]) -> list[tuple[str, list[Swept]]]:
    """Part the networks as they are from those of equal weights."""
    plain = [one for one in points if not one.equal_weights]
    equal = [one for one in points if one.equal_weights]
    return [("as it is", plain), *([("equal weights", equal)] if equal else [])]


def _over_fitting(points: Sequence[Swept]) -> str:
    """Say of which network test and training loss are farthest apart."""
    widest = max(points, key=lambda one: one.test_loss.mean - one.train_loss.mean)
    return (
        f"Farthest apart are those of {widest.topology}, with {widest.weights:,} weights: "
        f"{widest.train_loss.mean:.4f} on rows that it learned from, {widest.test_loss.mean:.4f} "
        "on others."
    )


def _table(sweep: Sweep) -> Element:
    head = ["network", "weights", "bytes for a row", "test accuracy", "train accuracy"]
    head += ["test loss", "train loss", "an iteration", "an epoch", "in messages"]
    rows = [
        (
            f"{'-'.join(map(str, one.widths))}, {one.topology}"
            + (" (recommended)" if place == sweep.recommended else "")
            + (" (best)" if place == sweep.best else ""),
            f"{one.weights:,}",
            f"{one.bytes_per_row:,}",
            _share(one.test_accuracy),
            _share(one.train_accuracy),
            str(one.test_loss),
            str(one.train_loss),
            show(one.iteration_s, "time"),
            show(one.epoch_s, "time"),
            f"{one.communication_share:.1%}",
        )
        for place, one in enumerate(sweep.points)
    ]
    return table(head, rows, numbers=range(1, len(head)))


def _share(of: Interval | None) -> str:
    if of is None:
        return "-"
    half = "" if of.half_width is None else f" ± {100 * of.half_width:.2f}"
    return f"{100 * of.mean:.2f}{half} %"
