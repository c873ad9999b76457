"""List the downsets of a graph: the sets of nodes that hold every predecessor of their own.

What a pipeline has done after some of its stages is a downset, and a stage is what lies between two
nested ones. A set is an integer whose bit `n` says whether it holds node `n`.
"""

from collections.abc import Sequence


def downsets(predecessors: Sequence[Sequence[int]], *, most: int) -> tuple[int, ...] | None:
    """List every downset, smaller ones first; the first is empty and the last is all nodes.

    Takes O(downsets · nodes) steps.

    Args:
        predecessors: for each node, the nodes that must come before it.
        most: give up beyond so many.

    Returns:
        The sets, of equally large ones the lesser integer first; None if there are more than
        `most`.

    Example:
        Node 0 before 1 and 2, which are free of each other:

        >>> downsets([[], [0], [0]], most=10)
        (0, 1, 3, 5, 7)
    """
    needs = [sum(1 << before for before in set(nodes)) for nodes in predecessors]
    found: list[int] = []
    layer = {0}
    while layer:
        found.extend(sorted(layer))
        if len(found) > most:
            return None
        layer = {
            done | 1 << node
            for done in layer
            for node, need in enumerate(needs)
            if not done >> node & 1 and need & ~done == 0
        }
    return tuple(found)


def narrow_downsets(
    predecessors: Sequence[Sequence[int]], *, ends: int, most: int
) -> tuple[int, ...] | None:
    """List the downsets that have at most so many ends: nodes that nothing in the set needs.

    Each end hands something on, so no other downset lets so few things across. There are at most
    (nodes + 1) to the power of `ends` of them, where all downsets may be two to the power of nodes.

    Args:
        predecessors: for each node, the nodes that must come before it; all of them earlier.
        ends: most ends of a set.
        most: give up beyond so many sets.

    Returns:
        The sets, the empty one included, in the order of `downsets`; None if there are more than
        `most`.

    Example:
        Of three nodes that are free of each other, at most one:

        >>> narrow_downsets([[], [], []], ends=1, most=10)
        (0, 1, 2, 4)
    """
    with_all_before: list[int] = []
    for node, nodes in enumerate(predecessors):
        closed = 1 << node
        for before in nodes:
            closed |= with_all_before[before]
        with_all_before.append(closed)
    found = layer = {0}
    for _ in range(ends):
        layer = {done | closed for done in layer for closed in with_all_before} - found
        if not layer:
            break
        found = found | layer
        if len(found) > most:
            return None
    return tuple(sorted(found, key=lambda one: (one.bit_count(), one)))
