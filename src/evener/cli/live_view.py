"""A run while it runs: on a terminal a bar, and below it what each stage does."""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Final

from evener.cli import output
from evener.units import show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from evener.run.glance import Glance, Observable

_LOOKS_HZ: Final = 4.0  # drawing takes some milliseconds of the interpreter each time
_LOOKS: Final = 5  # figures are over the last second

Watch = Callable[["Observable"], AbstractContextManager[None]]


@contextmanager
def progress(*, stages: bool) -> Iterator[tuple[output.Report, Watch | None]]:
    """Show how far a run is, and on a terminal what its stages do.

    Args:
        stages: whether to show the stages, where there is a terminal.

    Yields:
        A function to report to, as `output.progress` does; and one that watches a pipeline while it
        runs, or None where nobody would see it.
    """
    if not stages or not sys.stderr.isatty():
        with output.progress() as report:
            yield report, None
        return
    below = _Stages()
    with output.progress(below=below.rows, per_second=_LOOKS_HZ) as report:
        yield report, below.watch


class _Stages:
    """Looks at a pipeline each time that it is drawn."""

    def __init__(self) -> None:
        self._watched: Observable | None = None
        self._seen: deque[Glance] = deque(maxlen=_LOOKS)

    @contextmanager
    def watch(self, pipeline: "Observable") -> Iterator[None]:
        """Draw a pipeline from now until the block ends."""
        self._seen.clear()
        self._watched = pipeline
        try:
            yield
        finally:
            self._watched = None

    def rows(self) -> Iterable["RenderableType"]:
        """Return what is to be drawn below the bar."""
        from evener.run.glance import look

        watched = self._watched
        if watched is None:
            return
        now = look(watched)
        if self._seen and now.emitted < self._seen[-1].emitted:
            self._seen.clear()  # another run began: the one before was to warm up
        if self._seen:
            yield from drawn(self._seen[0], now)
        self._seen.append(now)


def drawn(before: "Glance", now: "Glance") -> Iterable["RenderableType"]:
    """Lay out what happened between two looks: a line of figures, and one for each lane."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    from evener.run.glance import busy, rate_hz

    latency = "-" if now.latency_s is None else show(now.latency_s, "time")
    dropped = f", {now.dropped} dropped" if now.dropped else ""
    yield (
        f"{show(rate_hz(before, now), 'rate')}, latency {latency} (median), {now.in_flight} in "
        f"flight{dropped}"
    )
    known = {(one.stage, one.lane.processor, one.lane.cores): one for one in before.lanes}
    table = Table.grid(padding=(0, 2))
    for one in now.lanes:
        earlier = known.get((one.stage, one.lane.processor, one.lane.cores))
        share = busy(earlier, one, since_s=before.at_s, at_s=now.at_s)
        cores = ",".join(map(str, one.lane.cores)) or "-"
        table.add_row(
            f"stage {one.stage}",
            f"{one.lane.processor} [{cores}]",
            ProgressBar(total=1, completed=share, width=20),
            f"{share:.0%} busy",
            "waits" if one.frame_id is None else f"frame {one.frame_id}",
        )
    yield table
