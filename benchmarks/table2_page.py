"""The paper's Table II and ours, as records and as a table."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, Final

import msgspec
from sections import Section, Table

from evener.units import show

HALF, SEVEN_TENTHS = 0.5, 0.7


class Printed(msgspec.Struct, frozen=True):
    """A row of the paper's table.

    Attributes:
        half: mean generations to convergence with half pruned.
        seven_tenths: the same with seven tenths pruned.
        fitness: best after 200 generations.
    """

    half: float
    seven_tenths: float
    fitness: float


PAPER: Final[Mapping[str, Printed]] = {
    "boston": Printed(84.5, 62.14, 77.61),
    "reuters": Printed(130.47, 109.86, 92.87),
    "imdb": Printed(78.94, 77.91, 81.49),
    "mnist": Printed(124.84, 105.42, 96.48),
    "cifar-10": Printed(264.87, 218.21, 87.56),
    "cifar-100": Printed(709.93, 624.78, 91.83),
}


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A search.

    Attributes:
        set: of data.
        rate: share of neurons that were pruned.
        seed: of the search.
        rows: of the parts, by name.
        passes: over the training rows before pruning.
        generations: that it went on for.
        converged: the generation in which it had; None if it was ended before.
        evaluations: networks that were trained.
        fitness: F of the best on the validation rows.
        score: 100 (1 - F).
        network: the best, before pruning.
        weights: that are left of it.
        test: its quality on the test rows, by metric.
        course: the best F after each generation.
        took_s: seconds.
        load: of the machine when it began and ended, processes that wanted a core.
        commit: by whose code.
    """

    set: str
    rate: float
    seed: int
    rows: dict[str, int]
    passes: int
    generations: int
    converged: int | None
    evaluations: int
    fitness: float
    score: float
    network: str
    weights: int
    test: dict[str, float]
    course: tuple[float, ...]
    took_s: float
    load: tuple[float, float]
    commit: str

    @property
    def quality(self) -> str:
        """Name and value of what is shown beside the score."""
        name = "accuracy" if "accuracy" in self.test else "r2"
        return f"{name} {self.test[name]:.4f}"


def told(run: Run) -> str:
    """Say in a line what a search came to."""
    return (
        f"  {_generations([run])} generations, score {run.score:.2f}, {run.quality} "
        f"({run.network}), load {run.load[0]:.1f} to {run.load[1]:.1f}"
    )


def sections(runs: Sequence[Run], missing: Sequence[str], run: Mapping[str, Any]) -> list[Section]:
    """Return the parts of the report."""
    written = (
        f"Written by `{run['command']}` on {run['date']} on {run['machine']['processor']}. "
        "Generations to convergence, with half and with seven tenths of the neurons pruned; the "
        "paper's mean stands beside. A score is 100 (1 - F) on validation rows, which the paper's "
        '"fitness" seems to be, and no accuracy; ours is of other rows, passes and weights of F '
        "than the paper's, which names none, so that the two cannot be compared. Quality is of "
        "test rows. The paper tells of 3 hours of a GPU for a set of pictures."
    )
    claim = _claim(runs)
    return [
        Section(
            "The paper's Table II",
            text=(written, *([claim] if claim else []), *(f"- {line}" for line in missing)),
            tables=(
                Table(
                    (
                        "set",
                        "paper, 0.5",
                        "ours, 0.5",
                        "paper, 0.7",
                        "ours, 0.7",
                        "paper's fitness",
                        "best score",
                        "quality of it",
                        "time of a search",
                    ),
                    [_row(name, runs) for name in PAPER if _of(name, runs)],
                ),
            ),
        ),
        Section(
            "What was run",
            tables=(
                Table(
                    ("set", "pruned", "seed", "rows", "networks", "best", "quality", "load"),
                    [_told_row(one) for one in runs],
                ),
            ),
        ),
    ]


def _of(name: str, runs: Sequence[Run], rate: float | None = None) -> list[Run]:
    return [one for one in runs if one.set == name and rate in (None, one.rate)]


def _row(name: str, runs: Sequence[Run]) -> tuple[str, ...]:
    printed, own = PAPER[name], _of(name, runs)
    best = max(own, key=lambda one: one.score)
    return (
        name,
        f"{printed.half:g}",
        _generations(_of(name, runs, HALF)),
        f"{printed.seven_tenths:g}",
        _generations(_of(name, runs, SEVEN_TENTHS)),
        f"{printed.fitness:g}",
        f"{best.score:.2f}",
        best.quality,
        show(fmean(one.took_s for one in own), "time"),
    )


def _generations(runs: Sequence[Run]) -> str:
    """Return the mean generations to convergence; of searches that were ended, more than that."""
    if not runs:
        return "-"
    mean = fmean(one.generations if one.converged is None else one.converged for one in runs)
    return f"{'> ' if any(one.converged is None for one in runs) else ''}{mean:.3g}"


def _claim(runs: Sequence[Run]) -> str:
    """Say on how many sets pruning more converged sooner, as it does on all of the paper's."""
    pairs = [
        (_mean(_of(name, runs, HALF)), _mean(_of(name, runs, SEVEN_TENTHS)))
        for name in PAPER
        if _of(name, runs, HALF) and _of(name, runs, SEVEN_TENTHS)
    ]
    known = [(half, more) for half, more in pairs if half is not None and more is not None]
    if not known:
        return ""
    sooner = sum(more < half for half, more in known)
    return (
        f"With seven tenths pruned, searches converged sooner on {sooner} of the {len(known)} sets "
        "on which both converged; in the paper on all six."
    )


def _mean(runs: Sequence[Run]) -> float | None:
    found = [one.converged for one in runs if one.converged is not None]
    return fmean(found) if len(found) == len(runs) else None


def _told_row(one: Run) -> tuple[str, ...]:
    return (
        one.set,
        f"{one.rate:g}",
        str(one.seed),
        " / ".join(f"{count:,}" for count in one.rows.values()),
        str(one.evaluations),
        f"{one.network}; {one.weights:,} weights left",
        one.quality,
        f"{one.load[0]:.1f} to {one.load[1]:.1f}",
    )
