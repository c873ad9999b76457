"""State the splitting of a graph as a planning problem, so that every solver of chains can read it.

A chain's blocks lie between places, and so here the downsets are the places: "blocks B to E" are
what lies between downset B and downset E + 1, if the one holds the other, and no device can run
them if not. That takes the square of the downsets; `dag_split.py` does not.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from evener.artifacts.processors import Processor
from evener.plan.dag import Dag
from evener.plan.dag_lattice import Lattice
from evener.plan.problem import Problem
from evener.plan.teams import CoreSet, Team

LEAST_S: Final = 1e-15  # of a stage that takes no time: rates are taken of times


def dag_problem(dag: Dag, downsets: Sequence[int]) -> Problem:
    """Make the problem: a kind of device is a processor with a core for each, a stage takes one.

    Args:
        dag: what to plan.
        downsets: where stages may begin and end, smaller ones first, from the empty one to all.

    Returns:
        The problem. It knows no measurements (`segments`), as its times are sums.
    """
    lattice = Lattice(dag, downsets)
    places = len(downsets) - 1
    times_s_CBE = np.full((len(dag.kinds), places, places), np.inf)
    for start in range(places):
        ends, loads_DE = lattice.loads(start, np.inf)
        times_s_CBE[:, start, ends - 1] = np.maximum(loads_DE, LEAST_S)
    kinds = range(len(dag.kinds))
    firsts = np.cumsum([0, *(kind.count for kind in dag.kinds)]).tolist()
    return Problem(
        processors=tuple(
            Processor(
                name=f"kind{number}",
                kind="cpu",
                cores=tuple(range(firsts[number], firsts[number + 1])),
                core_sets=(1,),
                runtimes=(),
            )
            for number in kinds
        ),
        grains=tuple(kind.count for kind in dag.kinds),
        core_sets=tuple(CoreSet(number, 1) for number in kinds),
        teams=tuple(
            Team(((number, 1),), tuple(int(k == number) for k in kinds)) for number in kinds
        ),
        times_s_CBE=times_s_CBE,
        segments={},
        receivers=((),),
        transfer_s_PR=np.zeros((len(dag.kinds), 1)),
    )
