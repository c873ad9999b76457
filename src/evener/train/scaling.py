"""Bring features to a mean of 0 and a spread of 1, and later let the first layer do it itself."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray

from evener.artifacts.topology import Topology
from evener.train.ranked import RankedNetwork
from evener.train.views import parts


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Which mean and spread each feature has.

    Attributes:
        mean: float32 (F,).
        spread: float32 (F,); 1 where a feature is the same in all rows.
    """

    mean: NDArray[np.float32]
    spread: NDArray[np.float32]

    @classmethod
    def of(cls, features_RF: NDArray[np.float32], topology: Topology) -> Self:
        """Find them in rows.

        Where shards see means of each other's features, all features have one mean and spread:
        that of a mean of features follows from no others.

        Args:
            features_RF: rows to learn from.
            topology: which shard sees what.
        """
        axis = None if topology.pools_input else 0
        shape = features_RF.shape[1:]
        mean = np.broadcast_to(features_RF.mean(axis, dtype=np.float64), shape)
        spread = np.broadcast_to(features_RF.std(axis, dtype=np.float64), shape)
        return cls(mean.astype(np.float32), np.where(spread > 0, spread, 1.0).astype(np.float32))

    def apply(self, features_RF: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return features with a mean of 0 and a spread of 1.

        Example:
            >>> rows = np.array([[1, 5], [3, 5]], np.float32)
            >>> Scaling.of(rows, Topology()).apply(rows).tolist()
            [[-1.0, 0.0], [1.0, 0.0]]
        """
        return (features_RF - self.mean) / self.spread

    def fold(self, network: RankedNetwork) -> None:
        """Let a rank's part of a network take features as they are, and answer as before.

        Args:
            network: trained on what `apply` returned; its first layer is changed.
        """
        features = len(self.mean)
        for _, columns, weight_MC, bias_M in parts(network, 1):
            seen = np.minimum(columns, features - 1)  # coarse values have all one scaling
            weight_MC.div_(torch.from_numpy(self.spread[seen]))
            bias_M.sub_(weight_MC @ torch.from_numpy(self.mean[seen]))
