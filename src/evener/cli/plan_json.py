"""A plan as programs read it: the keys that `evener plan --json` prints."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from evener.artifacts.plan import Plan, Stage


def no_plan_for_programs(cut_points: int, configurations: int) -> dict[str, Any]:
    """Put what is known of a space without a plan into the keys that programs may rely on."""
    unknown = ("rate_hz", "latency_s", "energy_j", "bound_rate_hz", "elapsed_s", "simulated")
    counts = {"cut_points": cut_points, "configurations": configurations, "stages": []}
    return counts | dict.fromkeys(unknown)


def plan_for_programs(plan: "Plan") -> dict[str, Any]:
    """Put a plan into the keys that programs may rely on."""
    content: dict[str, Any] = msgspec.to_builtins(plan)
    stages = [_stage(stage) for stage in plan.stages]
    if plan.granularity == "node":  # its blocks are steps from place to place: only nodes say what
        stages = [stage | {"first_block": None, "last_block": None} for stage in stages]
    return content | {"stages": stages}


def _stage(stage: "Stage") -> dict[str, Any]:
    # A stage's processor, cores, runtime and precision are those of its first lane.
    lane = stage.lanes[0]
    content: dict[str, Any] = msgspec.to_builtins(stage)
    return content | {
        "processor": lane.processor,
        "cores": lane.cores,
        "runtime": _joined(part.runtime for part in lane.parts),
        "precision": _joined(part.precision for part in lane.parts),
        "execution": _joined(part.execution for part in lane.parts),
        "replicas": len(stage.lanes),
    }


def _joined(names: Iterable[str]) -> str:
    return "+".join(dict.fromkeys(names))
