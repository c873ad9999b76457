"""Hold the planner's predictions against 41,847 runs of GoogLeNet that others measured on a board.

Usage: python benchmarks/measured_runs.py TABLES [-o FILE]

TABLES is a folder with `rk3399pro/Layers.csv` (github.com/Ehsan-aghapour/CO-UP-Profiling: each part
alone on each processor of an RK3399Pro, at each clock) and
`rk3399pro-measured-runs/ProfileResult_measured.csv` (github.com/Ehsan-aghapour/PipeAll-GA: whole
pipelines, an older build of the same authors). A run names the processor of each of 13 blocks (B
big cores, L LITTLE cores, G GPU, N NPU), the clocks, who hosts GPU and NPU, and a rate: 1 over the
mean time of the slowest stage, as a prediction is. Neither is a rate at the sink.

The table has no GoogLeNet on the NPU, so runs with the NPU cannot be predicted from it. The last
way alone predicts them: it learns stage times from measured runs (`measured_fit.py`), and each run
is predicted from runs of other settings (clocks and hosts) than its own; their cuts may be its own.
The authors' search chose what to measure, so quick pipelines are more common than by chance.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Final

import numpy as np
from measured_fit import fit_stages
from measured_tables import BLOCKS, Run, Setting, StageOf, Table, read_runs, read_table
from record import write_record

from evener.artifacts.board import load_board
from evener.artifacts.processors import Machine
from evener.artifacts.profile import Block, HandOff, Profile, SegmentTime
from evener.plan.chain import front
from evener.plan.problem import Problem, make_problem

FEWEST_RUNS: Final = 10  # measured at a setting, to rank a choice among them
FOLDS: Final = 5
BOARD: Final = load_board("rk3399pro")

Times = Callable[[Setting, StageOf], float]  # milliseconds


@dataclass(frozen=True)
class Way:
    """A way to predict.

    Attributes:
        name: what it does.
        processors: that it has times of.
        times_ms: of a stage at a setting.
        transfers: whether the sender pays for moving a frame to another processor.
    """

    name: str
    processors: str
    times_ms: Times
    transfers: bool = False


@dataclass(frozen=True)
class Prediction:
    """A run beside what was predicted of it."""

    run: Run
    rate_hz: float
    slowest: str

    @property
    def ratio(self) -> float:
        """Predicted over measured."""
        return self.rate_hz / self.run.rate_hz


def main() -> int:
    """Predict by every way, rank the planner's choices, print and record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tables", type=Path, help="folder of folders of CSV files")
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    runs = read_runs(
        options.tables / "rk3399pro-measured-runs" / "ProfileResult_measured.csv",
    )
    table = read_table(options.tables / "rk3399pro" / "Layers.csv")
    tabled = [run for run in runs if "N" not in run.order]
    inside = sum(run.cuts_a_part for run in tabled)
    coverage = {
        "runs": len(runs),
        "predicted_from_the_table": len(tabled),
        "of_which_cut_inside_a_part": inside,
        "with_the_npu": len(runs) - len(tabled),
    }
    print(
        f"{len(runs)} runs; the table covers {len(tabled)} ({inside} of them cut inside one of its "
        f"parts); {len(runs) - len(tabled)} use the NPU, which it has no GoogLeNet of"
    )
    found = [judge(way, tabled) for way in ways(table)]
    found.append(judge(fitted_way(table, tabled), tabled))
    found.append(judge(fitted_way(table, runs), runs))
    if options.out:
        write_record(options.out, {"coverage": coverage, "ways": found})
    return 0


def ways(table: Table) -> list[Way]:
    """Return the ways to predict from the table."""

    def as_tabled(setting: Setting, stage: StageOf) -> float:
        loads = stage.first == 0
        return table.tasks_ms(setting, stage) + loads * table.load_ms(setting, stage.processor)

    def loaded_by_the_host(setting: Setting, stage: StageOf) -> float:
        if (stage.processor, stage.first, setting.gpu_host) == ("G", 0, "L"):
            return table.tasks_ms(setting, stage) + table.load_ms(setting, "L")
        return as_tabled(setting, stage)

    return [
        Way("blocks and loading as tabled", "BGL", as_tabled),
        Way("and transfers charged", "BGL", as_tabled, transfers=True),
        Way("a LITTLE host of the GPU loads as LITTLE cores do", "BGL", loaded_by_the_host),
        Way("loading left out", "BGL", table.tasks_ms),
    ]


