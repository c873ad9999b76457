"""Check what no type says of a project's section [search]."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

import msgspec

from evener import units
from evener.artifacts.algorithm_1_checks import check_algorithm_1
from evener.artifacts.named_network import read_network
from evener.artifacts.search_section import BANDED, LEARNING, SearchSection
from evener.errors import InputError, InvalidProjectError

_LEAST: Final[Mapping[str, int]] = {
    "population": 2,
    "generations": 1,
    "evaluations": 1,
    "epochs": 1,
    "batch": 1,
    "cycles": 1,
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
_WITHOUT: Final[Mapping[str, str]] = {
    "screened": "which sorts out children that are not new before they count",
    "random": "which mutates nothing",
    "coevolution": "whose chromosomes each have a rate of mutation of their own",
}
_ALONE: Final[Mapping[str, str]] = {
    "regularized": "whose children have one parent and nothing but mutation",
    "random": "which has no operators",
    "coevolution": "whose chromosomes each have rates of their own",
}
_MOST: Final[Mapping[str, tuple[int, str]]] = {
    "population": (10_000, ", all of which are held in memory"),
    "depth": (50, ""),
    "stages": (8, ": the first block of each may halve the picture, and 8 halve 256 places to one"),
    "blocks": (50, ""),
    "sets": (100, ", as every one is trained from the start on"),
}


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
    _check_costs(search)
    _check_base_models(search)
    _check_papers(search)
    _check_rates(search)
    _check_coevolution(search)
    check_algorithm_1(search)
    _check_shards(search)
    _check_budget(search.budget)


def _check_costs(search: SearchSection) -> None:
    example = 'such as "macs", or several as ["latency", "weights"]'
    if not search.costs:
        raise _wrong("cost", "[]", f"is empty: write what is to be small, {example}")
    if len(set(search.costs)) < len(search.costs):
        raise _wrong("cost", _text(search.costs), f"names a cost twice: write each once, {example}")


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


def _check_rates(search: SearchSection) -> None:
    name, band = search.algorithm, search.band
    if band is not None and name not in BANDED:
        raise _wrong(
            "band",
            _text(band),
            f'means nothing for algorithm = "{name}", {_WITHOUT[name]}: leave it out, or write '
            f"one of {', '.join(BANDED)}",
        )
    if isinstance(band, tuple) and not 0 <= band[0] < band[1] <= 1:
        raise _wrong(
            "band",
            _text(band),
            "must be two shares from 0 to 1, the smaller first, such as [0.2, 0.6]",
        )
    if search.operators == "learned" and name not in LEARNING:
        raise _wrong(
            "operators",
            '"learned"',
            f'does not go with algorithm = "{name}", {_ALONE[name]}: leave it out, or write one '
            f"of {', '.join(LEARNING)}",
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
        ("halving", search.halving, "false"),
        ("inherit", search.inherit, "false"),
    ):
        if value:
            raise _wrong(
                name,
                _text(getattr(search, name)),
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
