"""How the explanation of a network's cuts looks to a person."""

from collections.abc import Iterable
from itertools import accumulate

from rich.console import Group, RenderableType

from evener.cli.layout import table
from evener.network.explain import Crossing, Explanation
from evener.units import count, show


def lay_out_explanation(explanation: Explanation) -> RenderableType:
    """Lay out the blocks with the cut after each, then where no cut is and why."""
    if explanation.parts:
        return _lay_out_places(explanation)
    crossing = {cut.after_block: _tensors(cut.tensors) for cut in explanation.cuts}
    if explanation.opaque:
        return (
            f"{explanation.board} knows {explanation.network} by name only, in "
            f"{count(len(explanation.blocks), 'part')} with a cut after each but the last; give "
            "the path of its ONNX file to see what they are"
        )
    blocks = table(
        f"{_in_blocks(explanation)}; a cut is named by the block that it follows",
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
    why = "as one tensor may cross it" if explanation.board is None else "by its blocks"
    title = (
        f"main layers that no cut can part, {why}, and what would cross at the best place "
        "between them"
    )
    return Group(blocks, _no_cuts(explanation, title))


def _in_blocks(explanation: Explanation) -> str:
    blocks = f"{explanation.network} in {count(len(explanation.blocks), 'block')}"
    if explanation.granularity == "table":
        return f"{blocks}, the parts that {explanation.board} was timed in"
    return f"{blocks} by the rule '{explanation.granularity}'"


def _lay_out_places(explanation: Explanation) -> RenderableType:
    """Lay out what was opened, then the places, then what stays together and why."""
    total = sum(part.macs for part in explanation.parts) or 1
    parts = table(
        f"{explanation.network} in {count(len(explanation.parts), 'block')} by the rule 'paper', "
        f"opened where up to {count(explanation.max_live or 0, 'tensor')} may cross",
        (">block", "units", ">MACs", ">share", ">too crowded", ">places", ">kept", "cuts"),
        [
            (
                str(part.part),
                ", ".join(part.units),
                f"{part.macs / 1e6:.1f} M",
                f"{part.macs / total:.1%}",
                "very many" if part.crowded is None else str(part.crowded),
                str(part.found),
                str(part.kept),
                ",".join(map(str, part.cuts)) or "-",
            )
            for part in explanation.parts
        ],
    )
    done = list(accumulate(block.macs for block in explanation.blocks))
    cuts = table(
        f"{count(len(explanation.cuts), 'cut')} in the order of the work before them; a later one "
        "need not be behind an earlier one",
        (">cut", ">MACs before it", "crosses it"),
        [
            (str(cut.after_block), f"{done[cut.after_block] / total:.1%}", _tensors(cut.tensors))
            for cut in explanation.cuts
        ],
    )
    title = (
        "main layers that are apart at no cut, and what would cross at the best place where "
        "they are"
    )
    return Group(parts, cuts, _no_cuts(explanation, title))


def _no_cuts(explanation: Explanation, title: str) -> RenderableType:
    if not explanation.no_cuts:
        return "every two neighbouring main layers can be parted"
    return table(
        title,
        (">block", "after", "before", "would cross", "no cut because"),
        [
            (str(one.block), one.after, one.before, _tensors(one.tensors), one.reason)
            for one in explanation.no_cuts
        ],
    )


def _tensors(tensors: Iterable[Crossing]) -> str:
    return ", ".join(f"{one.name} ({show(one.bytes, 'size')})" for one in tensors)