def fitted_way(table: Table, runs: Sequence[Run]) -> Way:
    """Learn stage times from the runs, for each setting from other settings only."""
    settings = sorted({run.setting for run in runs})
    fold_of = {setting: number % FOLDS for number, setting in enumerate(settings)}
    fits = [
        fit_stages(table, [run for run in runs if fold_of[run.setting] != fold])
        for fold in range(FOLDS)
    ]
    with_npu = any("N" in run.order for run in runs)
    return Way(
        f"stage times learnt from {'all' if with_npu else 'NPU-free'} runs of other settings",
        "BGLN" if with_npu else "BGL",
        lambda setting, stage: fits[fold_of[setting]](setting, stage),
    )


def judge(way: Way, runs: Sequence[Run]) -> dict[str, object]:
    """Predict runs by a way, rank the planner's choices among them, and print both."""

    @cache
    def problem(setting: Setting) -> Problem:
        return state(way, setting)

    every = [predict(problem(run.setting), run) for run in runs]
    predictions = [one for one in every if one.rate_hz > 0]
    groups: dict[str, list[float]] = defaultdict(list)
    for one in predictions:
        for group in groups_of(one):
            groups[group].append(one.ratio)
    without = len(every) - len(predictions)
    print(f"\n{way.name}: predicted / measured rate ({without} runs have a stage of no known time)")
    ratios = {name: spread(groups[name]) for name in sorted(groups)}
    for name, row in ratios.items():
        print(
            f"  {name:36} {row['runs']:6.0f} runs: median {row['median']:.3f}, quartiles "
            f"{row['quartile_low']:.3f} to {row['quartile_high']:.3f}, 5 to 95 % "
            f"{row['percent_5']:.3f} to {row['percent_95']:.3f}"
        )
    choices = rank(predictions, runs, problem)
    for name, figures in choices.items():
        print(f"  {name}: {', '.join(f'{key} {value:.6g}' for key, value in figures.items())}")
    return {
        "way": way.name,
        "unknown": without,
        "predicted_over_measured": ratios,
        "choices": choices,
    }


def state(way: Way, setting: Setting) -> Problem:
    """State the planning problem of a setting, pipelines of whole processors only."""
    processors = tuple(one for one in BOARD.processors if one.name in way.processors)
    profile = Profile(
        network="googlenet",
        network_sha256="",
        granularity="paper",
        blocks=tuple(
            Block(name=str(index), operators={}, macs=0, weights_bytes=0, inputs=(), outputs=())
            for index in range(BLOCKS)
        ),
        machine=Machine(host=BOARD.name, system="", processors=processors, runtimes={}),
        segments=tuple(
            segment
            for one in processors
            for first in range(BLOCKS)
            for last in range(first, BLOCKS)
            for segment in timed(StageOf(one.name, first, last), one.units, way, setting)
        ),
        hand_off=HandOff(fixed_s=0.0, transfers=BOARD.transfers if way.transfers else ()),
    )
    problem = make_problem(profile)
    # No copies were measured: a stage is one lane.
    lanes = tuple(team for team in problem.teams if sum(count for _, count in team.lanes) == 1)
    return replace(problem, teams=lanes)


def timed(stage: StageOf, cores: int, way: Way, setting: Setting) -> Iterator[SegmentTime]:
    """Yield the time of a stage as a profile has it, if it is known."""
    time_s = way.times_ms(setting, stage) / 1e3
    if time_s == inf:
        return
    yield SegmentTime(
        first_block=stage.first,
        last_block=stage.last,
        processor=stage.processor,
        cores=cores,
        runtime="armcl",
        median_s=time_s,
        low_s=time_s,
        high_s=time_s,
        repeats=0,
        interpolated=True,
    )


def predict(problem: Problem, run: Run) -> Prediction:
    """Predict a run with the planner's own times of stages."""
    names = [processor.name for processor in problem.processors]
    numbers = [names.index(stage.processor) for stage in run.stages]
    lanes = {team.lanes[0][0]: team for team in problem.teams if team.count == 1}
    times_s = {
        stage.processor: problem.lane_s(
            lanes[number], number, stage.first, stage.last, receiver(problem, taker)
        )
        for stage, number, taker in zip(run.stages, numbers, [*numbers[1:], None], strict=True)
    }
    slowest = max(times_s, key=times_s.__getitem__)
    return Prediction(run, 1 / times_s[slowest], slowest)


