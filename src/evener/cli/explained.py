"""How the explanation of a network's cuts looks to a person."""

from collections.abc import Iterable

from rich.console import Group, RenderableType

from evener.cli.tables import table
from evener.network.explain import Crossing, Explanation
from evener.units import show


def lay_out_explanation(explanation: Explanation) -> RenderableType:
    """Lay out the blocks with the cut after each, then where no cut is and why."""
    crossing = {cut.after_block: _tensors(cut.tensors) for cut in explanation.cuts}
    blocks = table(
        f"{explanation.network} in {len(explanation.blocks)} blocks by the rule "
        f"'{explanation.granularity}'; a cut is named by the block that it follows",
        (">block", "first node", "operators", ">MACs", ">weights", "crosses the cut after it"),
        [
            (
                str(index),
                block.name,
                ", ".join(f"{count} {name}" for name, count in block.operators.items()),
                f"{block.macs / 1e6:.1f} M",
                show(block.weights_bytes, "size"),
                crossing.get(index, "-"),
            )
            for index, block in enumerate(explanation.blocks)
        ],
    )
    if not explanation.no_cuts:
        return Group(blocks, "every two neighbouring main layers can be parted")
    return Group(
        blocks,
        table(
            "main layers that no cut can part, as one tensor may cross it, and what would cross at "
            "the best place between them",
            (">block", "after", "before", "would cross", "no cut because"),
            [
                (str(one.block), one.after, one.before, _tensors(one.tensors), one.reason)
                for one in explanation.no_cuts
            ],
        ),
    )


def _tensors(tensors: Iterable[Crossing]) -> str:
    return ", ".join(f"{one.name} ({show(one.bytes, 'size')})" for one in tensors)
