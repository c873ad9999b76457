"""Turn a chain of stages into a plan: give out the cores and name what crosses each cut."""

from math import isfinite

from evener.artifacts.plan import Asked, Lane, Objective, Part, Plan, PlanKind, Stage
from evener.artifacts.profile import Profile
from evener.plan.bound import Bound
from evener.plan.count import full_configurations, paper_configurations
from evener.plan.problem import Problem
from evener.plan.steps import Chain, Step


def make_record(
    profile: Profile,
    problem: Problem,
    chain: Chain,
    *,
    what: PlanKind,
    method: str,
    objective: Objective = "throughput",
    bound: Bound,
    asked: Asked | None = None,
) -> Plan:
    """Fill the plan artifact from a chain.

    Cores are given out in the order of the stages, neighbouring ones to a lane, none twice.

    Args:
        profile: what the problem was made from.
        problem: what the chain solves.
        chain: the stages.
        what: "plan", or the baseline that it is.
        method: how it was found.
        objective: what it is best at.
        bound: that of the problem.
        asked: the limits that it was made to keep.
    """
    free = [list(processor.cores) for processor in problem.processors]
    stages = tuple(_stage(profile, problem, step, free) for step in chain.steps)
    rate_hz = 1 / max(stage.period_s for stage in stages)
    cut_points = problem.blocks - 1
    return Plan(
        network=profile.network,
        network_sha256=profile.network_sha256,
        granularity=profile.granularity,
        what=what,
        method=method,
        objective=objective,
        stages=stages,
        credits=chain.credits,
        rate_hz=rate_hz,
        latency_s=chain.credits / rate_hz,
        energy_j=chain.energy_j if isfinite(chain.energy_j) else None,
        bound_rate_hz=bound.rate_hz,
        bound_estimated=bound.estimated,
        cut_points=cut_points,
        configurations=(
            paper_configurations(cut_points, problem.form_segment)
            if problem.paper
            else full_configurations(problem)
        ),
        space="paper" if problem.paper else "full",
        max_live=profile.max_live,
        estimate=profile.estimate,
        estimate_error=profile.estimate_error,
        asked=asked,
    )


def _stage(profile: Profile, problem: Problem, step: Step, free: list[list[int]]) -> Stage:
    lanes: list[Lane] = []
    for index, count in step.team.lanes:
        core_set = problem.core_sets[index]
        processor = problem.processors[core_set.processor]
        place = (index, step.first_block, step.last_block)
        segment = problem.segments[place]
        part = Part(
            first_block=step.first_block,
            last_block=step.last_block,
            runtime=segment.runtime,
            precision=segment.precision,
            execution=segment.execution,
        )
        for _ in range(count):
            left = free[core_set.processor]
            taken, left[: core_set.cores] = tuple(left[: core_set.cores]), []
            lanes.append(
                Lane(
                    processor=processor.name,
                    cores=taken,
                    parts=(part,),
                    time_s=problem.lane_s(step.team, *place, step.receiver),
                    clock_hz=core_set.clock_hz,
                )
            )
    return Stage(
        first_block=step.first_block,
        last_block=step.last_block,
        inputs=tuple(tensor.name for tensor in profile.blocks[step.first_block].inputs),
        outputs=tuple(tensor.name for tensor in profile.blocks[step.last_block].outputs),
        lanes=tuple(lanes),
    )
