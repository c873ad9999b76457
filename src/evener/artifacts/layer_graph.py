"""Dense layers wired as a graph: what a genome of links means, and what training fills."""

from itertools import pairwise
from typing import Literal

import msgspec

from evener.artifacts.files import digest
from evener.artifacts.topology import Topology
from evener.artifacts.windows import count_stored, count_weights
from evener.errors import InputError

Activation = Literal["relu", "tanh", "gelu", "sigmoid"]


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a network is trained, as far as that evolves with it.

    Attributes:
        optimiser: "sgd" or "adam".
        learning_rate: of the optimiser.
        momentum: of sgd; adam has its own and ignores this.
        weight_decay: share of a weight that a step takes off, per unit of learning rate.
    """

    optimiser: Literal["sgd", "adam"] = "sgd"
    learning_rate: float = 0.01
    momentum: float = 0.0
    weight_decay: float = 0.0


class Spread(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How widely the weights are drawn that a network begins with.

    Attributes:
        weight_variance: of a weight, times the neurons that its layer's links come from; with 2
            relu layers stand at the edge of chaos.
        bias_variance: of a bias.
    """

    weight_variance: float = 2.0
    bias_variance: float = 0.0


class LayerGraph(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="layers"
):
    """Hidden layers, and which feed which.

    Node 0 is the input, nodes 1 to `len(widths)` are the hidden layers, the next is the output. A
    layer that several feed adds up what each gives through weights of its own.

    Attributes:
        widths: units of each hidden layer.
        links: pairs (from, to) of nodes, in ascending order; each goes forward.
        activation: of the hidden layers.
        recipe: how it is trained; None if that does not evolve.
        topology: which neurons see which, of layers that are divided into shards; unset where all
            see all, so that ids and files of such networks have no word of it.
    """

    widths: tuple[int, ...] = ()
    links: tuple[tuple[int, int], ...] = ((0, 1),)
    activation: Activation = "relu"
    recipe: Recipe | None = None
    topology: Topology | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: a layer without units, or a link that goes back, stands twice, is out of
                order or names a node that is not there; a topology where none can be.
        """
        if any(width < 1 for width in self.widths):
            raise InputError(f"hidden layers of {self.widths} units: each has 1 or more")
        for start, end in self.links:
            if not 0 <= start < end <= self.output:
                raise InputError(
                    f"a link from node {start} to node {end}: links go forward among the nodes "
                    f"0 to {self.output}"
                )
        if any(one >= next_ for one, next_ in pairwise(self.links)):
            raise InputError("links stand once each, in ascending order: sort them")
        self._check_topology()

    @property
    def output(self) -> int:
        """Number of the output's node."""
        return len(self.widths) + 1

    @property
    def connected(self) -> bool:
        """Whether anything leads to the output; a genome may say otherwise."""
        return any(end == self.output for _, end in self.links)

    @property
    def chain(self) -> bool:
        """Whether each layer feeds the next and no other."""
        return self.links == tuple(pairwise(range(self.output + 1)))

    @property
    def divided(self) -> Topology | None:
        """How its neurons are divided into shards; None if they are not."""
        return None if isinstance(self.topology, msgspec.UnsetType) else self.topology

    @property
    def id(self) -> str:
        """Short hash that equal networks share.

        Example:
            >>> LayerGraph().id == LayerGraph(links=((0, 1),)).id
            True
        """
        return digest(msgspec.to_builtins(self))[:12]

    def macs(self, features: int, classes: int) -> int:
        """Count the multiply-accumulates of one prediction, of shards those by weights that exist.

        Example:
            >>> LayerGraph(widths=(32,), links=((0, 1), (0, 2), (1, 2))).macs(64, 10)
            3008
        """
        units = (features, *self.widths, classes)
        if self.divided is not None:
            return count_weights(self.divided, units)
        return sum(units[start] * units[end] for start, end in self.links)

    def weights(self, features: int, classes: int) -> int:
        """Count the numbers that training sets: a bias for each unit beside the weights."""
        return self.macs(features, classes) + sum(self.widths) + classes

    def stored(self, features: int, classes: int) -> int:
        """Count the numbers of four bytes that its file has for its weights and biases.

        Of shards that is more than `weights`: zeros stand where most weights of a layer exist, and
        what a shard sees where few do.
        """
        if self.divided is None:
            return self.weights(features, classes)
        units = (features, *self.widths, classes)
        return count_stored(self.divided, units) + sum(units[1:])

    def __str__(self) -> str:
        """Name it for people.

        Example:
            >>> str(LayerGraph(widths=(64, 32), links=((0, 1), (0, 2), (1, 2), (2, 3))))
            'layers 64-32 relu, 4 links'
        """
        shape = "-".join(map(str, self.widths)) or "none"
        divided = ""
        if self.divided is not None:
            divided = f", {self.divided}".removesuffix(", input replicated")
        return (
            f"layers {shape} {self.activation}, {len(self.links)} "
            f"link{'s' * (len(self.links) != 1)}{divided}"
        )

    def _check_topology(self) -> None:
        topology = self.divided
        if topology is None:
            return
        if not self.chain or self.recipe is not None:
            raise InputError(
                f"{topology}: shards are of layers one behind another, which AdamW trains: leave "
                "out the topology, or links that skip a layer and the recipe"
            )
        if topology != Topology(shards=topology.shards, halo=topology.halo):
            raise InputError(
                f"{topology}: a network that was searched for has shards and a halo alone: leave "
                "out the rest"
            )
        if topology.dense or not self.widths:
            raise InputError(
                f"{topology}: every neuron sees all of the layer before: leave out the topology"
            )
