"""The section [search] of a project: which networks are tried, how they evolve, for how long."""

from collections.abc import Mapping
from math import inf
from typing import Any, Final, Literal, get_args

import msgspec

from evener import units
from evener.artifacts.layer_graph import Activation
from evener.artifacts.table1 import TABLE_1
from evener.artifacts.topology import Halo, halo_of
from evener.errors import InvalidProjectError

AlgorithmName = Literal["screened", "nsga2", "paper", "regularized", "islands", "random"]
ALGORITHMS: Final[tuple[AlgorithmName, ...]] = get_args(AlgorithmName)
"""Those that propose networks, one generation after another."""

SearchName = Literal[AlgorithmName, "coevolution"]
SEARCHES: Final[tuple[SearchName, ...]] = get_args(SearchName)
BANDED: Final[tuple[AlgorithmName, ...]] = ("paper", "regularized", "nsga2", "islands")
"""Those that can keep the share of new offspring in a band."""
LEARNING: Final[tuple[AlgorithmName, ...]] = ("screened", "nsga2", "paper", "islands")
"""Those that can learn which rates of their operators pay."""

StartName = Literal["critical", "ordered", "chaotic", "random"]
Links = Literal["any", "chain"]
CreditName = Literal["best", "mean", "leave-one-out"]
CostName = Literal["macs", "weights", "period", "latency", "energy"]
Networks = Literal["auto", "layers", "blocks"]


class SearchSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which networks are tried, and how one is chosen.

    Attributes:
        preset: "table1" for the settings of the paper's Table I; other keys change single ones.
        algorithm: how the search goes on; "coevolution" is the paper's Algorithm 1 as a whole.
        population: networks that live at a time, and children of a generation.
        generations: how many, at most.
        evaluations: networks that are trained, at most; None for all of the generations.
        budget: longest time for the search, such as "10 min"; training the best in full is in it.
        epochs: passes over the training split for each network.
        batch: rows of a step in trials; `train.batch` if None.
        rows: of the training split that networks learn from while they are searched, drawn once;
            None for all. Those trained in full always see all.
        networks: "layers" of units, or "blocks" of convolutions, which read pictures; "auto" for
            blocks where rows are pictures of some size.
        stages: of blocks; the first block of each may halve the picture.
        blocks: most blocks of a stage.
        channels: that the convolutions of a stage may give.
        depth: most hidden layers.
        widths: units that a layer may have; suited to the data if none are named.
        max_nodes: most units of all hidden layers together.
        activations: of hidden layers, one for a whole network.
        links: "any" if a layer may feed every later one, "chain" for the next one only.
        shards: into how many the neurons of a network may be divided, of "chain"; none if no
            network is. With 1 of them among others, some networks are not.
        halos: neurons of either neighbour that a shard may see: "boundary" for 1, "full" for all.
        density: probability of a link in the first genomes.
        base_models: networks that the first generation begins with, as a search prints them, such
            as "64-32 relu" or "conv3x3(8)/2 conv3x3(16), flattened, relu"; sizes become the nearest
            that may be chosen.
        start: where weights stand between order and chaos when training begins.
        recipes: whether optimiser, learning rate, momentum and weight decay evolve as well.
        probe: whether λ_c of the data is measured before the search, beside its budget.
        cost: what is made small beside the error: multiply-accumulates, numbers that training sets,
            or what the best plan comes to, estimated before training: seconds between two frames,
            seconds for a frame, or joules. Several are all made small, and the first decides which
            of the front is chosen.
        mutation: of "paper" and "coevolution", probability with which a bit is inverted; one of a
            genome if None.
        crossover: of these, probability that a child has two parents.
        parents: of these, how many of the best breed.
        elite: of these, how many of the best live on.
        band: least and largest share of new offspring, lambda, in which a search keeps itself by
            its rate of mutation, of `BANDED`; "off" for a rate that stays, None for the usual one.
        operators: "learned" if a bandit chooses the rates of crossover and mutation, of `LEARNING`.
        sets: of "coevolution", weight sets of each network.
        compete: whether their layers compete once they were trained, so that the champion of all
            takes the place of the worst.
        credit: of layers that compete: an instance deserves the "best" or the "mean" error of the
            networks that it was in, or by how much it lowers that of the others, "leave-one-out".
        error_threshold: of "coevolution", F of equation 3 below which a chromosome loses
            connections; None for all of them.
        fitness_threshold: of it, F below which the algorithm ends; None for never.
        certainty: of it, probability of loss from which the Markov chain agrees that a connection
            goes, once training has lowered F too; None asks neither.
        cycles: of it, passes after a connection was cut; those of the preset or `epochs` if None.
        inherit: whether a child begins from what its parents have learned, in place of drawn
            weights; of layers only.
        halving: whether a third of the networks go on after a ninth and a third of the epochs.
        finalists: networks of the front that are trained in full before one is chosen.
        seeds: how often each of them is, from other weights.
        together: networks that one process trains in one batch.
        device: that trains them, "cpu" or "cuda".
        seed: what the randomness is drawn from.
    """

    preset: Literal["", "table1"] = ""
    algorithm: SearchName = "screened"
    population: int = 10
    generations: int = 6
    evaluations: int | None = None
    budget: str = "10 min"
    epochs: int = 15
    batch: int | None = None
    rows: int | None = None
    networks: Networks = "auto"
    stages: int = 3
    blocks: int = 2
    channels: tuple[int, ...] = (8, 16, 32)
    depth: int = 4
    widths: tuple[int, ...] = ()
    max_nodes: int = 1024
    activations: tuple[Activation, ...] = ("relu", "gelu")
    links: Links = "any"
    shards: tuple[int, ...] = ()
    halos: tuple[int | Literal["full", "boundary"], ...] = ()
    density: float = 0.75
    start: StartName = "critical"
    base_models: tuple[str, ...] = ()
    recipes: bool = False
    probe: bool = False
    cost: CostName | tuple[CostName, ...] = "macs"
    mutation: float | None = None
    crossover: float = 0.9
    parents: int = 4
    elite: int = 1
    band: tuple[float, float] | Literal["off"] | None = None
    operators: Literal["fixed", "learned"] = "fixed"
    sets: int = 3
    compete: bool = False
    credit: CreditName = "best"
    error_threshold: float | None = None
    fitness_threshold: float | None = None
    certainty: float | None = None
    cycles: int | None = None
    inherit: bool = False
    halving: bool = False
    finalists: int = 3
    seeds: int = 3
    together: int = 8
    device: Literal["cpu", "cuda"] = "cpu"
    seed: int = 0

    def __post_init__(self) -> None:
        """Make a list of one cost that cost, so that both are the same search."""
        if not isinstance(self.cost, str) and len(self.cost) == 1:
            msgspec.structs.force_setattr(self, "cost", self.cost[0])

    @property
    def budget_s(self) -> float:
        """The budget in seconds."""
        return units.parse(self.budget, "time")

    @property
    def costs(self) -> tuple[CostName, ...]:
        """All that is made small beside the error.

        Example:
            >>> SearchSection(cost=("latency", "weights")).costs, SearchSection().costs
            (('latency', 'weights'), ('macs',))
        """
        return (self.cost,) if isinstance(self.cost, str) else self.cost

    @property
    def most(self) -> int:
        """How many networks are trained at most."""
        every = self.population * self.generations
        return every if self.evaluations is None else self.evaluations

    def passes_after_cut(self, epochs: int) -> int:
        """Return over how many passes a network is trained once it lost a connection.

        Args:
            epochs: of a trial.

        Example:
            >>> SearchSection().passes_after_cut(6)
            6
            >>> SearchSection(preset="table1").passes_after_cut(10)
            49
        """
        if self.cycles is not None:
            return self.cycles
        return TABLE_1.back_propagation_cycles if self.preset == "table1" else epochs

    @property
    def in_row(self) -> "SearchSection":
        """The same for layers one behind another and one recipe, as shards are trained.

        Raises:
            InvalidProjectError: Algorithm 1 wires layers as a graph.
        """
        if self.algorithm == "coevolution":
            raise InvalidProjectError(
                "search.algorithm = 'coevolution' wires layers as a graph, and shards are of "
                "layers one behind another: leave out train.ranks and train.shards, or write "
                "another",
                key="search.algorithm",
            )
        return msgspec.structs.replace(self, links="chain", recipes=False)

    @property
    def halos_in_order(self) -> tuple[Halo, ...]:
        """The halos as numbers, the narrowest first, and those of all neurons last.

        Example:
            >>> SearchSection(halos=("full", 8, "boundary")).halos_in_order
            (1, 8, 'full')
        """
        return tuple(
            sorted(map(halo_of, self.halos), key=lambda halo: inf if halo == "full" else halo)
        )

    @property
    def rungs(self) -> tuple[int, ...]:
        """Epochs after which only some networks go on.

        Example:
            >>> SearchSection(epochs=27, halving=True).rungs
            (3, 9)
        """
        rungs = {self.epochs // 9, self.epochs // 3} if self.halving else set()
        return tuple(sorted(one for one in rungs if 0 < one < self.epochs))


# Ravishankar et al., Table I, row by row: learning rate, momentum: genes in its ranges (recipes);
# back-propagation cycles < 50 (passes_after_cut), 10 epochs; updates per pattern (batch); binary
# encoding, 31 bits (depth, widths, max_nodes, links, density); elitism, and replacement of all but
# the best (parents, elite); mutation and crossover by one point at rates within its ranges; 10
# genomes, 10 generations.
PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "table1": {
        "algorithm": "paper",
        "population": TABLE_1.population,
        "generations": TABLE_1.generations,
        "epochs": TABLE_1.epochs,
        "batch": TABLE_1.rows_per_update,
        "networks": "layers",
        "depth": TABLE_1.maximum_depth,
        "widths": (32, 64, 128, 256),
        "max_nodes": TABLE_1.maximum_nodes,
        "activations": ("relu",),
        "links": "any",
        "density": 0.786,
        "start": "critical",
        "recipes": True,
        "crossover": 0.9,
        "parents": 4,
        "elite": 1,
    },
}


def with_preset(values: Mapping[str, Any], train: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a section, those of its preset added.

    Args:
        values: as they stand in the file.
        train: those of the section [train], whose batch takes the place of the preset's.

    Raises:
        InvalidProjectError: there is no such preset.
    """
    name = values.get("preset", "")
    if name and name not in PRESETS:
        raise InvalidProjectError(
            f"search.preset = {name!r} is none; there is {', '.join(PRESETS)}", key="search.preset"
        )
    preset = PRESETS.get(name, {})
    own = {key: one for key, one in preset.items() if key != "batch" or key not in train}
    return own | dict(values)
