"""Dense layers one behind another: a gene for each says how wide it is, or that it is not there."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.layer_graph import Activation, LayerGraph
from evener.errors import InputError
from evener.search.encoding import activation_level, nearest, recipe_levels
from evener.search.genes import Gene, Genomes, Levels, count_bits, read_levels, write_levels
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
    """

    depth: int = 3
    widths: tuple[int, ...] = (32, 64, 128, 256)
    max_nodes: int = 1024
    activations: tuple[Activation, ...] = ("relu",)
    recipes: bool = False

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: nothing to choose from.
        """
        if self.depth < 1 or not self.widths or not self.activations:
            raise InputError(
                f"rows of {self.depth} layers, widths {self.widths}, activations "
                f"{self.activations}: give one or more of each"
            )

    @property
    def genes(self) -> tuple[Gene, ...]:
        """A width for each layer, 0 for none; then the rest."""
        widths = (0, *self.widths)
        layers = tuple(Gene(f"width {layer}", widths) for layer in range(1, self.depth + 1))
        recipe = RECIPE_GENES if self.recipes else ()
        return (*layers, Gene("activation", self.activations), *recipe)

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
        """Return the level of each gene, layers that are there moved together."""
        levels = read_levels(genomes, self.genes)
        layers = levels[:, : self.depth]
        order = np.argsort(layers == 0, axis=1, kind="stable")
        layers[:] = np.take_along_axis(layers, order, axis=1)
        if self.recipes:
            levels[:, self.depth + 1 :] = silence_recipe(levels[:, self.depth + 1 :])
        return levels

    def decode(self, genomes: Genomes) -> tuple[LayerGraph, ...]:
        """Return the network of each genome."""
        return tuple(self._graph(row) for row in self.loci(genomes).tolist())

    def encode(self, graph: LayerGraph) -> Genomes:
        """Return a genome of a network that somebody has already, (1, length).

        Each width becomes the nearest that the space has, by their ratio.

        Raises:
            InputError: too many layers, layers that feed others than the next, or an activation or
                a recipe that the space has not.
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
        )
