"""Ask a trained network in double precision, in which answers do not depend on how rows are cut.

Shapes in names: B rows of a batch, F features, O outputs.
"""

from copy import deepcopy

import numpy as np
import torch
from numpy.typing import NDArray

from evener.train.fit import Trained
from evener.train.loop import one_thread


def exact_answers(trained: Trained, x_BF: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the answers (B, O) to some rows, computed in double precision.

    In single precision a library adds up otherwise for ten rows than for one, and the same row
    gets answers that differ in the last bits.
    """
    with one_thread(), torch.no_grad():
        model = deepcopy(trained.model).double()
        answers_BO: NDArray[np.float64] = model(torch.tensor(x_BF, dtype=torch.float64)).numpy()
    return answers_BO
