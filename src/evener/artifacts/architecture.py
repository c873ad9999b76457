"""A model's shape before it has weights: what search proposes and training fills."""

from itertools import pairwise
from typing import ClassVar, Literal

import msgspec

from evener.artifacts.files import digest

Family = Literal["mlp", "linear", "forest", "boosting"]


class Architecture(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="mlp"
):
    """Family and sizes of a model.

    Attributes:
        family: "mlp" for a network; the others are the models it is held against.
        hidden: units of each hidden layer, for an mlp.
        activation: "relu", "tanh", "gelu" or "sigmoid", for an mlp.
        trees: how many, for a forest.
    """

    kind: ClassVar[str] = "architecture"
    schema: ClassVar[int] = 1

    family: Family = "mlp"
    hidden: tuple[int, ...] = ()
    activation: Literal["relu", "tanh", "gelu", "sigmoid"] = "relu"
    trees: int = 0

    @property
    def id(self) -> str:
        """Short hash that two equal architectures share.

        Example:
            >>> Architecture(hidden=(32,)).id == Architecture(hidden=(32,)).id
            True
        """
        return digest(msgspec.to_builtins(self))[:12]

    def widths(self, features: int, classes: int) -> tuple[int, ...]:
        """Return the units of each layer of an mlp or a linear model, input and output included.

        Example:
            >>> Architecture(hidden=(32, 16)).widths(64, 10)
            (64, 32, 16, 10)
        """
        return (features, *self.hidden, classes)

    def macs(self, features: int, classes: int) -> int:
        """Count the multiply-accumulates of one prediction of an mlp or a linear model.

        Example:
            >>> Architecture(hidden=(32,)).macs(64, 10)
            2368
        """
        return sum(one * next_ for one, next_ in pairwise(self.widths(features, classes)))

    def weights(self, features: int, classes: int) -> int:
        """Count the numbers that training sets in an mlp or a linear model.

        Example:
            >>> Architecture(hidden=(32,)).weights(64, 10)
            2410
        """
        widths = self.widths(features, classes)
        return self.macs(features, classes) + sum(widths[1:])

    def __str__(self) -> str:
        """Name it for people, such as "mlp 64-32 relu"."""
        if self.family == "mlp":
            return f"mlp {'-'.join(map(str, self.hidden)) or 'no hidden layer'} {self.activation}"
        return f"forest of {self.trees}" if self.family == "forest" else self.family
