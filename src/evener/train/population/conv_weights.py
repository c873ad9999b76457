"""The weights of one convolutional individual: drawn, checked, and passed on from a parent."""

import numpy as np

from evener.errors import InputError
from evener.train.draw import link_weights
from evener.train.population.conv_individual import ConvIndividual
from evener.train.population.individual import Link
from evener.train.population.weights import Array, Weights


def draw_conv_weights(individual: ConvIndividual) -> Weights:
    """Draw the weights that an individual starts from; layer i's are of the link (i - 1, i).

    A weight is normal, with the individual's variance over the numbers that its sum adds up (He et
    al., 2015). What several residual blocks add up to grows with each, so there the variance is
    divided by how many there are (Hanin and Rolnick, "How to start training", 2018). The second
    layer of a depthwise block has no activation before it, and half the variance.

    Args:
        individual: whose.

    Example:
        >>> from evener.artifacts.conv_stack import Block
        >>> conv = Block(kind="conv3x3", channels=8)
        >>> drawn = draw_conv_weights(ConvIndividual(picture=(1, 5, 5), blocks=(conv,), outputs=2))
        >>> [array.shape for array in drawn.links.values()]
        [(8, 1, 3, 3), (8, 2)]
    """
    layers = individual.weighted
    residual = max(1, sum(one.adds for one in layers))
    links: dict[Link, Array] = {}
    before = None
    for node, layer in enumerate(layers, 1):
        drawn = link_weights(individual.seed, node - 1, node, int(np.prod(layer.shape)))
        variance = individual.weight_variance / layer.seen
        if before is not None and before.operation == "depthwise":
            variance /= 2
        if layer.adds:
            variance /= residual
        links[node - 1, node] = drawn.reshape(layer.shape) * variance**0.5
        before = layer
    biases = [
        link_weights(individual.seed, node, node, one.outputs) * individual.bias_variance**0.5
        for node, one in enumerate(layers, 1)
    ]
    return Weights(links, tuple(biases))


def check_conv_weights(individual: ConvIndividual, weights: Weights) -> None:
    """Check that weights are those of an individual.

    Raises:
        InputError: a layer's are missing or of another shape, or a mask cuts some.
    """
    shapes = {(node, node + 1): one.shape for node, one in enumerate(individual.weighted)}
    found = {link: array.shape for link, array in weights.links.items()}
    if found != shapes:
        raise InputError(
            f"weights of shapes {found} for an individual whose layers have {shapes}: give those "
            "of each layer"
        )
    biases = [bias.shape for bias in weights.biases]
    if biases != [(one.outputs,) for one in individual.weighted]:
        raise InputError(
            f"biases of shapes {biases} for layers of "
            f"{[one.outputs for one in individual.weighted]} outputs: give one for each output"
        )
    if weights.masks:
        raise InputError(
            f"masks of links {sorted(weights.masks)}: only dense individuals have masks; leave "
            "them out"
        )


def inherit_conv(child: ConvIndividual, parent: ConvIndividual, learned: Weights) -> Weights:
    """Return the weights that a child begins from: a parent's where a layer has the same shape.

    Layers are compared from the first on, and from the output back, so that a block that came in or
    went away moves no layer from its place beside an end. What no parent's layer fits is drawn.

    Args:
        child: its seed is what new weights are drawn from.
        parent: of the same kind of picture.
        learned: the parent's weights.

    Raises:
        InputError: weights that are not the parent's.
    """
    check_conv_weights(parent, learned)
    begun = draw_conv_weights(child)
    links, biases = dict(begun.links), list(begun.biases)
    mine, theirs = child.weighted, parent.weighted
    most = min(len(mine), len(theirs))
    front = next((at for at in range(most) if mine[at] != theirs[at]), most)
    back = next(
        (at for at in range(most - front) if mine[-1 - at] != theirs[-1 - at]), most - front
    )
    pairs = [(at, at) for at in range(front)]
    pairs += [(len(mine) - 1 - at, len(theirs) - 1 - at) for at in range(back)]
    for own, other in pairs:
        links[own, own + 1] = learned.links[other, other + 1].copy()
        biases[own] = learned.biases[other].copy()
    return Weights(links, tuple(biases))
