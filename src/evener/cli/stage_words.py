"""Name a stage in a few words: its blocks and what runs them."""

from evener.artifacts.plan import Stage
from evener.units import count


def blocks_of(stage: Stage) -> str:
    """Say what a stage runs: blocks, or nodes by the rule "node"."""
    if not stage.nodes:
        return span(stage.first_block, stage.last_block)
    return f"{count(len(stage.nodes), 'node')}: {stage.nodes[0]} to {stage.nodes[-1]}"


def span(first: int, last: int) -> str:
    """Write a range of blocks.

    Example:
        >>> span(0, 4), span(5, 5)
        ('0-4', '5')
    """
    return f"{first}-{last}" if last > first else str(first)


def stage_in_words(stage: Stage) -> str:
    """Write a stage in a few words, such as "0-4 B x2 at 1800 MHz + G at 800 MHz"."""
    lanes = (
        " ".join(
            [
                lane.processor,
                *([f"x{len(lane.cores)}"] if lane.cores else []),
                *([] if lane.clock_hz is None else [f"at {lane.clock_hz / 1e6:.0f} MHz"]),
            ]
        )
        for lane in stage.lanes
    )
    return f"{blocks_of(stage)} {' + '.join(lanes)}"
