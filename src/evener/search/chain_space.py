"""Dense layers one behind another: a gene for each says how wide it is, or that it is not there."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import msgspec
import numpy as np
from numpy.typing import NDArray

from evener.artifacts.layer_graph import Activation, LayerGraph
from evener.artifacts.topology import Halo, Topology
from evener.artifacts.windows import seen_by, sees_all
from evener.errors import InputError
from evener.search.genes import Gene, Genomes, Levels, count_bits, read_levels, write_levels
from evener.search.nearest_levels import activation_level, nearest, recipe_levels
from evener.search.recipe_genes import RECIPE_GENES, recipe_of, silence_recipe


@dataclass(frozen=True, slots=True)
class ChainSpace:
    """Rows of hidden layers.

    Attributes:
        depth: most hidden layers.
        widths: units that a layer may have, in ascending order.
        max_nodes: most units of all hidden layers together.
        activations: what hidden layers may compute, one for a whole network.
        recipes: whether the training's settings are genes too.
        shards: into how many the neurons of a network may be divided; none if no network is.
        halos: how many neurons of either neighbour a shard may see; of as many networks.
        outputs: of the network, whose layer is divided too; counts where there are shards.
    """

    depth: int = 3
    widths: tuple[int, ...] = (32, 64, 128, 256)
    max_nodes: int = 1024
    activations: tuple[Activation, ...] = ("relu",)
    recipes: bool = False
    shards: tuple[int, ...] = ()
    halos: tuple[Halo, ...] = ()
    outputs: int = 1

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: nothing to choose from, or shards beside what they do not go with.
        """
        if self.depth < 1 or not self.widths or not self.activations:
            raise InputError(
                f"rows of {self.depth} layers, widths {self.widths}, activations "
                f"{self.activations}: give one or more of each"
            )
        if bool(self.shards) != bool(self.halos) or (self.shards and self.recipes):
            raise InputError(
                f"shards {self.shards} and halos {self.halos}, recipes {self.recipes}: give both, "
                "and no recipes, or neither"
            )

    @property
    def genes(self) -> tuple[Gene, ...]:
        """A width for each layer, 0 for none; then the rest, shards and halo last."""
        widths = (0, *self.widths)
        layers = tuple(Gene(f"width {layer}", widths) for layer in range(1, self.depth + 1))
        recipe = RECIPE_GENES if self.recipes else ()
        topology = (Gene("shards", self.shards), Gene("halo", self.halos)) if self.shards else ()
        return (*layers, Gene("activation", self.activations), *recipe, *topology)

    @property
    def length(self) -> int:
        """How many bits a genome has.

        Example:
            >>> ChainSpace().length
            9
        """
        return count_bits(self.genes)

    def draw(self, count: int, rng: np.random.Generator) -> Genomes:
        """Draw genomes evenly, (count, length)."""
        return rng.random((count, self.length)) < 0.5

    def loci(self, genomes: Genomes) -> Levels:
        """Return the level of each gene, layers that are there moved together.

        Shards and halo are -1 where every neuron sees all of the layer before, and of several that
        mean the same network the first.
        """
        levels = read_levels(genomes, self.genes)
        layers = levels[:, : self.depth]
        order = np.argsort(layers == 0, axis=1, kind="stable")
        layers[:] = np.take_along_axis(layers, order, axis=1)
        if self.recipes:
            levels[:, self.depth + 1 :] = silence_recipe(levels[:, self.depth + 1 :])
        if self.shards:
            found = [self._division(row) for row in levels.tolist()]
            levels[:, -2:] = np.array(found, np.int64).reshape(-1, 2)
        return levels

    def decode(self, genomes: Genomes) -> tuple[LayerGraph, ...]:
        """Return the network of each genome."""
        return tuple(self._graph(row) for row in self.loci(genomes).tolist())

    def places(self, genomes: Genomes) -> tuple[tuple[int, ...], ...]:
        """Return for each genome which gene each layer of its network is of, from 1 to `depth`.

        Example:
            >>> space = ChainSpace(depth=3, widths=(8,))
            >>> space.places(np.array([[1, 0, 1], [0, 0, 0]], bool))
            ((1, 3), ())
        """
        layers = read_levels(genomes, self.genes)[:, : self.depth]
        return tuple(tuple((np.flatnonzero(row) + 1).tolist()) for row in layers)

    def link_bit(self, start: int, end: int) -> int:
        """Return the first bit of the layer that a link leads to, or to the output, of its source.

        Args:
            start: 0 is the input.
            end: `depth` + 1 is the output.
        """
        layer = start if end > self.depth else end
        return count_bits(self.genes[: max(layer - 1, 0)])

    def encode(self, graph: LayerGraph) -> Genomes:
        """Return a genome of a network that somebody has already, (1, length).

        Each width becomes the nearest that the space has, by their ratio.

        Raises:
            InputError: too many layers, layers that feed others than the next, or an activation or
                a recipe, shards or a halo that the space has not.
        """
        hidden = len(graph.widths)
        if not graph.chain:
            raise InputError(f"{graph}: the space has layers one behind another; give such")
        if hidden > self.depth:
            raise InputError(
                f"{graph} has {hidden} hidden layers, the space {self.depth}: give a depth of "
                f"{hidden} or more"
            )
        levels = [1 + nearest(width, self.widths) for width in graph.widths]
        levels += [0] * (self.depth - hidden)
        levels.append(activation_level(graph, self.activations))
        if self.recipes:
            levels += recipe_levels(graph)
        if self.shards:
            levels += self._division_levels(graph)
        elif graph.divided is not None:
            raise InputError(f"{graph}: the space has no shards; leave out the topology")
        return write_levels(np.array([levels]), self.genes)

    def violation(self, genomes: Genomes) -> NDArray[np.float64]:
        """Return the share of units above `max_nodes`."""
        layers = self.loci(genomes)[:, : self.depth]
        units = np.array((0, *self.widths))[layers].sum(axis=1)
        broken: NDArray[np.float64] = np.maximum(units / self.max_nodes - 1, 0)
        return broken

    def _graph(self, row: list[int]) -> LayerGraph:
        widths = tuple(self.widths[level - 1] for level in row[: self.depth] if level)
        return LayerGraph(
            widths=widths,
            links=tuple((node, node + 1) for node in range(len(widths) + 1)),
            activation=self.activations[row[self.depth]],
            recipe=recipe_of(row[self.depth + 1 :]) if self.recipes else None,
            topology=self._topology(row) if self.shards else msgspec.UNSET,
        )

    def _division_levels(self, graph: LayerGraph) -> list[int]:
        if graph.divided is not None:
            shards, halo = graph.divided.shards, graph.divided.halo
            if shards not in self.shards or halo not in self.halos:
                raise InputError(
                    f"{graph}: the space has shards {_listed(self.shards)} and halos "
                    f"{_listed(self.halos)}; add {shards} and {halo}"
                )
            return [self.shards.index(shards), self.halos.index(halo)]
        hidden = (self.widths[nearest(width, self.widths)] for width in graph.widths)
        widths = (1, *hidden, self.outputs)  # as they will be, for these decide who sees whom
        for shard, halo_level in product(range(len(self.shards)), range(len(self.halos))):
            topology = Topology(shards=self.shards[shard], halo=self.halos[halo_level])
            if sees_all(topology, widths):
                return [shard, halo_level]
        raise InputError(
            f"{graph}: each neuron sees all of the layer before, and the space has only divided "
            'networks: name its shards and halo, or add "full" to the halos'
        )

    def _division(self, row: list[int]) -> tuple[int, int]:
        hidden = (self.widths[level - 1] for level in row[: self.depth] if level)
        widths = (1, *hidden, self.outputs)
        return _first_alike(self.shards, self.halos, widths, (row[-2], row[-1]))

    def _topology(self, row: list[int]) -> Topology | msgspec.UnsetType:
        shards, halo = row[-2:]
        if shards < 0:
            return msgspec.UNSET
        return Topology(shards=self.shards[shards], halo=self.halos[halo])


def _listed(values: Sequence[object]) -> str:
    return ", ".join(map(str, values))


@lru_cache(maxsize=1 << 16)
def _first_alike(
    shards: tuple[int, ...],
    halos: tuple[Halo, ...],
    widths: tuple[int, ...],
    level: tuple[int, int],
) -> tuple[int, int]:
    """Return the first levels of shards and halo that mean the same network; -1 where all see all.

    Args:
        shards: values of the gene.
        halos: likewise.
        widths: of all layers; the input's does not matter, for all of it is seen.
        level: which shards and which halo.
    """

    def topology(pair: tuple[int, int]) -> Topology:
        return Topology(shards=shards[pair[0]], halo=halos[pair[1]])

    here = topology(level)
    if sees_all(here, widths):
        return -1, -1
    seen = seen_by(here, widths)
    pairs = product(range(len(shards)), range(len(halos)))
    return next(pair for pair in pairs if seen_by(topology(pair), widths) == seen)
