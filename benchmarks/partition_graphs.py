"""Split the graphs that others published with their splits, and hold the planner against theirs.

Usage: python benchmarks/partition_graphs.py GRAPHS [-o FILE]

GRAPHS is the folder of github.com/msr-fiddle/dnn-partitioning (MIT), or a copy of the files for
inference in `throughput-inputs` and `human-experts`. Each graph is contracted (colours), split
along a few topological orders and then over all its downsets. That is the model of the paper's
dynamic program: contiguous stages on so many accelerators and CPUs, the largest load being the
period. A check that shares nothing with the planner adds up the loads from the file. Where the
graph has few downsets the planner of chains (`evener.plan.chain`) solves it too, with the downsets
as the places between its blocks. The bound is of `evener.plan.dag_bound`; it holds for mixtures of
splits too, so that a gap to it does not say that there is a better split.
Milliseconds, as in the files; elapsed times are of one run on one thread.

Exits with 1 if a split of ours breaks a rule, costs other than the planner says, differs from the
chains' or loses to an expert or to a published value.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from math import isclose
from pathlib import Path
from typing import Any, Final, TypeVar

# Before numpy: its threads would be what is timed.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

from partition_check import Part, cost, read_split  # noqa: E402 -- as above
from partition_input import MS, Graph, contract, read_graph  # noqa: E402 -- as above
from record import exit_with, write_record  # noqa: E402 -- as above

from evener.errors import EvenerError, InputError  # noqa: E402 -- as above
from evener.plan.chain import quickest_by_stages  # noqa: E402 -- as above
from evener.plan.dag import Dag  # noqa: E402 -- as above
from evener.plan.dag_bound import price_bound_s, work_bound_s  # noqa: E402 -- as above
from evener.plan.dag_problem import dag_problem  # noqa: E402 -- as above
from evener.plan.dag_split import DagPlan, plan_dag  # noqa: E402 -- as above

Found = TypeVar("Found")

MOST_CHAIN_DOWNSETS: Final = 3000  # of which a planner of chains holds a table of pairs
CPU_SHARES: Final = (0.0, 0.01, 0.02, 0.04, 0.08, 0.5)  # of the price of all devices
ROUNDING: Final = 1e-9
PLACES: Final = 2  # that published values are rounded to


@dataclass(frozen=True)
class Published:
    """A value that others published.

    Attributes:
        ms: the period.
        source: what found it, and where that stands.
    """

    ms: float
    source: str


# Their repository holds no results; of the table in their paper, one row is quoted there.
PUBLISHED: Final[Mapping[str, Published]] = {
    "OperatorGraphs/bert_l-3_inference": Published(
        27.92,
        "integer program, contiguous, to a gap of 1 %: Table 1 of the paper as quoted, and "
        "explained by an author, in github.com/msr-fiddle/dnn-partitioning/issues/3",
    ),
}
# What the dynamic program of their repository finds, throughput-dp/dp.cpp at commit b207b6a: its
# part for inference, retyped without its JSON library, compiled with g++ -O3, run on these files.
THEIR_PROGRAM_MS: Final[Mapping[str, float]] = {
    "LayerGraphs/bert24_inference": 17.789906250000001,
    "LayerGraphs/gnmt_inference": 32.910658203124996,
    "LayerGraphs/resnet50_inference": 33.774666015625002,
    "OperatorGraphs/bert_l-12_inference": 147.47798444934833,
    "OperatorGraphs/bert_l-3_inference": 27.918567679912499,
    "OperatorGraphs/bert_l-6_inference": 29.579505806451547,
    "OperatorGraphs/resnet50_inference": 124.34884977404485,
}
HEADER: Final = (
    f"{'graph':<24} {'nodes':>5} {'fused':>5} {'downsets':>8} {'devices':>7} {'published':>9} "
    f"{'theirs':>8} {'expert':>8} {'orders':>8} {'ours':>8} {'chains':>8} {'bound':>8} {'gap':>6} "
    f"{'time':>7}"
)


def main() -> int:
    """Split every graph of a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("graphs", type=Path)
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    try:
        files = find_files(options.graphs)
        print(HEADER)
        rows = [
            solved(name, path, files.get(expert_of(name)))
            for name, path in files.items()
            if name.startswith("throughput-inputs/")
        ]
    except EvenerError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    wrong = [f"{row['graph']}: {line}" for row in rows for line in row["wrong"]]
    print(*(wrong or ["every split holds, and loses to none of theirs"]), sep="\n")
    if options.out:
        write_record(options.out, {"unit": "ms", "graphs": rows})
    return int(bool(wrong))


