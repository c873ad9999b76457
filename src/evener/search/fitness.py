"""The paper's fitness, equation 3: error, complexity and pruning in one number, less is better.

As printed it adds signed errors, which cancel, and rewards not pruning. `paper_abs` is what its
words ask for; `paper_literal` is what it says, and shows what is wrong with it.
"""

import numpy as np
from numpy.typing import NDArray

Answers = NDArray[np.float64]  # (rows, outputs)


def paper_abs(
    answers: Answers, targets: Answers, *, alpha: float, complexity: float, mu: float, pruned: float
) -> float:
    """Return the mean error of an output, and what complexity and links that are left cost.

    Args:
        answers: of the network, (rows, outputs).
        targets: that were right, one-hot for classes, (rows, outputs).
        alpha: weight of the complexity; the paper calls it the learning rate.
        complexity: of the network over the largest allowed, 0 to 1.
        mu: weight of the links that are left.
        pruned: share of the network that was pruned, 0 to 1.

    Example:
        >>> answers, targets = np.array([[0.75, 0.25]]), np.array([[1.0, 0.0]])
        >>> paper_abs(answers, targets, alpha=0.1, complexity=0.5, mu=0.1, pruned=0.5)
        0.35
    """
    error = float(np.abs(answers - targets).mean())
    return error + alpha * complexity + mu * (1 - pruned)


def paper_literal(
    answers: Answers, targets: Answers, *, alpha: float, complexity: float, mu: float, pruned: float
) -> float:
    """Return equation 3 as printed: signed errors, and a price on pruning.

    Args:
        answers: of the network, (rows, outputs).
        targets: that were right, one-hot for classes, (rows, outputs).
        alpha: weight of the complexity.
        complexity: of the network over the largest allowed, 0 to 1.
        mu: weight of the pruning.
        pruned: share of the network that was pruned, 0 to 1.

    Example:
        An answer that is wrong in both directions costs nothing:

        >>> answers, targets = np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]])
        >>> paper_literal(answers, targets, alpha=0.0, complexity=0.0, mu=0.0, pruned=0.0)
        0.0
    """
    # The target stands first in the paper, and output classes are added up over all rows.
    error = float((targets - answers).sum() / answers.size)
    return error + alpha * complexity + mu * pruned


def paper_score(fitness: float) -> float:
    """Return what Table II seems to show, more is better: no accuracy, though of like size.

    Example:
        >>> paper_score(0.0352)
        96.48
    """
    return 100 * (1 - fitness)
