"""Read from a project's [search] what Algorithm 1 is carried out with."""

from math import inf
from typing import TYPE_CHECKING, Final

import msgspec

from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import macs
from evener.artifacts.search_section import SearchSection
from evener.artifacts.table1 import TABLE_1
from evener.search.coevolution.algorithm import Settings
from evener.search.coevolution.growth import Limits
from evener.search.coevolution.sparsify import Terms
from evener.search.layer_space import LayerSpace
from evener.workflow.coevolution import widest

if TYPE_CHECKING:
    from evener.workflow.coevolving import Grounds

_GROWTH: Final = 3  # a part of so many of the evaluations goes into development, at most


def settings_from_project(grounds: "Grounds", epochs: int) -> Settings:
    """Return the settings of Algorithm 1 that a project's [search] comes to.

    Args:
        grounds: of the search.
        epochs: passes of each training.
    """
    section = grounds.section
    table = msgspec.structs.replace(
        TABLE_1,
        population=section.population,
        generations=section.generations,
        epochs=epochs,
        back_propagation_cycles=section.passes_after_cut(epochs),
        maximum_depth=section.depth,
        maximum_nodes=rounds_of(section, grounds.space),
    )
    return Settings(
        _limits(grounds),
        table,
        parents=section.parents,
        elite=section.elite,
        sets=section.sets,
        terms=Terms(
            error_threshold=inf if section.error_threshold is None else section.error_threshold,
            fitness_threshold=(
                -inf if section.fitness_threshold is None else section.fitness_threshold
            ),
            sure=section.certainty,
        ),
    )


def rounds_of(section: SearchSection, space: LayerSpace) -> int:
    """Return how many rounds of development there may be.

    As many as any network can grow by, or so many that a third of the evaluations goes into them.

    Example:
        >>> rounds_of(SearchSection(evaluations=90), LayerSpace()), rounds_of(
        ...     SearchSection(), LayerSpace()
        ... )
        (3, 20)
    """
    most = space.depth * len(space.widths)
    if section.evaluations is None:
        return most
    return max(min(most, section.evaluations // (_GROWTH * section.population)), 1)


def trainings_of(section: SearchSection, space: LayerSpace) -> int:
    """Return about how many trainings there will be, those of the pruning left out.

    Example:
        >>> trainings_of(SearchSection(), LayerSpace())
        380
    """
    evolved = section.generations * section.sets
    expected = section.population * (rounds_of(section, space) + evolved)
    return expected if section.evaluations is None else min(expected, section.evaluations)


def _limits(grounds: "Grounds") -> Limits:
    def complexity(network: LayerGraph) -> float:
        return inf if grounds.limits(network) > 0 else float(macs(network, grounds.ends))

    return Limits(grounds.wiring, complexity, float(macs(widest(grounds.space), grounds.ends)))
