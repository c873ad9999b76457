"""Begin a child's training from what its parents have learned, layer by layer.

Lamarck's way: what parents learned in their lives is passed on. A link comes from the parent whose
bits gave it, after that parent's nodes were brought to the child's widths. What no parent has is
either silent, so that nothing learned is disturbed, or drawn.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.homology import Homology
from evener.errors import InputError
from evener.train.population.divided import Masks, draw_divided
from evener.train.population.individual import Individual, Link
from evener.train.population.resize import resize
from evener.train.population.weights import Array, Weights, check_weights, draw_weights

Parent = tuple[Individual, Weights]


def inherit(
    child: Individual,
    parents: Sequence[Parent],
    homologies: Sequence[Homology] = (),
    *,
    masks: Masks | None = None,
) -> Weights:
    """Return the weights that a child begins from.

    A link that no parent can supply begins at 0 where its node inherits another one: there it adds
    nothing yet, and learns. Into other nodes links are drawn, as `draw_weights` does. So a child
    that only has more links, nodes or neurons than its one parent has that parent's function, if no
    link of the parent was taken away.

    Args:
        child: its seed is what new weights, and copies of neurons, are drawn from.
        parents: each with what it has learned.
        homologies: of each parent. A link that none gave is of the first that has it. Without any,
            hidden nodes are the same where they have the same number, and outputs are.
        masks: which weights the child has, by link, all of a link that is not named; those of its
            parents if None. A weight that no parent has begins at 0 where its neuron inherits
            another, and else is drawn.

    Raises:
        InputError: a parent has another input or output, or has not the link that it gave; not
            as many homologies as parents.

    Example:
        >>> parent = Individual(widths=(4, 3, 2))
        >>> learned = draw_weights(parent)
        >>> child = Individual(widths=(4, 3, 2), links=((0, 1), (1, 2), (0, 2)), seed=1)
        >>> begun = inherit(child, [(parent, learned)])
        >>> bool((begun.links[1, 2] == learned.links[1, 2]).all()), bool(begun.links[0, 2].any())
        (True, False)
    """
    if homologies and len(homologies) != len(parents):
        raise InputError(
            f"{len(homologies)} homologies of {len(parents)} parents: give one of each"
        )
    same = [dict(one.nodes) for one in homologies] or [_numbers(child, one) for one, _ in parents]
    ready = [
        _fitted(child, number, *parent, names)
        for number, (parent, names) in enumerate(zip(parents, same, strict=True))
    ]
    gave = {link: number for number, one in enumerate(homologies) for link in one.links}
    chosen = {link: _supplier(child, link, ready, gave.get(link)) for link in child.edges}
    drawn = draw_weights(child)
    links: dict[Link, Array] = {}
    masks_of_parents = {}
    biases = list(drawn.biases)
    for node in range(1, len(child.widths)):
        into = [link for link in child.edges if link[1] == node]
        inherited = [link for link in into if chosen[link] is not None]
        for link in into:
            number = chosen[link]
            if number is None:
                fresh = drawn.links[link]
                links[link] = np.zeros_like(fresh) if inherited else fresh
                continue
            one = ready[number]
            links[link] = one.links[link].copy()
            if link in one.masks:
                masks_of_parents[link] = one.masks[link].copy()
        if inherited:
            number = chosen[inherited[0]]
            biases[node - 1] = ready[number or 0].biases[node].copy()
    weights = Weights(links, tuple(biases), masks_of_parents)
    if masks is not None and (masks or masks_of_parents):
        supplied = {link for link, number in chosen.items() if number is not None}
        weights = _divided(child, weights, supplied, masks)
    check_weights(child, weights)
    return weights


class _Fitted:
    """What a parent can supply, by the child's links and nodes."""

    def __init__(
        self,
        links: Mapping[Link, Array],
        masks: Mapping[Link, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]],
        biases: Mapping[int, Array],
    ) -> None:
        self.links, self.masks, self.biases = links, masks, biases


def _numbers(child: Individual, parent: Individual) -> dict[int, int]:
    """Return the child's node for each of a parent's, if the same number means the same node."""
    shared = min(len(parent.widths), len(child.widths)) - 1
    return {**{node: node for node in range(shared)}, len(parent.widths) - 1: len(child.widths) - 1}


def _fitted(
    child: Individual,
    number: int,
    parent: Individual,
    weights: Weights,
    names: Mapping[int, int],
) -> _Fitted:
    """Bring a parent to the child's widths where both have a node, and rename its nodes."""
    ends = (parent.widths[0], parent.widths[-1])
    if ends != (child.widths[0], child.widths[-1]):
        raise InputError(
            f"parent {number} has {ends[0]} inputs and {ends[1]} outputs, the child "
            f"{child.widths[0]} and {child.widths[-1]}: weights pass on between equals only"
        )
    widths = tuple(
        child.widths[names[node]] if node in names else width
        for node, width in enumerate(parent.widths)
    )
    rng = np.random.default_rng([child.seed % (1 << 64), number])
    fitted = resize(parent, weights, widths, rng)
    renamed = {
        link: (names[link[0]], names[link[1]])
        for link in parent.edges
        if link[0] in names and link[1] in names
    }
    return _Fitted(
        {new: fitted.links[old] for old, new in renamed.items()},
        {new: fitted.masks[old] for old, new in renamed.items() if old in fitted.masks},
        {new: fitted.biases[old - 1] for old, new in names.items() if old},
    )


def _supplier(
    child: Individual, link: Link, ready: Sequence[_Fitted], named: int | None
) -> int | None:
    if named is None:
        return next((number for number, one in enumerate(ready) if link in one.links), None)
    if link not in ready[named].links:
        raise InputError(
            f"parent {named} has no link {link} of the child with links {list(child.edges)}: let "
            "one give it that has it, or none"
        )
    return named


def _divided(
    child: Individual, inherited: Weights, supplied: AbstractSet[Link], masks: Masks
) -> Weights:
    """Return what of inherited weights a child with other masks than its parents begins from."""
    fresh = draw_divided(child, masks).links
    links = {}
    for node in range(1, len(child.widths)):
        into = [link for link in child.edges if link[1] == node]
        known = {
            link: _where(inherited, inherited.masks, link) & (link in supplied) for link in into
        }
        wanted = {link: _where(inherited, masks, link) for link in into}
        begins = np.zeros(child.widths[node], bool)  # neurons that inherit a weight
        for link in into:
            begins |= (known[link] & wanted[link]).any(axis=0)
        for link in into:
            silent = np.where(begins, 0.0, fresh[link])
            kept = np.where(known[link], inherited.links[link], silent)
            links[link] = np.where(wanted[link], kept, 0.0)
    return Weights(links, inherited.biases, masks)


def _where(weights: Weights, masks: Masks, link: Link) -> NDArray[np.bool_]:
    """Return which weights of a link there are."""
    return masks[link] if link in masks else np.ones(weights.links[link].shape, bool)
