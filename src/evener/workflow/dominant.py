"""Find a block that holds up all other stages of a plan although it can be opened."""

from dataclasses import dataclass
from typing import Final

import msgspec

from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.workflow.cutting import Cutting

_WAITS: Final = 0.95  # of the slowest stage's time; a stage that takes less waits for it


@dataclass(frozen=True, slots=True)
class Dominant:
    """A block that takes longer than any other stage.

    Attributes:
        block: its index.
        name: its first main node.
        processor: where the plan puts it.
        share: its share of the time that the whole network takes there, in (0, 1].
        places: at how many places inside it the network may be cut by the rule "node".
    """

    block: int
    name: str
    processor: str
    share: float
    places: int


def find_dominant(
    net: str,
    plan: Plan,
    profile: Profile,
    cutting: Cutting = Cutting(),
) -> Dominant | None:
    """Return the single block that is a plan's slowest stage, if it can be opened.

    Args:
        net: path of an ONNX file, or name of a built-in network.
        plan: a plan of it.
        profile: the times that it rests on.
        cutting: how the network is read.

    Returns:
        None if the plan is of another rule than "strict" and "paper", if its slowest stage is
        several blocks or replicated, if another stage is about as slow, if nothing there runs the
        whole network, or if the block has no place inside.
    """
    slowest = max(plan.stages, key=lambda stage: stage.period_s)
    others_s = [stage.period_s for stage in plan.stages if stage is not slowest]
    if (
        plan.granularity not in ("paper", "strict")
        or slowest.first_block != slowest.last_block
        or len(slowest.lanes) > 1
        or not others_s
        or max(others_s) >= _WAITS * slowest.period_s
    ):
        return None
    lane, block = slowest.lanes[0], slowest.first_block
    part = lane.parts[0]
    times_s = {
        (one.first_block, one.last_block): one.median_s
        for one in profile.segments
        if (one.processor, one.cores, one.clock_hz)
        == (lane.processor, len(lane.cores) or 1, lane.clock_hz)
        and (one.runtime, one.precision, one.execution)
        == (part.runtime, part.precision, part.execution)
    }
    whole_s = times_s.get((0, len(profile.blocks) - 1))
    by_nodes = msgspec.structs.replace(cutting, granularity="node")
    places = by_nodes.cut(by_nodes.load(net)).opened[block].kept
    if whole_s is None or not places:
        return None
    return Dominant(
        block=block,
        name=profile.blocks[block].name,
        processor=lane.processor,
        share=min(1.0, times_s[block, block] / whole_s),
        places=places,
    )
