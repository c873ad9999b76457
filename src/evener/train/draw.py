"""Draw weights and masks by where they stand, so that they are the same on any number of ranks.

Philox (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) is a function of a
key and a counter: a row of weights has its own counter, and whoever computes it draws it alone.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

_WEIGHTS, _DROPOUT, _ORDER, _NOISE, _LINK, _UNITS, _VIEWS = range(7)
_WORD: Final = 1 << 64
_BLOCK: Final = 4  # words that Philox makes of one value of its counter
_QUARTERS: Final = 4  # numbers of 16 bits that a word holds


def weight_row(seed: int, layer: int, neuron: int, count: int) -> NDArray[np.float64]:
    """Return one number in [-1, 1) for each neuron and coarse value of the layer before.

    Args:
        seed: of the network.
        layer: from 1.
        neuron: number in its layer.
        count: how many.
    """
    return _at(seed, _WEIGHTS, layer, neuron).uniform(-1.0, 1.0, count)


def dropout_mask(
    seed: int, step: int, layer: int, neurons: slice, batch: int, keep: float
) -> NDArray[np.bool_]:
    """Return whether neurons are kept, for each row of a batch, (neurons, batch).

    A neuron has its own part of one long row of numbers, so that neighbours are drawn in one go.

    Args:
        seed: of the network.
        step: of the training, from 0.
        layer: from 1.
        neurons: which of the layer.
        batch: how many rows.
        keep: probability of each.

    Example:
        >>> few = dropout_mask(0, 0, 1, slice(1, 3), 5, 0.5)
        >>> bool((few == dropout_mask(0, 0, 1, slice(0, 4), 5, 0.5)[1:3]).all())
        True
    """
    blocks = -(-batch // _BLOCK)
    count = neurons.stop - neurons.start
    counter = (neurons.start * blocks, 0, step, layer)
    philox = np.random.Philox(key=_words(seed, _DROPOUT), counter=_words(*counter))
    drawn = philox.random_raw(count * blocks * _BLOCK).reshape(count, -1)
    return np.asarray(drawn[:, :batch] < np.uint64(keep * _WORD))


def row_order(seed: int, epoch: int, rows: int) -> NDArray[np.int64]:
    """Return the order in which an epoch takes the rows of the data."""
    return _at(seed, _ORDER, epoch, 0).permutation(rows)


def row_views(seed: int, epoch: int, rows: int, views: int) -> NDArray[np.int64]:
    """Return which view of each row an epoch shows, in the order in which it takes the rows.

    Args:
        seed: of the network.
        epoch: from 0.
        rows: of the data.
        views: how many ways there are to see a row.
    """
    return _at(seed, _VIEWS, epoch, 0).integers(views, size=rows)


def input_noise(seed: int, step: int, rows: slice, features: int) -> NDArray[np.float64]:
    """Return normal numbers for some rows of a batch, (rows, features).

    Args:
        seed: of the network.
        step: of the training, from 0.
        rows: which of the batch.
        features: how many a row has.
    """
    drawn = [
        _at(seed, _NOISE, step, row).standard_normal(features)
        for row in range(rows.start, rows.stop)
    ]
    return np.array(drawn).reshape(-1, features)


def link_weights(seed: int, start: int, end: int, count: int) -> NDArray[np.float64]:
    """Return normal numbers for the weights of the link between two nodes of a network.

    Args:
        seed: of the network.
        start: node from which the link leads, from 0.
        end: node to which; with itself for its biases.
        count: how many.
    """
    return _at(seed, _LINK, end, start).standard_normal(count)


def units_kept(seed: int, steps: range, node: int, count: int, keep: float) -> NDArray[np.bool_]:
    """Return whether units of a node are kept in each of some steps, (steps, count).

    A step has its own values of the counter, whatever steps are drawn with it. A unit takes 16 bits
    of a word, so probabilities are multiples of 1/65536.

    Args:
        seed: of the network.
        steps: of the training, one after the other.
        node: from 1.
        count: neurons times rows of the batch.
        keep: probability of each.

    Example:
        >>> few = units_kept(0, range(2, 3), 1, 5, 0.5)
        >>> bool((few == units_kept(0, range(4), 1, 5, 0.5)[2:3]).all())
        True
    """
    blocks = -(-count // (_BLOCK * _QUARTERS))
    counter = (steps.start * blocks, 0, 0, node)
    philox = np.random.Philox(key=_words(seed, _UNITS), counter=_words(*counter))
    drawn = philox.random_raw(len(steps) * blocks * _BLOCK).astype("<u8", copy=False)
    quarters = drawn.view("<u2").reshape(len(steps), -1)
    return np.asarray(quarters[:, :count] < np.uint32(round(keep * (1 << 16))))


def _at(seed: int, use: int, place: int, row: int) -> np.random.Generator:
    philox = np.random.Philox(key=_words(seed, use), counter=_words(0, 0, row, place))
    return np.random.Generator(philox)


def _words(*numbers: int) -> NDArray[np.uint64]:
    """Return numbers as Philox takes them; NumPy would make a list with a great one floats."""
    return np.array([number % _WORD for number in numbers], np.uint64)
