"""Say why a problem has no plan: too many stages, a block that nothing runs, short memory."""

import numpy as np
from numpy.typing import NDArray

from evener.errors import InfeasibleError
from evener.plan.memory import Shortage
from evener.plan.problem import Problem
from evener.units import count


def check_possible(problem: Problem, stages: int | None) -> None:
    """Refuse a problem that no chain can solve, whatever the times.

    Raises:
        InfeasibleError: more stages than blocks or cores, or a block that nothing runs.
    """
    if stages is not None and not 1 <= stages <= problem.most_stages:
        raise InfeasibleError(
            f"{count(stages, 'stage')} asked for, but {count(problem.blocks, 'block')} on "
            f"{_places(problem)} allow 1 to {problem.most_stages}; ask for fewer, cut finer or "
            "allow more processors",
            needed=stages,
            available=problem.most_stages,
        )
    able: NDArray[np.bool_] = np.any(np.isfinite(problem.times_s_CBE), axis=0)
    covered = [bool(np.any(able[: block + 1, block:])) for block in range(problem.blocks)]
    if not all(covered):
        stuck = [block for block, runs in enumerate(covered) if not runs]
        for block in stuck:
            short = problem.memory.nearest_miss(block) if problem.memory is not None else None
            if short is not None:
                raise _too_large(short, f"blocks {stuck} of {problem.blocks} fit nowhere")
        raise InfeasibleError(
            f"blocks {stuck} of {problem.blocks} have no time on any of {_names(problem)}: allow a "
            "processor or runtime that can run them, or profile the network again",
            needed=problem.blocks,
            available=problem.blocks - len(stuck),
        )


def no_chain(problem: Problem, stages: int | None) -> InfeasibleError:
    """Make the error for times that leave no chain of stages."""
    wanted = "any number of stages" if stages is None else count(stages, "stage")
    cannot = (
        f"the {count(problem.blocks, 'block')} cannot be split into {wanted} on {_names(problem)}"
    )
    short = problem.memory.nearest_miss() if problem.memory is not None else None
    if short is not None:
        return _too_large(short, f"{cannot} within their memory; the nearest miss")
    return InfeasibleError(
        f"{cannot}: every split gives some processor blocks it has no time for. Allow more "
        "processors, or another number of stages",
        needed=stages,
        available=problem.most_stages,
    )


def _too_large(short: Shortage, why: str) -> InfeasibleError:
    return InfeasibleError(
        f"{why}: {short}. Allow it more memory, further processors, or cut finer",
        needed=short.needed_bytes,
        available=short.available_bytes,
    )


def _names(problem: Problem) -> str:
    return ", ".join(processor.name for processor in problem.processors)


def _places(problem: Problem) -> str:
    """Say what stages can be put on, such as "2 cores of cpu0, gpu0"."""
    return ", ".join(
        f"{count(processor.units, 'core')} of {processor.name}"
        if min(processor.core_sets) < processor.units
        else processor.name
        for processor in problem.processors
    )
