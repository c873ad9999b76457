"""Say by bits which layers feed which, and find those that lie on no way from input to output.

Nodes are numbered from the input, 0, over the hidden layers to the output. Links go forward only,
so that the bits are the upper triangle of a matrix, row by row (the binary connectivity matrix of
Ravishankar et al., "Pruned Genetic-NAS on GPU Accelerator Platforms with Chaos-on-Edge
Hyperparameters").
"""

import numpy as np
from numpy.typing import NDArray

from evener.search.genes import Genomes

Matrices = NDArray[
    np.bool_
]  # (networks, nodes, nodes); [n, i, j]: node i of network n feeds node j


def count_links(nodes: int) -> int:
    """Return how many links there may be among nodes.

    Example:
        >>> count_links(7)
        21
    """
    return nodes * (nodes - 1) // 2


def link_bit(nodes: int, start: int, end: int) -> int:
    """Return which of the link bits says whether a node feeds a later one.

    Example:
        >>> matrix = read_links(np.arange(count_links(4))[None] == link_bit(4, 1, 3), 4)[0]
        >>> np.argwhere(matrix).tolist()
        [[1, 3]]
    """
    return start * nodes - start * (start + 1) // 2 + end - start - 1


def read_links(genomes: Genomes, nodes: int) -> Matrices:
    """Return the matrices of link bits, (genomes, nodes, nodes)."""
    matrices = np.zeros((nodes, nodes, len(genomes)), bool)  # so that sweeps run along genomes
    matrices[np.triu_indices(nodes, 1)] = genomes.T
    return matrices.transpose(2, 0, 1)


def write_links(matrices: Matrices) -> Genomes:
    """Return the link bits of matrices; the inverse of `read_links`."""
    return matrices.transpose(1, 2, 0)[np.triu_indices(matrices.shape[-1], 1)].T


def live_nodes(matrices: Matrices) -> NDArray[np.bool_]:
    """Return which nodes lie on a way from the input to the output, (networks, nodes).

    One sweep forward and one back find the fixed point of removing, again and again, each node that
    nothing feeds or that feeds nothing. Where no way leads to the output no node is live.

    Example:
        >>> live_nodes(read_links(np.array([[1, 1, 0]], bool), 3)).tolist()  # 1 feeds nothing
        [[True, False, True]]
    """
    links = matrices.transpose(1, 2, 0)
    fed, used = np.zeros((2, *links.shape[1:]), bool)  # (nodes, networks)
    fed[0] = used[-1] = True
    for node in range(1, len(links)):
        fed[node] = (fed[:node] & links[:node, node]).any(axis=0)
    for node in range(len(links) - 2, -1, -1):
        used[node] = (used[node + 1 :] & links[node, node + 1 :]).any(axis=0)
    live: NDArray[np.bool_] = fed & used
    return live.T


def prune_links(matrices: Matrices) -> Matrices:
    """Keep only the links between live nodes; what is computed stays the same.

    Example:
        >>> write_links(prune_links(read_links(np.array([[1, 1, 0]], bool), 3))).tolist()
        [[False, True, False]]
    """
    live = live_nodes(matrices)
    return matrices & live[:, :, None] & live[:, None, :]