def receiver(problem: Problem, taker: int | None) -> int:
    """Return the problem's number for whoever takes the frames; 0 for nobody."""
    if taker is None or len(problem.receivers) == 1:
        return 0
    return problem.receivers.index((taker,))


def groups_of(one: Prediction) -> Iterable[str]:
    """Name the groups that a prediction is counted in."""
    npu = "N" in one.run.order
    count = len(one.run.stages)
    kind = "with NPU" if npu else "no NPU"
    yield f"{kind}, all"
    yield f"{kind}, {count} stage{'s' * (count > 1)}"
    yield f"{kind}, slowest stage on {one.slowest}"
    if not npu:
        yield f"{kind}, {'cut inside a part' if one.run.cuts_a_part else 'cut between parts'}"
        if one.slowest == "L":
            yield f"{kind}, slowest L {'loads frames' if one.run.order[0] == 'L' else 'does not'}"


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return the median, quartiles and tails of values."""
    names = ("percent_5", "quartile_low", "median", "quartile_high", "percent_95")
    percentiles = np.percentile(values, (5, 25, 50, 75, 95)).tolist()
    return {"runs": len(values), **dict(zip(names, percentiles, strict=True))}


def rank(
    predictions: Sequence[Prediction], runs: Sequence[Run], problem: Callable[[Setting], Problem]
) -> Mapping[str, Mapping[str, float]]:
    """Say how good the planner's choices were, by what was measured.

    Args:
        predictions: of the runs that could be predicted.
        runs: all that a choice is ranked among.
        problem: of a setting.

    Returns:
        Of the run with the highest prediction of all, clocks chosen too; of that of each setting
        with enough runs; and of the planner's own plan of each such setting, wherever somebody has
        measured exactly that.
    """
    by_setting: dict[Setting, list[Prediction]] = defaultdict(list)
    for one in predictions:
        by_setting[one.run.setting].append(one)
    measured: dict[Setting, list[float]] = defaultdict(list)
    for run in runs:
        measured[run.setting].append(run.rate_hz)
    settings = [
        setting
        for setting, rates in measured.items()
        if len(rates) >= FEWEST_RUNS and by_setting[setting]
    ]
    picked, planned = [], []
    for setting in settings:
        pick = quickest(by_setting[setting])
        picked.append(standing(pick, measured[setting]))
        order = chosen(problem(setting))
        planned += [
            standing(one.run.rate_hz, measured[setting])
            for one in by_setting[setting]
            if one.run.order == order
        ]
    rates = [run.rate_hz for run in runs]
    best = standing(quickest(predictions), rates)
    return {
        f"of all {len(rates)} runs, the one with the highest prediction": dict(
            zip(("rank", "runs", "share_of_best"), best, strict=True)
        ),
        f"at each setting of {FEWEST_RUNS} runs or more, the highest prediction": summed(
            picked, len(settings)
        ),
        "there the planner's own plan, where it was measured": summed(planned, len(settings)),
    }


def quickest(predictions: Iterable[Prediction]) -> float:
    """Return the measured rate of the run that was predicted to be the quickest."""
    return max(predictions, key=lambda one: one.rate_hz).run.rate_hz


def standing(rate_hz: float, rates: Sequence[float]) -> tuple[int, int, float]:
    """Return a rate's rank among rates, how many there are, and its share of the best."""
    return 1 + sum(other > rate_hz for other in rates), len(rates), rate_hz / max(rates)


def summed(standings: Sequence[tuple[int, int, float]], settings: int) -> dict[str, float]:
    """Sum up the ranks and shares of several settings."""
    if not standings:
        return {"settings": settings, "measured": 0}
    ranks, counts, shares = np.array(standings).T
    return {
        "settings": settings,
        "measured": len(standings),
        "median_runs": float(np.median(counts)),
        "ranked_first": int(np.sum(ranks == 1)),
        "median_rank": float(np.median(ranks)),
        "median_share_of_best": float(np.median(shares)),
        "share_of_best_percent_5": float(np.percentile(shares, 5)),
    }


def chosen(problem: Problem) -> str:
    """Return the order of the planner's quickest plan."""
    names = [processor.name for processor in problem.processors]
    return "".join(
        names[step.team.processors[0]] * (step.last_block - step.first_block + 1)
        for step in front(problem)[-1].steps
    )


if __name__ == "__main__":
    sys.exit(main())
