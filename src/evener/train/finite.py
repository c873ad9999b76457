"""Refuse answers that are no finite numbers, and say which row they come from."""

import numpy as np

from evener.data.dataset import Dataset, SplitName
from evener.errors import InvalidDataError
from evener.train.metrics import Numbers
from evener.units import count


def check_answers(dataset: Dataset, part: SplitName, answers_RO: Numbers) -> None:
    """Check that a model answers rows with numbers.

    Args:
        dataset: whose rows they are.
        part: of its split.
        answers_RO: to all rows of the part, in their order.

    Raises:
        InvalidDataError: some are none, since a row lies far beyond those that were learned from.
    """
    wrong = np.flatnonzero(~np.isfinite(answers_RO).all(axis=1))
    if not len(wrong):
        return
    row = dataset.examples(part)[0][wrong[0]].astype(np.float64)
    learned = dataset.examples("train")[0]
    low, high = learned.min(axis=0).astype(np.float64), learned.max(axis=0).astype(np.float64)
    beyond = np.maximum(row - high, low - row) / np.maximum(high - low, np.finfo(np.float32).tiny)
    place = int(np.argmax(beyond))
    raise InvalidDataError(
        f"the answers to {len(wrong)} of {count(len(answers_RO), f'{part} row')} of {dataset.name} "
        f"are no finite numbers; in the first of them '{dataset.feature_names[place]}' is "
        f"{row[place]:g}, and in training rows {low[place]:g} to {high[place]:g}: leave such rows "
        "out, or bring the number nearer",
        column=dataset.feature_names[place],
    )
