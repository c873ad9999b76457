"""Rows of a dataset as populations learn from them: standardised by the training split."""

import torch

from evener.data.dataset import Dataset, SplitName
from evener.train.model import standardisation
from evener.train.population.course import Rows


def standardised_rows(dataset: Dataset, part: SplitName) -> Rows:
    """Return the rows of one split.

    Args:
        dataset: whose training split says mean and scale.
        part: which split.
    """
    mean_F, scale_F = standardisation(dataset.examples("train")[0], dataset.words)
    x_BF, wanted_BO = dataset.examples(part)
    return Rows(torch.from_numpy((x_BF - mean_F) * scale_F), torch.tensor(wanted_BO))
