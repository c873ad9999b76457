"""Turn the networks that a project names for its search to begin with into genomes."""

from collections.abc import Callable

import msgspec
import numpy as np

from evener.artifacts.conv_stack import ConvStack
from evener.artifacts.layer_graph import LayerGraph, Recipe
from evener.artifacts.named_network import read_network
from evener.artifacts.search_section import SearchSection
from evener.errors import InputError, InvalidProjectError
from evener.search.chain_space import ChainSpace
from evener.search.conv_space import ConvSpace
from evener.search.genes import Genomes
from evener.search.layer_space import LayerSpace
from evener.search.space import Space

Candidate = LayerGraph | ConvStack


def base_genomes(
    section: SearchSection,
    space: Space[Candidate],
    *,
    learning_rate: float,
    limits: Callable[[Candidate], float] | None = None,
) -> Genomes | None:
    """Return a genome of each base model; None if the project names none.

    Args:
        section: of the project.
        space: what genomes mean.
        learning_rate: of their recipe, by Adam, where recipes evolve.
        limits: by how much a network breaks hard requirements that are told before a training.

    Raises:
        InvalidProjectError: one is no network of the space, or breaks a limit.
    """
    if not section.base_models:
        return None
    genomes = [_genome(one, section, space, learning_rate) for one in section.base_models]
    for text, genome in zip(section.base_models, genomes, strict=True):
        (network,) = space.decode(genome)
        if limits is not None and limits(network) > 0:
            raise _refused(
                text,
                f"as '{network}' it breaks a hard requirement on the size or the plan: name a "
                "smaller network, or relax the requirement",
            )
    return np.concatenate(genomes)


def _genome(
    text: str, section: SearchSection, space: Space[Candidate], learning_rate: float
) -> Genomes:
    network = read_network(text, section.activations[0])
    if section.recipes:
        recipe = Recipe(optimiser="adam", learning_rate=learning_rate)
        network = msgspec.structs.replace(network, recipe=recipe)
    try:
        genome = _encoded(network, space)
    except InputError as error:
        raise _refused(text, str(error)) from error
    if space.violation(genome).any():
        if isinstance(network, ConvStack):
            raise _refused(text, "it has no convolution, which the space demands; add one")
        raise _refused(
            text,
            f"it has more units than max_nodes = {section.max_nodes} in all hidden layers: "
            "raise that, or name a smaller network",
        )
    return genome


def _encoded(network: Candidate, space: Space[Candidate]) -> Genomes:
    if isinstance(space, ConvSpace) and isinstance(network, ConvStack):
        return space.encode(network)
    if isinstance(space, LayerSpace | ChainSpace) and isinstance(network, LayerGraph):
        return space.encode(network)
    of, wanted = (
        ("blocks of convolutions", "conv3x3(8)/2 conv3x3(16)")
        if isinstance(space, ConvSpace)
        else ("layers of units", "64-32")
    )
    raise InputError(f"this search is of {of}: name such, as '{wanted}', or set search.networks")


def _refused(text: str, why: str) -> InvalidProjectError:
    return InvalidProjectError(
        f"search.base_models names '{text}': {why}", key="search.base_models"
    )
