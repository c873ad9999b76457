"""Ask a network that is spread over ranks for whole answers, and judge them."""

from itertools import pairwise
from typing import Final

import torch
from torch import Tensor

from evener.train.ranked import RankedNetwork

TOGETHER: Final = 1024
"""Rows that are answered at a time."""


def whole_answers(network: RankedNetwork, inputs_BI: Tensor) -> Tensor:
    """Return all outputs, (O, B), on every rank; every rank calls it.

    Args:
        network: the rank's part.
        inputs_BI: whole rows.
    """
    mine = network.forward(inputs_BI).contiguous()
    bounds = network.placement.bounds(network.shape.widths[-1]).tolist()
    answers_OB = torch.empty(bounds[-1], len(inputs_BI), dtype=mine.dtype)
    parts = [answers_OB[first:last].numpy() for first, last in pairwise(bounds)]
    network.communicator.all_gather(mine.numpy(), parts)
    return answers_OB


def judge(network: RankedNetwork, inputs_RI: Tensor, wanted_RO: Tensor) -> tuple[float, float]:
    """Return the mean loss of rows, and the share whose largest answer is the wanted one.

    Args:
        network: the rank's part; every rank calls it, and gets the same.
        inputs_RI: whole rows.
        wanted_RO: what it should answer to them, one row or more.
    """
    loss, right = 0.0, 0
    for inputs_BI, wanted_BO in zip(
        torch.split(inputs_RI, TOGETHER), torch.split(wanted_RO, TOGETHER), strict=True
    ):
        answers_OB = whole_answers(network, inputs_BI)
        right += int((answers_OB.argmax(0) == wanted_BO.argmax(1)).sum())
        network.compare(wanted_BO)
        loss += network.loss() * len(inputs_BI)
    return loss / len(inputs_RI), right / len(inputs_RI)
