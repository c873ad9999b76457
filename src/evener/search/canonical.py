"""Number the layers of a network so that the same network gets the same numbers.

Two genomes may wire the same layers in another order. Layers are told apart by what they are, then
again and again by what feeds them and what they feed (Weisfeiler and Leman, 1968), and numbered in
the order of what came out. Different networks never get equal links, since the links themselves are
kept; in rare symmetric cases one network may keep two numberings, which only costs an evaluation.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray


def canonical_order(matrix: NDArray[np.bool_], labels: Sequence[int]) -> list[int]:
    """Return the nodes in an order that does not depend on how they were numbered.

    Args:
        matrix: (nodes, nodes), [i, j]: i feeds j; links go forward and every node is live.
        labels: what each node is, such as its width.

    Returns:
        The nodes, so that links still go forward.

    Example:
        Whether the narrow or the wide of two parallel layers comes first makes no difference:

        >>> links = np.array([[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]], bool)
        >>> canonical_order(links, [0, 8, 64, 0]), canonical_order(links, [0, 64, 8, 0])
        ([0, 1, 2, 3], [0, 2, 1, 3])
    """
    nodes = range(len(matrix))
    feeds = [np.flatnonzero(matrix[node]).tolist() for node in nodes]
    fed_by = [np.flatnonzero(matrix[:, node]).tolist() for node in nodes]
    depths: list[int] = []
    for node in nodes:
        depths.append(1 + max((depths[one] for one in fed_by[node]), default=-1))
    colours = _ranks([(depths[node], labels[node]) for node in nodes])
    while True:
        told_apart = len(set(colours))
        colours = _ranks(
            [
                (
                    colours[node],
                    tuple(sorted(colours[one] for one in fed_by[node])),
                    tuple(sorted(colours[one] for one in feeds[node])),
                )
                for node in nodes
            ]
        )
        if len(set(colours)) == told_apart:
            return sorted(nodes, key=colours.__getitem__)


def _ranks(keys: Sequence[tuple[Hashable, ...]]) -> list[int]:
    """Return the place of each key among the different ones."""
    place = {key: index for index, key in enumerate(sorted(set(keys)))}
    return [place[key] for key in keys]
