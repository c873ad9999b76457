"""Leave hidden units out of the steps of a training (Srivastava et al., 2014)."""

import torch
from torch import Tensor, nn


class LeaveOut(nn.Module):
    """Sets units to 0 while a network learns, and raises the others so that their mean is kept.

    A network that does not learn, such as one that is written, passes values on as they are.

    Args:
        rate: probability with which a unit is left out, in [0, 1).
        seed: what the units of each step are drawn from.
    """

    def __init__(self, rate: float, *, seed: int) -> None:
        super().__init__()
        self._rate = rate
        self._generator = torch.Generator().manual_seed(seed)

    def forward(self, values_BO: Tensor) -> Tensor:
        """Return values (B, O) without the units that are left out."""
        if not self.training or not self._rate:
            return values_BO
        drawn_BO = torch.rand(values_BO.shape, generator=self._generator)
        return values_BO * (drawn_BO >= self._rate) / (1 - self._rate)
