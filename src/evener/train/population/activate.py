"""The activations of networks, as PyTorch computes them."""

from collections.abc import Callable, Mapping
from typing import Final

import torch
from torch import Tensor
from torch.nn import functional

from evener.train.population.individual import ActivationName

ACTIVATIONS: Final[Mapping[ActivationName, Callable[[Tensor], Tensor]]] = {
    "relu": functional.relu,
    "tanh": torch.tanh,
    "gelu": functional.gelu,
    "sigmoid": torch.sigmoid,
    "identity": lambda sums: sums,
}
