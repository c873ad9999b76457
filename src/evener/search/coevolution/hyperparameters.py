"""The hyperparameters that the paper initialises at the edge of chaos."""

import msgspec
import numpy as np

from evener.artifacts.table1 import Table1
from evener.errors import InputError
from evener.search.chaos.table import PAPER, Probed


class Hyperparameters(msgspec.Struct, frozen=True, kw_only=True):
    """How a network is trained, and how its children come about.

    Attributes:
        learning_rate: of back-propagation.
        momentum: of back-propagation.
        mutation_rate: probability with which a bit is inverted.
        crossover_rate: probability that a child has two parents.
    """

    learning_rate: float
    momentum: float
    mutation_rate: float
    crossover_rate: float


def draw_at_edge(probed: Probed, rng: np.random.Generator) -> Hyperparameters:
    """Draw one of the settings at the edge of chaos that was found for a dataset.

    Args:
        probed: the table of `chaos.table.PAPER`, probed.
        rng: draws.

    Raises:
        InputError: another table, or no setting of it learned anything.
    """
    edge = probed.edge()
    if probed.grid != PAPER or not len(edge):
        raise InputError(
            f"a table of {', '.join(axis.name for axis in probed.grid.axes)} with {len(edge)} "
            "settings at the edge of chaos: probe that of the paper, for longer or with wider "
            "limits until some setting learns"
        )
    state = probed.grid.states()[edge[rng.integers(len(edge))]].tolist()
    return Hyperparameters(
        learning_rate=state[0], momentum=state[1], mutation_rate=state[2], crossover_rate=state[3]
    )


def check_ranges(hyperparameters: Hyperparameters, table: Table1) -> None:
    """Check that hyperparameters are within the ranges of Table I.

    Raises:
        InputError: one is not.
    """
    for name in Hyperparameters.__struct_fields__:
        value, (low, high) = getattr(hyperparameters, name), getattr(table, name)
        if not low <= value <= high:
            raise InputError(
                f"a {name.replace('_', ' ')} of {value:g}: Table I has {low:g} to {high:g}; give "
                "one in between, or a table with another range"
            )
