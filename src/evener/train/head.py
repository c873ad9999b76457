"""The end of a network for each task: what makes answers of its sums, and what they are held to.

Shapes in names: B rows of a batch, R rows to learn from, O outputs.
"""

from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from evener.artifacts.dataset import Task
from evener.artifacts.train_section import ClassWeight
from evener.train.clean import OUTPUT, VALUES

LABEL_SMOOTHING: Final = 0.1
INPUT_NOISE: Final[dict[Task, float]] = {"classes": 0.3, "labels": 0.3, "numbers": 0.0}
"""In standard deviations of each feature. A number changes with its features, a class need not."""


class Head(nn.Module):
    """Makes probabilities of classes or of labels, or numbers in the units of the targets.

    Numbers are learned with a mean of 0 and a spread of 1; the way back is part of the network.

    Args:
        task: what is predicted.
        targets_RO: what is to be learned, from which a head takes means, spreads and weights.
        class_weight: "balanced" if rows of rare classes, or rare labels, are to count for more.

    Attributes:
        task: what is predicted.
        centre: (O,) what is added to the scaled sums; 0 but for numbers.
        spread: (O,) what the sums are multiplied by; 1 but for numbers.
        importance: (O,) how much a row of each class, or each label, counts.
    """

    centre: Tensor
    spread: Tensor
    importance: Tensor

    def __init__(
        self, task: Task, targets_RO: NDArray[np.float32], *, class_weight: ClassWeight = "none"
    ) -> None:
        super().__init__()
        self.task = task
        outputs = targets_RO.shape[1]
        centre_O, spread_O = np.zeros(outputs), np.ones(outputs)
        if task == "numbers":
            centre_O, spread_O = target_scaling(targets_RO)
        self.register_buffer("centre", torch.tensor(centre_O, dtype=torch.float32))
        self.register_buffer("spread", torch.tensor(spread_O, dtype=torch.float32))
        weights_O = importance(task, targets_RO, class_weight)
        self.register_buffer("importance", torch.from_numpy(weights_O), persistent=False)

    def forward(self, sums_BO: Tensor) -> Tensor:
        """Return the answers (B, O) that sums come to."""
        if self.task == "classes":
            return torch.softmax(sums_BO, dim=-1)
        if self.task == "labels":
            return torch.sigmoid(sums_BO)
        return sums_BO * self.spread + self.centre

    def wanted(self, targets_RO: NDArray[np.float32]) -> Tensor:
        """Return what sums are compared with."""
        targets = torch.tensor(targets_RO)
        return (targets - self.centre) / self.spread if self.task == "numbers" else targets

    def loss(self, sums_BO: Tensor, wanted_BO: Tensor) -> Tensor:
        """Return the mean loss of the rows of a batch.

        Cross-entropy with smoothed labels, the binary cross-entropies of the labels, or half of the
        squared errors, each added up over the outputs: as in the trials of a search, so that rates
        and decays that evolved there mean the same here.
        """
        if self.task == "classes":
            return functional.cross_entropy(sums_BO, smoothed(wanted_BO), weight=self.importance)
        outputs = sums_BO.shape[1]
        if self.task == "labels":
            return outputs * functional.binary_cross_entropy_with_logits(
                sums_BO, wanted_BO, pos_weight=self.importance
            )
        return outputs / 2 * functional.mse_loss(sums_BO, wanted_BO)


def smoothed(wanted_BO: Tensor) -> Tensor:
    """Return the probabilities of classes that are learned in the place of certain ones.

    Example:
        >>> smoothed(torch.tensor([[1.0, 0.0]])).tolist()
        [[0.949999988079071, 0.05000000074505806]]
    """
    return wanted_BO * (1 - LABEL_SMOOTHING) + LABEL_SMOOTHING / wanted_BO.shape[1]


def output_name(task: Task) -> str:
    """Return the name of the output of a network for a task.

    Example:
        >>> output_name("labels"), output_name("numbers")
        ('probabilities', 'values')
    """
    return VALUES if task == "numbers" else OUTPUT


def target_scaling(
    targets_RO: NDArray[np.float32],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean (O,) and the spread (O,) of targets; a spread of 1 where they are constant.

    Example:
        >>> target_scaling(np.array([[1.0, 7.0], [3.0, 7.0]], np.float32))
        (array([2., 7.]), array([1., 1.]))
    """
    mean_O = targets_RO.mean(axis=0, dtype=np.float64)
    spread_O = targets_RO.std(axis=0, dtype=np.float64)
    varies_O = spread_O > np.finfo(np.float32).tiny
    return mean_O, np.where(varies_O, spread_O, 1.0)


def importance(
    task: Task, targets_RO: NDArray[np.float32], class_weight: ClassWeight
) -> NDArray[np.float32]:
    """Return how much a row of each class, or the presence of each label, counts in the loss.

    Balanced classes count alike in all, and their rows 1 on average; a balanced label counts as
    much where it is there as where it is not.

    Example:
        >>> targets = np.eye(2, dtype=np.float32)[[0, 0, 0, 1]]
        >>> importance("classes", targets, "balanced").astype(float).round(3).tolist()
        [0.667, 2.0]
        >>> importance("labels", targets, "balanced").astype(float).round(3).tolist()
        [0.333, 3.0]
    """
    rows, outputs = targets_RO.shape
    there_O = targets_RO.sum(axis=0, dtype=np.float64)
    weights_O = np.ones(outputs)
    if class_weight == "balanced" and task == "classes":
        weights_O = rows / (outputs * np.maximum(there_O, 1))
    elif class_weight == "balanced" and task == "labels":
        weights_O = (rows - there_O) / np.maximum(there_O, 1)
    return weights_O.astype(np.float32)
