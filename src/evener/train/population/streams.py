"""Draw what each individual of a stack meets at each step: its rows and the neurons left out.

All is a function of an individual's own seed and of the step, so it is the same whoever stands
beside it, and after a training went on elsewhere. Shapes in names: P individuals, B rows of a
batch, N rows of the data, O neurons of a node.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evener.train.draw import row_order, row_views, units_kept
from evener.train.population.buckets import node_in
from evener.train.population.individual import Individual
from evener.train.population.trainee import Trainee

_TOGETHER: Final = 16  # steps whose masks are drawn in one go


def epoch_order(individuals: Sequence[Trainee], epoch: int, rows: int) -> Tensor:
    """Return the order in which each individual takes the rows of the data, (N, P).

    Args:
        individuals: of the stack.
        epoch: from 0.
        rows: of the data.
    """
    orders = [row_order(one.seed, epoch, rows) for one in individuals]
    return torch.from_numpy(np.stack(orders, 1))


def epoch_views(individuals: Sequence[Trainee], epoch: int, rows: int, views: int) -> Tensor:
    """Return which view each individual has of the rows of its order, (N, P).

    Args:
        individuals: of the stack.
        epoch: from 0.
        rows: of the data.
        views: how many there are.
    """
    drawn = [row_views(one.seed, epoch, rows, views) for one in individuals]
    return torch.from_numpy(np.stack(drawn, 1))


class Dropout:
    """The neurons that are left out (Srivastava et al., 2014), each individual at its own rate.

    Args:
        individuals: of the stack.
        widths: neurons of its nodes.
        batch: rows of a whole batch; the first ones' masks are those of a smaller one.
        dtype: of the masks.
        device: where they are read.
    """

    def __init__(
        self,
        individuals: Sequence[Individual],
        widths: Sequence[int],
        batch: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self._individuals = individuals
        self._batch = batch
        shapes = [(len(individuals), batch, width) for width in widths[1:-1]]
        self._drawn = [torch.ones(shape, dtype=dtype) for shape in shapes]
        on_cpu = device.type == "cpu"
        self._masks = self._drawn if on_cpu else [one.to(device) for one in self._drawn]
        self._block = range(0)
        self._kept: list[tuple[int, int, NDArray[np.bool_]]] = []

    def masks(self, batch: int) -> list[Tensor]:
        """Return what the values of each hidden node are multiplied by, (P, B, O).

        Args:
            batch: how many rows.
        """
        return [one[:, :batch] for one in self._masks]

    def draw(self, step: int) -> None:
        """Write the masks of a step.

        Args:
            step: of the training, from 0.
        """
        if step not in self._block:
            first = step - step % _TOGETHER
            self._block = range(first, first + _TOGETHER)
            self._kept = list(self._of_block())
        for row, node, kept in self._kept:
            scale = 1 / (1 - self._individuals[row].dropout)
            mask = torch.from_numpy(kept[step - self._block.start])
            self._drawn[node - 1][row, :, : mask.shape[1]].copy_(mask).mul_(scale)
        for mask, drawn in zip(self._masks, self._drawn, strict=True):
            if mask is not drawn:
                mask.copy_(drawn)

    def _of_block(self) -> Iterator[tuple[int, int, NDArray[np.bool_]]]:
        """Yield which neurons are kept, (steps, B, O), by individual and node of the stack."""
        nodes = len(self._drawn) + 2
        for row, one in enumerate(self._individuals):
            for node in range(1, len(one.widths) - 1) if one.dropout else ():
                width = one.widths[node]
                kept = units_kept(one.seed, self._block, node, self._batch * width, 1 - one.dropout)
                yield row, node_in(one, nodes, node), kept.reshape(-1, self._batch, width)
