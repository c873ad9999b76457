"""Make an algorithm by its name, set as it did best on tables of published networks.

`benchmarks/nasbench.py` has the figures: screened evolution finds better networks than the others
with one objective, and a larger part of the front with several, so it is what a search takes
unless it is told otherwise.
"""

from typing import Any, Final

from evener.artifacts.search_section import BANDED, LEARNING, AlgorithmName
from evener.errors import InputError
from evener.search.algorithm import Algorithm
from evener.search.bandit import FIXED, Arm
from evener.search.breeding import BAND, FREE, Band
from evener.search.genes import Genomes
from evener.search.islands import Islands
from evener.search.model import Reference
from evener.search.nsga2 import Nsga2
from evener.search.paper import Paper
from evener.search.random_search import RandomSearch
from evener.search.regularized import Regularized
from evener.search.screened import Screened
from evener.search.space import Costs, Space

POOL: Final = 500
"""Genomes that a model chooses among in a generation, if their prices take no time."""
_NEAR: Final = 0.8  # of them are neighbours of the best


def make_algorithm(
    name: AlgorithmName,
    space: Space[Any],
    *,
    children: int,
    objectives: int = 1,
    costs: Costs | None = None,
    reference: Reference = (),
    seeds: Genomes | None = None,
    first: int | None = None,
    pool: int | None = None,
    band: Band | None = None,
    arms: tuple[Arm, ...] = FIXED,
) -> Algorithm:
    """Return the algorithm of a name.

    Args:
        name: of the algorithm; "paper" and "regularized" look at the first objective only.
        space: what genomes mean.
        children: about how many genomes are judged in a generation, 2 or more.
        objectives: how many there are.
        costs: the last objectives, as far as they are known before an evaluation; only
            "screened" makes use of them.
        reference: with several objectives, what is worse in any of them is of no use, such as
            what breaks a requirement; "screened", "nsga2" and their islands make use of it. See
            `Screened` and `Nsga2`.
        seeds: genomes to begin with.
        first: how many genomes are judged first, with several objectives by "screened"; twice the
            children if None.
        pool: among how many genomes "screened" chooses with several objectives, the cost of all of
            which is asked for; 500 if None.
        band: of lambda, in which the rate of mutation keeps it, for those that mutate and judge
            duplicates: "paper", "regularized", "nsga2" and "islands"; what each did best with if
            None.
        arms: settings of the operators that a bandit learns to choose among, for those whose
            children may have two parents: "paper", "nsga2", "islands" and "screened".

    Raises:
        InputError: a band or arms for an algorithm that has no use for them.

    Example:
        >>> from evener.search.layer_space import LayerSpace
        >>> make_algorithm("screened", LayerSpace(), children=10, objectives=2).name
        'screened nsga2'
    """
    _check_rates(name, band, arms)
    half = max(children // 2, 2)
    kept, free = (BAND, FREE) if band is None else (band, band)
    made: Algorithm
    match name:
        case "random":
            made = RandomSearch(space, children, seeds)
        case "regularized":
            made = Regularized(space, 2 * children, children=children, band=free, seeds=seeds)
        case "paper":
            made = Paper(space, children + 1, _parents(children), band=kept, arms=arms, seeds=seeds)
        case "nsga2":
            made = Nsga2(
                space, children, children, band=kept, arms=arms, seeds=seeds, reference=reference
            )
        case "islands" if objectives > 1:
            one = Nsga2(space, half, half, band=kept, arms=arms, seeds=seeds, reference=reference)
            made = Islands(one, count=2)
        case "islands":
            two = Paper(space, half, _parents(half), band=kept, arms=arms, seeds=seeds)
            made = Islands(two, count=2)
        case "screened" if objectives > 1:
            inner = Nsga2(
                space,
                2 * children,
                children,
                first=first,
                band=FREE,
                arms=arms,
                seeds=seeds,
                reference=reference,
            )
            among = POOL if pool is None else pool
            near = round(_NEAR * among)
            made = Screened(
                space,
                inner,
                pool=max(among - near, 1),
                share=0.8,
                costs=costs,
                near=near,
                reference=reference,
            )
        case "screened":
            made = _screened(space, children, arms, seeds)
    return made


def _check_rates(name: AlgorithmName, band: Band | None, arms: tuple[Arm, ...]) -> None:
    if band is not None and name not in BANDED:
        raise InputError(
            f"a band of lambda for '{name}', which keeps no share of new offspring: it is for "
            f"{', '.join(BANDED)}"
        )
    if len(arms) > 1 and name not in LEARNING:
        raise InputError(
            f"several arms for '{name}', which has no operators to choose among: they are for "
            f"{', '.join(LEARNING)}"
        )


def _parents(children: int) -> int:
    return max(children * 2 // 5, 1)


def _screened(
    space: Space[Any], children: int, arms: tuple[Arm, ...], seeds: Genomes | None
) -> Screened:
    elite = children + children // 5
    inner = Paper(space, children + elite, elite, elite, band=FREE, arms=arms, seeds=seeds)
    return Screened(space, inner)
