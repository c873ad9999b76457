"""Products of all individuals at once, and arrays that lie in memory as products are quick.

A processor multiplies whole vectors of what lies side by side: a product into rows of 10 numbers
takes longer than one into rows of 32. So where a node is no multiple of a vector wide, its arrays
have the rows of a batch side by side, and the weights that lead to it have its inputs side by side;
a product into such an array is taken as the transposed one. Shapes in names: P individuals, B rows
of a batch, I and O neurons of two nodes.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

import torch
from torch import Tensor

Act = Callable[[], object]
_VECTORS: Final = 16  # numbers that products are quick in multiples of


def lies_across(width: int) -> bool:
    """Return whether arrays of a node of so many neurons have the rows of a batch side by side."""
    return width % _VECTORS != 0


def values_room(individuals: int, rows: int, width: int, like: Tensor) -> Tensor:
    """Return zeros for the values of a node, (P, B, O).

    Args:
        individuals: how many.
        rows: of a batch.
        width: neurons of the node.
        like: whose type they have, and where they are.

    Example:
        >>> like = torch.zeros(1)
        >>> values_room(2, 5, 16, like).stride(), values_room(2, 5, 10, like).stride()
        ((80, 16, 1), (50, 1, 5))
    """
    if lies_across(width):
        return like.new_zeros(individuals, width, rows).mT
    return like.new_zeros(individuals, rows, width)


def link_view(block_PK: Tensor, inputs: int, outputs: int) -> Tensor:
    """Return the numbers of a link as (P, I, O).

    Args:
        block_PK: the same numbers, K = I x O.
        inputs: neurons that the link comes from.
        outputs: neurons that it leads to.

    Example:
        >>> block = torch.zeros(1, 320)
        >>> link_view(block, 32, 10).stride(), link_view(block, 10, 32).stride()
        ((320, 1, 32), (320, 32, 1))
    """
    if lies_across(outputs) and (not lies_across(inputs) or inputs > outputs):
        return block_PK.view(len(block_PK), outputs, inputs).mT
    return block_PK.view(len(block_PK), inputs, outputs)


def product(a_PIK: Tensor, b_PKO: Tensor, into_PIO: Tensor, bias_P1O: Tensor | None = None) -> Act:
    """Return what writes the products of some arrays into another.

    Args:
        a_PIK: the first factors.
        b_PKO: the second ones.
        into_PIO: made by `values_room` or `link_view`.
        bias_P1O: what is added to each row; nothing if None.
    """
    if bias_P1O is None and a_PIK.shape[2] == 1:  # a column times a row: each number one product
        return partial(torch.mul, a_PIK, b_PKO, out=into_PIO)
    if _across(into_PIO):
        a_PIK, b_PKO, into_PIO = b_PKO.mT, a_PIK.mT, into_PIO.mT
        bias_P1O = None if bias_P1O is None else bias_P1O.mT
    if bias_P1O is None:
        return partial(torch.bmm, a_PIK, b_PKO, out=into_PIO)
    return partial(torch.baddbmm, bias_P1O, a_PIK, b_PKO, out=into_PIO)


def added_product(a_PIK: Tensor, b_PKO: Tensor, to_PIO: Tensor) -> Act:
    """Return what adds the products of some arrays to another; see `product`."""
    if _across(to_PIO):
        a_PIK, b_PKO, to_PIO = b_PKO.mT, a_PIK.mT, to_PIO.mT
    return partial(to_PIO.baddbmm_, a_PIK, b_PKO)


def _across(array: Tensor) -> bool:
    return array.stride(-1) != 1
