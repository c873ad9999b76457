"""The section [search] of a project: which networks are tried, how they evolve, for how long."""

from collections.abc import Mapping
from itertools import pairwise
from math import inf
from typing import Any, Final, Literal, get_args

import msgspec

from evener import units
from evener.artifacts.layer_graph import Activation
from evener.artifacts.named_network import read_network
from evener.artifacts.table1 import TABLE_1
from evener.artifacts.topology import Halo, halo_of
from evener.errors import InputError, InvalidProjectError

AlgorithmName = Literal["screened", "nsga2", "paper", "regularized", "islands", "random"]
ALGORITHMS: Final[tuple[AlgorithmName, ...]] = get_args(AlgorithmName)
"""Those that propose networks, one generation after another."""

SearchName = Literal[AlgorithmName, "coevolution"]
SEARCHES: Final[tuple[SearchName, ...]] = get_args(SearchName)
StartName = Literal["critical", "ordered", "chaotic", "random"]
Links = Literal["any", "chain"]
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
        cost: what is made small beside the error: multiply-accumulates, numbers that training sets,
            or what the best plan comes to, estimated before training: seconds between two frames,
            seconds for a frame, or joules.
        mutation: of "paper" and "coevolution", probability with which a bit is inverted; one of a
            genome if None.
        crossover: of these, probability that a child has two parents.
        parents: of these, how many of the best breed.
        elite: of these, how many of the best live on.
        sets: of "coevolution", weight sets of each network.
        compete: whether their layers compete once they were trained, so that the champion of all
            takes the place of the worst.
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
    cost: CostName = "macs"
    mutation: float | None = None
    crossover: float = 0.9
    parents: int = 4
    elite: int = 1
    sets: int = 3
    compete: bool = False
    inherit: bool = False
    halving: bool = False
    finalists: int = 3
    seeds: int = 3
    together: int = 8
    device: Literal["cpu", "cuda"] = "cpu"
    seed: int = 0

    @property
    def budget_s(self) -> float:
        """The budget in seconds."""
        return units.parse(self.budget, "time")

    @property
    def most(self) -> int:
        """How many networks are trained at most."""
        every = self.population * self.generations
        return every if self.evaluations is None else self.evaluations

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
# back-propagation cycles < 50 and 10 epochs (epochs); binary encoding, 31 bits (depth, widths,
# max_nodes, links, density); elitism and unconditional replacement (parents, elite); mutation and
# crossover by one point at rates within its ranges; 10 genomes, 10 generations.
PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "table1": {
        "algorithm": "paper",
        "population": TABLE_1.population,
        "generations": TABLE_1.generations,
        "epochs": TABLE_1.epochs,
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
_LEAST: Final[Mapping[str, int]] = {
    "population": 2,
    "generations": 1,
    "evaluations": 1,
    "epochs": 1,
    "rows": 1,
    "stages": 1,
    "blocks": 1,
    "depth": 1,
    "max_nodes": 1,
    "parents": 1,
    "elite": 0,
    "sets": 1,
    "finalists": 1,
    "seeds": 3,
    "together": 1,
}
_MOST_SHARDS: Final = 1024  # of units that all hidden layers have by default
_MOST: Final[Mapping[str, tuple[int, str]]] = {
    "population": (10_000, ", all of which are held in memory"),
    "depth": (50, ""),
    "stages": (8, ": the first block of each may halve the picture, and 8 halve 256 places to one"),
    "blocks": (50, ""),
    "sets": (100, ", as every one is trained from the start on"),
}


def with_preset(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a section, those of its preset added.

    Args:
        values: as they stand in the file.

    Raises:
        InvalidProjectError: there is no such preset.
    """
    name = values.get("preset", "")
    if name and name not in PRESETS:
        raise InvalidProjectError(
            f"search.preset = {name!r} is none; there is {', '.join(PRESETS)}", key="search.preset"
        )
    return {**PRESETS.get(name, {}), **values}


def check_search(search: SearchSection) -> None:
    """Check what no type says.

    Raises:
        InvalidProjectError: a value that no search can be made with.
    """
    for name, least in _LEAST.items():
        value = getattr(search, name)
        if value is not None and value < least:
            raise _wrong(name, value, f"must be at least {least}")
    for name, (most, why) in _MOST.items():
        if getattr(search, name) > most:
            raise _wrong(name, getattr(search, name), f"must be at most {most}{why}; lower it")
    for name, share in (("density", search.density), ("crossover", search.crossover)):
        if not 0 < share <= 1:
            raise _wrong(name, share, "must be above 0, and 1 at most")
    if search.mutation is not None and not 0 < search.mutation <= 1:
        raise _wrong("mutation", search.mutation, "must be above 0, and 1 at most")
    _check_sizes(search)
    if not search.activations:
        raise _wrong("activations", [], 'is empty: write ["relu"], or several to choose from')
    _check_base_models(search)
    _check_papers(search)
    _check_coevolution(search)
    _check_shards(search)
    _check_budget(search.budget)


def _check_base_models(search: SearchSection) -> None:
    for text in search.base_models:
        try:
            read_network(text, search.activations[0])
        except InputError as error:
            raise InvalidProjectError(
                f"search.base_models: {error}", key="search.base_models"
            ) from error


def _check_papers(search: SearchSection) -> None:
    if search.elite >= search.population:
        raise _wrong("elite", search.elite, f"must be below the population, {search.population}")
    if search.algorithm in ("paper", "coevolution") and search.parents > search.population:
        raise _wrong(
            "parents",
            search.parents,
            f"must be at most the population, {search.population}, whose best they are: lower it, "
            "or raise search.population",
        )


def _check_coevolution(search: SearchSection) -> None:
    if search.algorithm != "coevolution":
        if search.compete:
            raise _wrong(
                "compete",
                "true",
                f'needs algorithm = "coevolution", whose networks have several weight sets; '
                f'"{search.algorithm}" has one of each: leave it out, or change the algorithm',
            )
        return
    for name, value, wanted in (
        ("networks", search.networks == "blocks", '"layers"'),
        ("links", search.links == "chain", '"any"'),
        ("base_models", search.base_models, "none of it, as it grows its own"),
        ("halving", search.halving, "false"),
        ("inherit", search.inherit, "false"),
    ):
        if value:
            given = msgspec.json.encode(getattr(search, name)).decode()
            raise _wrong(
                name,
                given,
                'does not go with algorithm = "coevolution", which wires layers as a graph, '
                f"goes on from what they learned and trains each to the end: write {wanted}",
            )
    if search.evaluations is not None and search.evaluations < search.population:
        raise _wrong(
            "evaluations",
            search.evaluations,
            f"must be at least the population, {search.population}, each of which Algorithm 1 "
            "trains to begin with: raise it, or lower search.population",
        )


def _check_sizes(search: SearchSection) -> None:
    for name, sizes in (
        ("widths", search.widths),
        ("channels", search.channels),
        ("shards", search.shards),
    ):
        if any(one >= next_ for one, next_ in pairwise(sizes)) or (sizes and sizes[0] < 1):
            raise _wrong(name, list(sizes), "must be numbers from 1 up, in rising order")
    if not search.channels:
        raise _wrong("channels", [], "is empty: write [8, 16, 32], or others to choose from")


def _check_shards(search: SearchSection) -> None:
    if not search.shards and not search.halos:
        return
    examples = {"shards": "[1, 2, 4]", "halos": '["full", 1, 8]'}
    for name, other in (("shards", "halos"), ("halos", "shards")):
        if not getattr(search, other):
            raise _wrong(
                name,
                _text(getattr(search, name)),
                f"divides no network without search.{other}: write {other} = {examples[other]}, or "
                "leave out both",
            )
    if search.shards[-1] > _MOST_SHARDS:
        raise _wrong("shards", _text(search.shards), f"must be at most {_MOST_SHARDS} each")
    halos = search.halos_in_order
    narrowest = halos[0]
    if len(set(halos)) < len(search.halos) or (narrowest != "full" and narrowest < 0):
        raise _wrong(
            "halos", _text(search.halos), "must be different numbers from 0 up, or full, once each"
        )
    if search.shards == (1,) or halos == ("full",):
        name = "shards" if search.shards == (1,) else "halos"
        raise _wrong(
            name,
            _text(getattr(search, name)),
            f"divides no network: write {name} = {examples[name]}, or leave out shards and halos",
        )
    for name, value, wanted in (
        ("algorithm", search.algorithm == "coevolution", "another algorithm"),
        ("networks", search.networks == "blocks", '"layers"'),
        ("links", search.links != "chain", '"chain"'),
        ("recipes", search.recipes, "false"),
    ):
        if value:
            raise _wrong(
                name,
                _text(getattr(search, name)),
                "does not go with search.shards, which divide layers one behind another that AdamW "
                f"trains: write {wanted}, or leave out shards and halos",
            )


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _check_budget(budget: str) -> None:
    try:
        budget_s = units.parse(budget, "time")
    except InputError as error:
        raise InvalidProjectError(f"search.budget: {error}", key="search.budget") from error
    if budget_s <= 0:
        raise _wrong("budget", f"'{budget}'", "must be above 0, such as '10 min'")


def _wrong(name: str, value: object, why: str) -> InvalidProjectError:
    return InvalidProjectError(f"search.{name} = {value} {why}", key=f"search.{name}")
