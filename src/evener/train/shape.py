"""What a network is, whoever computes it: widths, activations, which neurons see which, a seed."""

from dataclasses import dataclass
from typing import Final

from evener.artifacts.topology import Topology
from evener.errors import InputError
from evener.train.activations import RULES, Activation

DENSE: Final = Topology()


@dataclass(frozen=True, slots=True)
class Shape:
    """What a network is, whoever computes it.

    Attributes:
        widths: neurons of each layer, the input first.
        activations: of each layer but the input.
        topology: which neurons see which.
        seed: what its weights are drawn from.
    """

    widths: tuple[int, ...]
    activations: tuple[Activation, ...]
    topology: Topology = DENSE
    seed: int = 0

    def __post_init__(self) -> None:
        """Check that it is a network.

        Raises:
            InputError: fewer than two layers, an empty one, an unknown activation, or a softmax
                before the end.
        """
        if len(self.widths) < 2:
            raise InputError("a network has an input and an output: give two widths or more")
        if min(self.widths) < 1:
            raise InputError(f"widths {list(self.widths)}: every layer has 1 neuron or more")
        if len(self.activations) != len(self.widths) - 1:
            raise InputError(
                f"{len(self.activations)} activations for {len(self.widths) - 1} layers after the "
                "input: give one for each"
            )
        unknown = sorted(set(self.activations) - set(RULES))
        if unknown:
            raise InputError(f"'{unknown[0]}' is no activation; choose of {', '.join(RULES)}")
        if "softmax" in self.activations[:-1]:
            raise InputError("softmax stands at the end of a network: give another to the layers")