def find_files(folder: Path) -> dict[str, Path]:
    """Find the graphs for inference and the experts' splits, as the published folder names them.

    Raises:
        InputError: there is no graph.
    """
    found = {
        str(path.relative_to(folder).with_suffix("")): path
        for path in sorted(folder.rglob("*_inference*.json"))
    }
    files = {as_published(name): path for name, path in found.items()}
    if not any(name.startswith("throughput-inputs/") for name in files):
        raise InputError(
            f"{folder} holds no throughput-inputs/*/*_inference.json: give the folder of "
            "github.com/msr-fiddle/dnn-partitioning"
        )
    return files


def as_published(name: str) -> str:
    """Return a file's name with folders, where a copy has joined them into one name.

    Example:
        >>> as_published("throughput-inputs_LayerGraphs_gnmt_inference")
        'throughput-inputs/LayerGraphs/gnmt_inference'
    """
    for folder in ("throughput-inputs", "human-experts", "LayerGraphs", "OperatorGraphs"):
        name = name.replace(f"{folder}_", f"{folder}/")
    return name


def expert_of(name: str) -> str:
    """Return the name of the expert's split of a graph; experts split only graphs of layers."""
    return name.replace("throughput-inputs/LayerGraphs/", "human-experts/") + "_expert"


def solved(name: str, path: Path, expert: Path | None) -> dict[str, Any]:
    """Split one graph, check the split, and print the line of it."""
    graph = read_graph(path)
    contracted = contract(graph)
    plan, elapsed_s = timed(partial(plan_dag, contracted.dag))
    parts = [
        Part(("accelerator", "cpu")[stage.kind], contracted.ids(stage.nodes))
        for stage in plan.split.stages
    ]
    checked = cost(graph, parts)
    row = {
        "graph": name.removeprefix("throughput-inputs/").removesuffix("_inference"),
        "nodes": len(graph.nodes),
        "contracted_nodes": contracted.dag.nodes,
        "downsets": len(plan.downsets) if plan.downsets else None,
        "accelerators": graph.accelerators,
        "cpus": graph.cpus,
        **theirs(name, graph, expert),
        "along_orders_ms": plan.along_orders_s * MS,
        "ours_ms": plan.split.period_s * MS,
        "best_of_all_contiguous": plan.best,
        "elapsed_s": elapsed_s,
        "checked_ms": checked.period_ms,
        **by_chains(contracted.dag, plan),
        **bounds(contracted.dag, plan),
        "stages": [
            {"device": part.device, "load_ms": load_ms, "nodes": ranges(part.ids)}
            for part, load_ms in zip(parts, checked.loads_ms, strict=True)
        ],
    }
    row["wrong"] = [*checked.faults, *worse(row)]
    print(line(row), flush=True)
    return row


def theirs(name: str, graph: Graph, expert: Path | None) -> dict[str, Any]:
    """Return what is published of a graph, and what an expert's split of it costs."""
    known = name.removeprefix("throughput-inputs/")
    published = PUBLISHED.get(known)
    split = cost(graph, read_split(expert)) if expert else None
    return {
        "published_ms": published.ms if published else None,
        "published_by": published.source if published else None,
        "their_program_ms": THEIR_PROGRAM_MS.get(known),
        "expert_ms": split.period_ms if split else None,
        "expert_faults": split.faults if split else [],
    }


