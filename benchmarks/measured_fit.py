"""Learn from measured runs how long a stage takes, where tables of single parts do not say.

A run tells the time of its slowest stage alone. So each processor's times are fitted to the runs
that it is the slowest stage of, by the fit so far; after a few rounds that settles. A stage's time
is a sum of terms with weights that are not negative:

* B: its tabled blocks; its tabled loading of a frame.
* L: the same; and for loading a frame a term with the period of the big cores' clock.
* G: the same; and with a LITTLE host the tabled loading of L.
* N, of which there is no table: a constant for each block; and for the tensors that go in and come
  out a constant for each place and kind of host, times the period of the host's clock. The NPU runs
  a segment as one compiled model, and sums miss that: so a segment that was slowest in enough runs
  gets a factor of its own, and others count as never measured.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median
from typing import Final

import numpy as np
from measured_tables import BLOCKS, Run, Setting, StageOf, Table
from numpy.typing import NDArray
from scipy.optimize import nnls

ROUNDS: Final = 4
FEWEST: Final = 10  # runs that tell a segment's factor
CLEARLY: Final = 0.75  # of a run's period: if all other stages take less, the NPU is the slowest
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """Weights of the terms, by processor.

    Attributes:
        table: what the terms are made of.
        weights: of each term.
        npu_factors: of the segments of the NPU that are known, by first and last block.
    """

    table: Table
    weights: Mapping[str, Floats]
    npu_factors: Mapping[tuple[int, int], float]

    def __call__(self, setting: Setting, stage: StageOf) -> float:
        """Return the milliseconds of a stage; inf if they are not known."""
        known = stage.processor != "N"
        factor = 1.0 if known else self.npu_factors.get((stage.first, stage.last), inf)
        return factor * float(terms(self.table, setting, stage) @ self.weights[stage.processor])


def terms(table: Table, setting: Setting, stage: StageOf) -> Floats:
    """Return the terms of a stage's time."""
    if stage.processor == "N":
        return _npu_terms(setting, stage)
    loads = stage.first == 0
    of = [table.tasks_ms(setting, stage), loads * table.load_ms(setting, stage.processor)]
    if stage.processor == "L":
        of.append(loads * 1e3 / setting.big_mhz)
    elif stage.processor == "G":
        of.append(loads * (setting.gpu_host == "L") * table.load_ms(setting, "L"))
    return np.array(of)


def _npu_terms(setting: Setting, stage: StageOf) -> Floats:
    blocks = np.zeros(BLOCKS)
    blocks[stage.first : stage.last + 1] = 1
    ends = np.zeros((2, 2, BLOCKS))  # host, in or out, place
    period = 1e3 / setting.clock_mhz(setting.npu_host)
    ends["BL".index(setting.npu_host), (0, 1), (stage.first, stage.last)] = period
    return np.concatenate([blocks, ends.ravel()])


def fit_stages(table: Table, runs: Sequence[Run]) -> Fit:
    """Fit the times of stages to runs.

    Args:
        table: times of parts.
        runs: what to learn from.
    """
    stages = [
        {stage.processor: terms(table, run.setting, stage) for stage in run.stages} for run in runs
    ]
    weights = {"B": np.ones(2), "L": np.array([1.0, 1, 0]), "G": np.array([1.0, 1, 0])}
    for _ in range(ROUNDS):
        bound: dict[str, list[Floats]] = defaultdict(list)
        for run, of in zip(runs, stages, strict=True):
            slowest = _slowest(run, of, weights)
            bound[slowest].append(of[slowest] / run.period_ms)
        weights |= {name: _solve(np.array(rows)) for name, rows in bound.items()}
    ratios: dict[tuple[int, int], list[float]] = defaultdict(list)
    for run, of in zip(runs, stages, strict=True):
        if _slowest(run, of, weights) == "N":
            segment = next(stage for stage in run.stages if stage.processor == "N")
            ratio = run.period_ms / float(of["N"] @ weights["N"])
            ratios[segment.first, segment.last].append(ratio)
    factors = {of: median(found) for of, found in ratios.items() if len(found) >= FEWEST}
    return Fit(table, weights, factors)


def _slowest(run: Run, stages: Mapping[str, Floats], weights: Mapping[str, Floats]) -> str:
    """Return the processor of the slowest stage of a run, by the fit so far."""
    times_ms = {name: float(stages[name] @ weights[name]) for name in stages if name in weights}
    if "N" in stages and "N" not in weights:
        rest_ms = max(times_ms.values(), default=0.0)
        times_ms["N"] = inf if rest_ms < CLEARLY * run.period_ms else 0.0
    return max(times_ms, key=times_ms.__getitem__)


def _solve(rows: Floats) -> Floats:
    """Return the weights that are not negative and bring every row nearest to 1."""
    orthogonal, triangle = np.linalg.qr(rows)
    solved: Floats = nnls(triangle, orthogonal.T @ np.ones(len(rows)))[0]
    return solved
