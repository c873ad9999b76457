"""Join the nodes of a part of a network into units that no place parts.

A unit is a main node (a convolution or a product with weights) with nodes around it that are light.
A light node falls to the left, into the unit of what it reads, if some tensor that it reads is of
no more use once it has run: an activation, a normalisation, the sum that ends a residual unit. Else
it would only put one more tensor across the place behind it; then it falls to the right, into the
unit of the first main node that needs it: the pool before a branch, or beside a skip connection; or
into the last unit if none does: an output that repeats an input.
DequantizeLinear always falls to the right, because before it the tensor is four times smaller.
Units keep the order of their main nodes, and none needs a later one. What touches a state is one
unit, with all between.
"""

from functools import reduce
from operator import or_

import onnx_ir as ir

from evener.network.cost import is_main
from evener.network.flow import Flow


def units_of(flow: Flow, part: range) -> tuple[int, ...]:
    """Join the nodes of a part into units.

    Args:
        flow: of the whole graph.
        part: numbers of the part's nodes: all that lie between two places that hold every node
            before them, so that no unit need reach beyond it.

    Returns:
        The sets of nodes, in an order in which they can run; one set if there is no main node.
    """
    main = [number for number in part if is_main(flow.nodes[number])]
    unit: dict[int, int] = {}  # of each node so far
    for number in part:
        if number in main:
            unit[number] = main.index(number)
            continue
        following = [at for at, one in enumerate(main) if flow.before[one] >> number & 1]
        if not _falls_left(flow, number):
            unit[number] = following[0] if following else max(0, len(main) - 1)
        else:
            makers = (flow.maker[value] for value in _inputs(flow, number))
            unit[number] = max((unit[one] for one in makers if one in unit), default=0)
    sets = [0] * max(1, len(main))
    for number, at in unit.items():
        sets[at] |= 1 << number
    for held in flow.held:
        touched = [at for at, nodes in enumerate(sets) if nodes & held]
        if touched:  # units between two others may need the one and be needed by the other
            first, last = touched[0], touched[-1]
            sets[first : last + 1] = [reduce(or_, sets[first : last + 1])]
    return tuple(sets)


def needs_of(flow: Flow, units: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """List for each unit the units that must run before it.

    Args:
        flow: of the whole graph.
        units: those of one part.
    """
    before = [0] * len(units)
    for at, nodes in enumerate(units):
        for number, needed in enumerate(flow.before):
            if nodes >> number & 1:
                before[at] |= needed
    return tuple(
        tuple(other for other, nodes in enumerate(units) if other != at and nodes & needed)
        for at, needed in enumerate(before)
    )


def _falls_left(flow: Flow, number: int) -> bool:
    """Whether a tensor that the node reads is of no more use once it has run."""
    if flow.nodes[number].op_type == "DequantizeLinear":
        return False
    ran = flow.before[number] | 1 << number
    return any(not flow.readers[value] & ~ran for value in _inputs(flow, number))


def _inputs(flow: Flow, number: int) -> tuple[ir.Value, ...]:
    return tuple(value for value in flow.values if flow.readers[value] >> number & 1)
