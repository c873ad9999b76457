"""Every way to cut and man a chain, one by one: what tests hold counts and plans against."""

from collections.abc import Iterator

from evener.plan.problem import Problem
from evener.plan.steps import Step


def every_chain(problem: Problem, *, stages: int | None = None) -> Iterator[tuple[Step, ...]]:
    """Yield each way to cut the blocks into stages and man them, possible or not by its times.

    Args:
        problem: what to plan.
        stages: exactly so many stages; any number if None.
    """
    for steps in _continued(problem, 0, problem.grains):
        if stages is None or len(steps) == stages:
            yield steps


def _continued(problem: Problem, start: int, grains: tuple[int, ...]) -> Iterator[tuple[Step, ...]]:
    if start == problem.blocks:
        yield ()
        return
    for team in problem.teams:
        left = tuple(have - take for have, take in zip(grains, team.usage, strict=True))
        if min(left) < 0:
            continue
        for last in range(start, problem.blocks):
            if not problem.form_segment(start, last):
                continue
            for rest in _continued(problem, last + 1, left):
                receiver = problem.receiver(rest[0].team) if rest else 0
                yield Step(start, last, team, receiver), *rest
