"""Find which layers must lose the same neurons: those that a sum adds up, and the sum itself.

Neuron k of a sum is neuron k of each of its sources. So layers that sums connect, directly or
through one another, form a group, and neuron k goes from all of them or from none.
"""

from evener.search.pruning.layers import Net


def groups(net: Net) -> list[list[int]]:
    """Return the groups of layers, each by rising index, ordered by their first.

    A layer that is no part of a sum is a group of its own.

    Args:
        net: the network.
    """
    head = list(range(len(net.layers)))

    def first(index: int) -> int:
        while head[index] != index:
            index = head[index]
        return index

    for index, layer in enumerate(net.layers):
        for source in layer.sources if layer.sums else ():
            low, high = sorted((first(index), first(source)))
            head[high] = low
    found: dict[int, list[int]] = {}
    for index in range(len(net.layers)):
        found.setdefault(first(index), []).append(index)
    return list(found.values())


def free_groups(net: Net) -> list[list[int]]:
    """Return the groups that may lose neurons: those without the input and the output.

    Args:
        net: the network.
    """
    ends = {0, len(net.layers) - 1}
    return [group for group in groups(net) if not ends & set(group)]