def by_chains(dag: Dag, plan: DagPlan) -> dict[str, Any]:
    """Return what the planner of chains finds, if it can hold the graph."""
    if plan.downsets is None or len(plan.downsets) > MOST_CHAIN_DOWNSETS:
        return {"chains_ms": None, "chains_elapsed_s": None}
    problem = dag_problem(dag, plan.downsets)
    chains, elapsed_s = timed(partial(quickest_by_stages, problem))
    period_s = min(chain.period_s for chain in chains)
    return {"chains_ms": period_s * MS, "chains_elapsed_s": elapsed_s}


def bounds(dag: Dag, plan: DagPlan) -> dict[str, Any]:
    """Return what no split is below."""
    ours_s = plan.split.period_s
    work_s = work_bound_s(dag)
    found = {"work_bound_ms": work_s * MS, "price_bound_ms": None, "price_bound_elapsed_s": None}
    if plan.downsets is not None:
        shares = [(1 - share, share) for share in CPU_SHARES]
        price_s, elapsed_s = timed(
            partial(price_bound_s, dag, plan.downsets, shares, known_s=ours_s)
        )
        found |= {"price_bound_ms": price_s * MS, "price_bound_elapsed_s": elapsed_s}
        work_s = max(work_s, price_s)
    return {**found, "gap": 1 - work_s / ours_s}


def worse(row: Mapping[str, Any]) -> list[str]:
    """Say where ours is not what it should be."""
    ours = row["ours_ms"]
    found = []
    for key, what in (("checked_ms", "the file says"), ("chains_ms", "chains take")):
        if row[key] is not None and not isclose(row[key], ours, rel_tol=ROUNDING):
            found.append(f"{what} {row[key]:.9g} ms, the planner {ours:.9g} ms")
    program = row["their_program_ms"]
    if program is not None and program < ours * (1 - ROUNDING):
        found.append(f"their program finds {program:.9g} ms, ours {ours:.9g} ms")
    expert = row["expert_ms"]
    if expert is not None and not row["expert_faults"] and expert < ours * (1 - ROUNDING):
        found.append(f"the expert's split takes {expert:.9g} ms, ours {ours:.9g} ms")
    if row["published_ms"] is not None and round(ours, PLACES) > row["published_ms"]:
        found.append(f"{row['published_ms']} ms are published, ours takes {ours:.9g} ms")
    return found


def line(row: Mapping[str, Any]) -> str:
    """Return the line of the table."""

    def number(key: str, width: int) -> str:
        value = row[key]
        return f"{'-' if value is None else format(value, '.2f'):>{width}}"

    bound = max(row["work_bound_ms"], row["price_bound_ms"] or 0.0)
    return (
        f"{row['graph']:<24} {row['nodes']:>5} {row['contracted_nodes']:>5} "
        f"{row['downsets'] or 'too many':>8} {row['accelerators']}+{row['cpus']:<5} "
        f"{number('published_ms', 9)} {number('their_program_ms', 8)} {number('expert_ms', 8)} "
        f"{number('along_orders_ms', 8)} "
        f"{number('ours_ms', 8)} {number('chains_ms', 8)} {bound:>8.2f} {row['gap']:>6.1%} "
        f"{row['elapsed_s']:>5.1f} s"
    )


def ranges(ids: Collection[int]) -> str:
    """Write ids shortly.

    Example:
        >>> ranges({7, 1, 2, 3})
        '1-3 7'
    """
    firsts = [one for one in sorted(ids) if one - 1 not in ids]
    lasts = [one for one in sorted(ids) if one + 1 not in ids]
    return " ".join(
        str(first) if first == last else f"{first}-{last}"
        for first, last in zip(firsts, lasts, strict=True)
    )


def timed(call: Callable[[], Found]) -> tuple[Found, float]:
    """Return what a call returns, and how long it takes."""
    started = time.perf_counter()
    found = call()
    return found, time.perf_counter() - started


if __name__ == "__main__":
    exit_with(main)
