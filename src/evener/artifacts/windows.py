"""Say which neurons of a layer each shard of the next one sees, and so which weights exist.

A layer is a ring, and a shard sees a window of it. Plain numbers only:
`evener.train.sharding` makes lists of indices of them, for training. Layers are counted from 0,
the input.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from evener.artifacts.topology import Halo, Topology

# Weights that exist, of all between two layers, from which on a product with zeros is written into
# a network's file. Between layers of 1,024 neurons and on one core of ONNX Runtime both take
# equally long at a share of 0.5 with 8 shards, and for one row at 0.15 with 64: what shards see
# twice has to be copied.
DENSE_FROM: Final = 0.25


@dataclass(frozen=True, slots=True)
class Window:
    """What one shard of a layer sees of the layer before.

    Attributes:
        neurons: how many the shard has.
        start: the first that it sees, which may be below 0.
        count: how many it sees, one behind another on a ring.
    """

    neurons: int
    start: int
    count: int


def windows_of(topology: Topology, widths: Sequence[int], layer: int) -> tuple[Window, ...]:
    """Return what each shard of a layer sees of the layer before, in order.

    Where neurons are shuffled, windows are of their order after that.

    Args:
        topology: the rule.
        widths: neurons of each layer, the input first.
        layer: 1 for the first hidden layer.

    Example:
        >>> windows_of(Topology(shards=2, halo=1), (3, 8, 4), 2)
        (Window(neurons=2, start=-1, count=6), Window(neurons=2, start=3, count=6))
    """
    replicated = layer == 1 and topology.input == "replicated"
    halo: Halo = "full" if replicated else topology.halo
    return _windows(widths[layer - 1], widths[layer], topology.shards, halo)


def groups_of(topology: Topology, widths: Sequence[int], layer: int) -> int:
    """Return how many means of neurons before all shards of a layer see.

    Args:
        topology: the rule.
        widths: neurons of each layer, the input first.
        layer: 1 for the first hidden layer.
    """
    if topology.halo == "full" or (layer == 1 and topology.input == "replicated"):
        return 0
    before = widths[layer - 1]
    shards = min(topology.shards, before)
    return shards * min(topology.coarse, before // shards)


def seen_by(topology: Topology, widths: Sequence[int]) -> tuple[tuple[Window, ...], ...]:
    """Return the windows of each layer, those of neighbours that see the same taken together.

    Topologies of equal windows are the same network, where neither shuffles neurons or takes means.

    Args:
        topology: the rule.
        widths: neurons of each layer, the input first.

    Example:
        >>> small = (3, 8, 2)
        >>> seen_by(Topology(shards=2, halo=1), small) == seen_by(Topology(shards=4, halo=1), small)
        True
    """
    return tuple(
        _joined(windows_of(topology, widths, layer), widths[layer - 1])
        for layer in range(1, len(widths))
    )


def sees_all(topology: Topology, widths: Sequence[int]) -> bool:
    """Return whether every neuron sees every neuron of the layer before.

    Args:
        topology: the rule.
        widths: neurons of each layer, the input first.

    Example:
        >>> [sees_all(Topology(shards=2, halo=halo), (3, 8, 2)) for halo in (1, 2)]
        [False, True]
    """
    return count_weights(topology, widths) >= count_weights(Topology(), widths)


def count_weights(topology: Topology, widths: Sequence[int]) -> int:
    """Return how many weights exist, biases left out.

    Args:
        topology: the rule.
        widths: neurons of each layer, the input first.

    Example:
        >>> small = (3, 64, 128, 256, 64)
        >>> count_weights(Topology(), small), count_weights(Topology(shards=32, halo=1), small)
        (57536, 2880)
    """
    return sum(_exist(topology, widths, layer) for layer in range(1, len(widths)))


def count_stored(topology: Topology, widths: Sequence[int]) -> int:
    """Return how many numbers of four bytes a network's file has for its weights, biases left out.

    Where many weights of a layer exist, the others are written as zeros; else what each shard sees
    is written too, in eight bytes a neuron.

    Args:
        topology: the rule.
        widths: neurons of each layer, the input first.

    Example:
        >>> [count_stored(Topology(shards=shards, halo=1), (3, 64, 64)) for shards in (2, 16)]
        [4288, 768]
    """
    total = 0
    for layer in range(1, len(widths)):
        exist = _exist(topology, widths, layer)
        if written_dense(topology, widths, layer):
            total += widths[layer] * (widths[layer - 1] + groups_of(topology, widths, layer))
            continue
        shown = sum(one.count for one in windows_of(topology, widths, layer) if one.neurons)
        total += exist + 2 * shown
    return total


def written_dense(
    topology: Topology, widths: Sequence[int], layer: int, dense_from: float = DENSE_FROM
) -> bool:
    """Return whether a layer is written as one product, with zeros for weights that do not exist.

    Args:
        topology: the rule.
        widths: neurons of each layer, the input first.
        layer: 1 for the first hidden layer.
        dense_from: share of the weights that exist from which on it is.
    """
    seen = widths[layer - 1] + groups_of(topology, widths, layer)
    return _exist(topology, widths, layer) >= dense_from * widths[layer] * seen


def _exist(topology: Topology, widths: Sequence[int], layer: int) -> int:
    means = groups_of(topology, widths, layer)
    windows = windows_of(topology, widths, layer)
    return sum(one.neurons * (one.count + means) for one in windows)


@lru_cache(maxsize=4096)
def _windows(before: int, here: int, shards: int, halo: Halo) -> tuple[Window, ...]:
    groups = min(shards, before, here)
    found = []
    for shard in range(shards):
        first, last = here * shard // shards, here * (shard + 1) // shards
        if halo == "full":
            found.append(Window(last - first, 0, before))
            continue
        if first == last:
            found.append(Window(0, 0, 0))
            continue
        group = shard if groups == shards else first * groups // here
        low = before * group // groups - halo
        count = before * (group + 1) // groups + halo - low
        low, count = (0, before) if count >= before else (low, count)
        found.append(Window(last - first, low, count))
    return tuple(found)


def _joined(windows: Sequence[Window], before: int) -> tuple[Window, ...]:
    joined: list[Window] = []
    for one in windows:
        if not one.neurons:
            continue
        start = one.start % before
        last = joined[-1] if joined else None
        if last is not None and (last.start, last.count) == (start, one.count):
            joined[-1] = Window(last.neurons + one.neurons, start, one.count)
        else:
            joined.append(Window(one.neurons, start, one.count))
    return tuple(joined)
