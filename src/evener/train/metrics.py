"""How good predicted classes are: accuracy and macro F1."""

import numpy as np
from numpy.typing import NDArray


def quality(
    labels: NDArray[np.int64], predicted: NDArray[np.int64], classes: int
) -> dict[str, float]:
    """Return every metric by name; each lies in [0, 1] and more is better.

    `f1` is the mean over the classes of 2 TP / (2 TP + FP + FN), each class counting alike; a
    class that is neither there nor predicted counts 0.

    Args:
        labels: (rows,), the true classes.
        predicted: (rows,), the answers.
        classes: how many there are.

    Example:
        >>> quality(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), classes=2)
        {'accuracy': 0.75, 'f1': 0.733...}
    """
    confusion = np.bincount(labels * classes + predicted, minlength=classes * classes)
    table = confusion.reshape(classes, classes)
    hits = table.diagonal()
    seen = table.sum(axis=0) + table.sum(axis=1)  # 2 TP + FP + FN of each class
    f1 = 2 * hits / np.maximum(seen, 1)
    return {"accuracy": float(hits.sum() / len(labels)), "f1": float(f1.mean())}


def standard_error(accuracy: float, rows: int) -> float:
    """Return one standard error of an accuracy that was counted on some rows.

    Example:
        >>> standard_error(0.9, rows=100)
        0.03
    """
    return float(np.sqrt(accuracy * (1 - accuracy) / rows))
