"""The built-in set: 1,797 handwritten digits of 8 x 8 pixels, as scikit-learn ships it."""

from typing import Final

import numpy as np

from evener.data.table import Table
from evener.errors import MissingExtraError

TARGET: Final = "label"


def read_digits() -> Table:
    """Return the digits; each pixel is a number from 0 to 16.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise MissingExtraError("the dataset 'digits'", extra="train") from error
    pixels, labels = load_digits(return_X_y=True)
    return Table(
        features=np.asarray(pixels, np.float32),
        feature_names=tuple(f"pixel_{row}_{column}" for row in range(8) for column in range(8)),
        targets={TARGET: labels.astype(np.float64)},
        where="digits",
        row_name=lambda row: f"row {row}",
        picture=(1, 8, 8),
    )
