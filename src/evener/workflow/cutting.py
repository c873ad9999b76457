"""How a network is read and cut, whatever is then done with it."""

from collections.abc import Mapping
from typing import TypedDict

import msgspec

from evener.artifacts.plan import Plan
from evener.artifacts.profile import Granularity
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.model import Network, load_network

Shapes = Mapping[str, tuple[int, ...]]
Fixed = Mapping[str, float]
States = Mapping[str, str]


class CuttingChoices(TypedDict, total=False):
    """The fields of `Cutting`, as keyword arguments."""

    shapes: Shapes
    fixed: Fixed
    states: States
    granularity: Granularity
    max_live: int | None


class Cutting(msgspec.Struct, frozen=True, kw_only=True):
    """How a network is read and cut.

    Attributes:
        shapes: static shapes of the inputs that leave some size open, by input name.
        fixed: a number for each input that is to be constant, by input name.
        states: for each output that is an input of the next frame, the input, by output name.
        granularity: rule by which it is cut into blocks.
        max_live: most tensors that cross a cut, by the rule "node"; None for 2.
    """

    shapes: Shapes = {}
    fixed: Fixed = {}
    states: States = {}
    granularity: Granularity = "paper"
    max_live: int | None = None

    @property
    def in_slices(self) -> bool:
        """Whether heavy layers are sliced, so that a cut can go through one."""
        return self.granularity == "node"

    def load(self, net: str) -> Network:
        """Read a network, its heavy layers in slices by the rule "node".

        Args:
            net: path of an ONNX file, or name of a built-in network.

        Raises:
            InputError: the network or a shape cannot be used.
        """
        return load_network(
            net,
            shapes=self.shapes,
            fixed=self.fixed,
            states=self.states,
            in_slices=self.in_slices,
        )

    def cut(self, network: Network) -> Blocks:
        """Cut a network that is loaded.

        Raises:
            InputError: `max_live` does not go with the rule.
        """
        return cut_into_blocks(network, self.granularity, max_live=self.max_live)

    def as_planned(self, plan: Plan) -> "Cutting":
        """Return the same with the rule for cuts by which a plan was made."""
        return msgspec.structs.replace(self, granularity=plan.granularity, max_live=plan.max_live)
