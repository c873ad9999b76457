"""Networks of dense layers wired as a graph: bits for links, then widths and further genes.

With its defaults it is the genome of the paper (Ravishankar et al., Table I): 5 hidden layers at
most, 21 bits for the links among 7 nodes and 2 for the width of each layer, l = 31.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.layer_graph import Activation, LayerGraph
from evener.errors import InputError
from evener.search.canonical import canonical_order
from evener.search.genes import Gene, Genomes, Levels, count_bits, read_levels, write_levels
from evener.search.links import (
    count_links,
    link_bit,
    live_nodes,
    prune_links,
    read_links,
    write_links,
)
from evener.search.nearest_levels import activation_level, nearest, recipe_levels
from evener.search.recipe_genes import RECIPE_GENES, recipe_of, silence_recipe

DEEPEST = 50


@dataclass(frozen=True, slots=True)
class LayerSpace:
    """Hidden layers up to some depth, each of which may feed any later one.

    Attributes:
        depth: most hidden layers, 1 to 50.
        widths: units that a layer may have, in ascending order.
        max_nodes: most units of all hidden layers together; None for no limit.
        activations: what hidden layers may compute, one for a whole network.
        recipes: whether the training's settings are genes too.
        density: probability of a link in a genome that is drawn (the connectivity's lambda).
    """

    depth: int = 5
    widths: tuple[int, ...] = (32, 64, 128, 256)
    max_nodes: int | None = 1024
    activations: tuple[Activation, ...] = ("relu",)
    recipes: bool = False
    density: float = 0.5

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: a depth, a density, widths or activations that are no choice.
        """
        if not 1 <= self.depth <= DEEPEST:
            raise InputError(f"a depth of {self.depth}: give 1 to {DEEPEST} hidden layers")
        if not 0 < self.density <= 1:
            raise InputError(f"a density of {self.density}: give more than 0, and 1 at most")
        if not self.widths or list(self.widths) != sorted({*self.widths}) or self.widths[0] < 1:
            raise InputError(f"widths {self.widths}: give different ones in ascending order")
        if not self.activations:
            raise InputError("no activation to choose from: give one or more")

    @property
    def nodes(self) -> int:
        """How many nodes a link may join: the hidden layers, input and output."""
        return self.depth + 2

    @property
    def genes(self) -> tuple[Gene, ...]:
        """The genes behind the link bits."""
        widths = tuple(Gene(f"width {layer}", self.widths) for layer in range(1, self.depth + 1))
        recipe = RECIPE_GENES if self.recipes else ()
        return (*widths, Gene("activation", self.activations), *recipe)

    @property
    def length(self) -> int:
        """How many bits a genome has.

        Example:
            >>> LayerSpace().length, LayerSpace(depth=50).length
            (31, 1426)
        """
        return count_links(self.nodes) + count_bits(self.genes)

    def draw(self, count: int, rng: np.random.Generator) -> Genomes:
        """Draw genomes, (count, length): links as dense as wanted, all else evenly."""
        links = count_links(self.nodes)
        odds = np.where(np.arange(self.length) < links, self.density, 0.5)
        return rng.random((count, self.length)) < odds

    def loci(self, genomes: Genomes) -> Levels:
        """Return the links that count, and the level of each gene; -1 where it decides nothing."""
        matrices, levels = self._read(genomes)
        levels[:, : self.depth][~live_nodes(matrices)[:, 1:-1]] = -1
        return np.concatenate([write_links(prune_links(matrices)).astype(np.int64), levels], axis=1)

    def decode(self, genomes: Genomes) -> tuple[LayerGraph, ...]:
        """Return the network of each genome without dead layers, its layers in canonical order.

        A genome whose input and output are not connected becomes a network without links.
        """
        matrices, levels = self._read(genomes)
        pruned = prune_links(matrices)
        return tuple(map(self._graph, pruned, live_nodes(matrices), levels))

    def places(self, genomes: Genomes) -> tuple[tuple[int, ...], ...]:
        """Return for each genome which node each layer of its network is, from 1 to `depth`.

        Example:
            Layer 2 is all that lies on the way to the output, and so the network's only layer:

            >>> space = LayerSpace(depth=2)
            >>> bits = [space.link_bit(0, 2), space.link_bit(2, 3)]
            >>> space.places(np.isin(np.arange(space.length), bits)[None])
            ((2,),)
        """
        matrices, levels = self._read(genomes)
        found = map(self._nodes, prune_links(matrices), live_nodes(matrices), levels)
        return tuple(tuple(nodes[1:-1]) for nodes in found)

    def link_bit(self, start: int, end: int) -> int:
        """Return which bit says whether a node feeds a later one; `depth` + 1 is the output."""
        return link_bit(self.nodes, start, end)

    def encode(self, graph: LayerGraph) -> Genomes:
        """Return a genome of a network that somebody has already, (1, length).

        Each width becomes the nearest that the space has, by their ratio.

        Raises:
            InputError: too many layers, or an activation, recipe or shards that the space has not.
        """
        hidden = len(graph.widths)
        if hidden > self.depth:
            raise InputError(
                f"{graph} has {hidden} hidden layers, the space {self.depth}: give a depth of "
                f"{hidden} or more"
            )
        if graph.divided is not None:
            raise InputError(f"{graph}: the space has no shards; leave out the topology")
        nodes = [*range(hidden + 1), self.nodes - 1]
        matrix = np.zeros((1, self.nodes, self.nodes), bool)
        for start, end in graph.links:
            matrix[0, nodes[start], nodes[end]] = True
        unused = [self.widths[0]] * (self.depth - hidden)
        levels = [nearest(width, self.widths) for width in (*graph.widths, *unused)]
        levels.append(activation_level(graph, self.activations))
        if self.recipes:
            levels += recipe_levels(graph)
        bits = write_levels(np.array([levels]), self.genes)
        return np.concatenate([write_links(matrix), bits], axis=1)

    def violation(self, genomes: Genomes) -> NDArray[np.float64]:
        """Return by how much each genome breaks the limits: 1 if nothing leads to the output.

        Beyond that, the share of units above `max_nodes`.
        """
        matrices, levels = self._read(genomes)
        live = live_nodes(matrices)
        broken = (~live[:, -1]).astype(np.float64)
        if self.max_nodes is not None:
            units = (np.array(self.widths)[levels[:, : self.depth]] * live[:, 1:-1]).sum(axis=1)
            broken += np.maximum(units / self.max_nodes - 1, 0)
        return broken

    def _read(self, genomes: Genomes) -> tuple[NDArray[np.bool_], Levels]:
        links = count_links(self.nodes)
        levels = read_levels(genomes[:, links:], self.genes)
        if self.recipes:
            levels[:, self.depth + 1 :] = silence_recipe(levels[:, self.depth + 1 :])
        return read_links(genomes[:, :links], self.nodes), levels

    def _graph(
        self, matrix: NDArray[np.bool_], live: NDArray[np.bool_], levels: NDArray[np.int64]
    ) -> LayerGraph:
        nodes = self._nodes(matrix, live, levels)
        starts, ends = np.nonzero(matrix[np.ix_(nodes, nodes)])
        return LayerGraph(
            widths=tuple(self.widths[levels[node - 1]] for node in nodes[1:-1]),
            links=tuple(zip(starts.tolist(), ends.tolist(), strict=True)),
            activation=self.activations[levels[self.depth]],
            recipe=recipe_of(levels[self.depth + 1 :].tolist()) if self.recipes else None,
        )

    def _nodes(
        self, matrix: NDArray[np.bool_], live: NDArray[np.bool_], levels: NDArray[np.int64]
    ) -> list[int]:
        """Return the live nodes in canonical order, input and output among them."""
        labels = [0, *(self.widths[level] for level in levels[: self.depth]), 0]
        kept = np.flatnonzero(live).tolist()
        order = canonical_order(matrix[np.ix_(kept, kept)], [labels[node] for node in kept])
        return [kept[place] for place in order]
