"""Which networks a sweep trains: all values of some settings, and as wide as weights ask for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

import msgspec

from evener.artifacts.topology import Topology, parse_halo
from evener.errors import InputError
from evener.train.shape import Shape
from evener.train.sharding import count_weights

_WORDS: Final[Mapping[str, Mapping[str, object]]] = {
    "shuffle": {"off": False, "on": True},
    "input": {"replicated": "replicated", "sharded": "sharded"},
}
AXES: Final = ("halo", "shards", "coarse", *_WORDS)
"""The settings of a topology that can be swept."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One setting of a topology, and the values it is to have.

    Attributes:
        name: the field of `Topology`.
        values: what it is set to.
    """

    name: str
    values: tuple[object, ...]


def parse_axis(text: str) -> Axis:
    """Read one setting, and its values with commas.

    Args:
        text: such as "halo=0,1,2,full", "shards=1,4,16" or "shuffle=off,on".

    Raises:
        InputError: another setting, no values, or values that are none.

    Example:
        >>> parse_axis("halo=0,boundary,full")
        Axis(name='halo', values=(0, 1, 'full'))
    """
    name, separator, values = text.partition("=")
    if name not in AXES or not separator or not values:
        raise InputError(
            f"'{text}' is nothing to sweep: give {', '.join(AXES[:-1])} or {AXES[-1]}, and its "
            "values, such as halo=0,1,2,4,full"
        )
    words = [word.strip() for word in values.split(",")]
    found = tuple(_value(name, word, text) for word in words)
    repeated = [word for word, value in zip(words, found, strict=True) if found.count(value) > 1]
    if repeated:
        raise InputError(f"'{text}' names {repeated[-1]} twice: give each value once")
    return Axis(name, found)


def _value(name: str, word: str, text: str) -> object:
    if name == "halo":
        return parse_halo(word)
    if name in _WORDS:
        if word not in _WORDS[name]:
            raise InputError(f"'{word}' in '{text}' is neither {' nor '.join(_WORDS[name])}")
        return _WORDS[name][word]
    if not (word.isascii() and word.isdigit()):
        raise InputError(f"'{word}' in '{text}' is no number of {name}: give whole numbers")
    return int(word)


def topologies_of(axes: Sequence[Axis], topology: Topology) -> list[Topology]:
    """Return a topology for each combination of values, each once.

    What makes no difference does not count: a dense network is the same shuffled or not.

    Args:
        axes: what is swept.
        topology: what else they have.

    Raises:
        InputError: a setting is given twice, or a value is out of range.

    Example:
        >>> few = topologies_of([parse_axis("halo=0,full")], Topology(shards=4))
        >>> [str(one) for one in few]
        ['4 shards, halo 0, input replicated', '4 shards, halo full, input replicated']
    """
    names = [axis.name for axis in axes]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise InputError(f"{repeated[0]} is swept twice: give all its values at once")
    found: dict[Topology, None] = {}
    for values in product(*(axis.values for axis in axes)):
        one = msgspec.structs.replace(topology, **dict(zip(names, values, strict=True)))
        if one.halo == "full":
            one = msgspec.structs.replace(one, shuffle=False, coarse=0)
        found[one] = None
    return list(found)


def widened(shape: Shape, weights: int) -> Shape:
    """Return the network with its hidden layers so wide that it has about as many weights.

    Args:
        shape: the network; its hidden widths keep their proportions.
        weights: how many, biases left out.

    Raises:
        InputError: a network without hidden layers, which cannot be wider.

    Example:
        >>> thin = Shape((64, 40, 40, 10), ("tanh", "tanh", "softmax"), Topology(shards=4, halo=1))
        >>> widened(thin, 8000).widths
        (64, 88, 88, 10)
    """
    if len(shape.widths) < 3:
        raise InputError("a network without hidden layers cannot be made wider")
    low, high = 1, 2
    while _weights_at(shape, high) < weights:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if _weights_at(shape, middle) < weights:
            low = middle
        else:
            high = middle
    best = min((low, high), key=lambda width: abs(_weights_at(shape, width) - weights))
    return replace(shape, widths=_scaled(shape.widths, best))


def _weights_at(shape: Shape, width: int) -> int:
    return count_weights(shape.topology, _scaled(shape.widths, width))


def _scaled(widths: tuple[int, ...], width: int) -> tuple[int, ...]:
    """Return widths whose first hidden layer is so wide."""
    hidden = [max(1, round(one * width / widths[1])) for one in widths[1:-1]]
    return (widths[0], *hidden, widths[-1])
