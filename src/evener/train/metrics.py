"""How good answers are: the metrics of each task, by name.

Shapes in names: R rows, O outputs. What is wanted are the targets of a dataset; answers are the
probabilities of classes or labels, or numbers.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.dataset import Task

_LEAST: Final = float(np.finfo(np.float32).eps)  # probability that a logarithm is taken of
HALF: Final = 0.5
"""A label is predicted from this probability on."""
Numbers = NDArray[np.floating[Any]]


def quality(task: Task, wanted_RO: Numbers, answers_RO: Numbers) -> dict[str, float]:
    """Return every metric of a task by name.

    `f1` is the mean over the classes, or labels, of 2 TP / (2 TP + FP + FN), each counting alike;
    one that is neither there nor predicted counts 0. `balanced_accuracy` is the mean recall of the
    classes that are there. `auc` is the area under the ROC curve of one class, or label, against
    the rest, the mean of those that some rows have and some have not; it is left out where there
    are none. `r2` is 1 less the squared error over that of the mean, 0 where all rows want the
    same. A row of labels is right if all of them are.

    Args:
        task: what was predicted.
        wanted_RO: a 1 for each class or label that a row has, or numbers.
        answers_RO: probabilities, or numbers.

    Example:
        >>> wanted = np.eye(2)[[0, 0, 1, 1]]
        >>> found = quality("classes", wanted, np.array([[.9, .1], [.4, .6], [.2, .8], [.3, .7]]))
        >>> {name: round(value, 3) for name, value in found.items()}
        {'accuracy': 0.75, 'balanced_accuracy': 0.75, 'f1': 0.733, 'log_loss': 0.4..., 'auc': 1.0}
    """
    if task == "classes":
        return _of_classes(wanted_RO, answers_RO) | _auc(wanted_RO, answers_RO)
    if task == "labels":
        return _of_labels(wanted_RO, answers_RO) | _auc(wanted_RO, answers_RO)
    return _of_numbers(wanted_RO, answers_RO)


def standard_error(task: Task, wanted_RO: Numbers, answers_RO: Numbers) -> float:
    """Return one standard error of a task's main metric, from the rows that it was measured on.

    Accuracy, macro F1 and R² are means of ratios of two sums over rows; the delta method (Cramér,
    Mathematical Methods of Statistics, 1946, 27.7) gives the error of such from that of the sums.

    Example:
        >>> wanted = np.eye(2)[np.zeros(100, int)]
        >>> answers = np.eye(2)[np.arange(100) % 10 // 9]  # 90 of 100 are right
        >>> round(standard_error("classes", wanted, answers), 6)
        0.03
    """
    top_RO, bottom_RO = _ratio(task, wanted_RO.astype(np.float64), answers_RO.astype(np.float64))
    scale_O = np.maximum(bottom_RO.mean(axis=0), np.finfo(np.float64).tiny)
    ratio_O = top_RO.mean(axis=0) / scale_O
    influence_R = ((top_RO - ratio_O * bottom_RO) / scale_O).mean(axis=1)
    return float(influence_R.std() / np.sqrt(len(influence_R)))


def _ratio(
    task: Task, wanted_RO: NDArray[np.float64], answers_RO: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what is summed above and below the line."""
    if task == "classes":
        right_R = wanted_RO.argmax(axis=1) == answers_RO.argmax(axis=1)
        return right_R[:, np.newaxis].astype(np.float64), np.ones((len(right_R), 1))
    if task == "labels":
        predicted_RO = (answers_RO >= HALF).astype(np.float64)
        return 2 * wanted_RO * predicted_RO, wanted_RO + predicted_RO
    return (wanted_RO - answers_RO) ** 2, (wanted_RO - wanted_RO.mean(axis=0)) ** 2


def _of_classes(wanted_RO: Numbers, answers_RO: Numbers) -> dict[str, float]:
    rows, outputs = wanted_RO.shape
    labels_R, predicted_R = wanted_RO.argmax(axis=1), answers_RO.argmax(axis=1)
    confusion = np.bincount(labels_R * outputs + predicted_R, minlength=outputs * outputs)
    table = confusion.reshape(outputs, outputs)
    hits, there = table.diagonal(), table.sum(axis=1)
    recall = hits[there > 0] / there[there > 0]
    given_R = answers_RO[np.arange(rows), labels_R].astype(np.float64)
    return {
        "accuracy": float(hits.sum() / rows),
        "balanced_accuracy": float(recall.mean()),
        "f1": _f1(hits, there + table.sum(axis=0)),
        "log_loss": float(-np.log(np.clip(given_R, _LEAST, 1)).mean()),
    }


def _of_labels(wanted_RO: Numbers, answers_RO: Numbers) -> dict[str, float]:
    there_RO, predicted_RO = wanted_RO >= HALF, answers_RO >= HALF
    hits_O = (there_RO & predicted_RO).sum(axis=0)
    chance_RO = np.clip(answers_RO.astype(np.float64), _LEAST, 1 - _LEAST)
    return {
        "accuracy": float((there_RO == predicted_RO).all(axis=1).mean()),
        "f1": _f1(hits_O, there_RO.sum(axis=0) + predicted_RO.sum(axis=0)),
        "log_loss": float(-np.log(np.where(there_RO, chance_RO, 1 - chance_RO)).mean()),
    }


def _of_numbers(wanted_RO: Numbers, answers_RO: Numbers) -> dict[str, float]:
    wanted, answers = wanted_RO.astype(np.float64), answers_RO.astype(np.float64)
    squared_O = ((wanted - answers) ** 2).mean(axis=0)
    variance_O = wanted.var(axis=0)
    explained_O = 1 - squared_O / np.where(variance_O > 0, variance_O, 1)
    return {
        "mae": float(np.abs(wanted - answers).mean()),
        "rmse": float(np.sqrt(squared_O).mean()),
        "r2": float(np.where(variance_O > 0, explained_O, 0).mean()),
    }


def _f1(hits_O: NDArray[np.int64], seen_O: NDArray[np.int64]) -> float:
    """Return the mean F1; seen is 2 TP + FP + FN of each class."""
    return float((2 * hits_O / np.maximum(seen_O, 1)).mean())


def _auc(wanted_RO: Numbers, answers_RO: Numbers) -> dict[str, float]:
    there_RO = wanted_RO >= HALF
    differ_O = there_RO.any(axis=0) & ~there_RO.all(axis=0)
    areas = [
        _area(there_RO[:, output], answers_RO[:, output]) for output in np.flatnonzero(differ_O)
    ]
    return {"auc": float(np.mean(areas))} if areas else {}


def _area(there_R: NDArray[np.bool_], answers_R: Numbers) -> float:
    """Return the area under a ROC curve.

    It is the share of pairs of a row that has the class and one that has not in which the first
    has the higher answer, ties counting half (Mann and Whitney, 1947).
    """
    _, places_R, counts = np.unique(answers_R, return_inverse=True, return_counts=True)
    ranks_R = (np.cumsum(counts) - (counts - 1) / 2)[places_R]
    having = int(there_R.sum())
    pairs = having * (len(there_R) - having)
    return float((ranks_R[there_R].sum() - having * (having + 1) / 2) / pairs)
