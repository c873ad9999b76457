"""A name for each line of Algorithm 1, so that a run can be read beside the paper."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, get_args

Line = Literal[
    "initialise instances",
    "initialise hyperparameters",
    "develop",
    "store score",
    "encode",
    "relate weights",
    "evolve",
    "update scores",
    "sparsify",
    "translate",
    "toggle",
    "back-propagate",
    "prune",
    "break",
    "continue",
]
LINES: Final[tuple[Line, ...]] = get_args(Line)


@dataclass(frozen=True, slots=True)
class Event:
    """A line that was carried out.

    Attributes:
        line: which. "sparsify" is the introduction's: pruning begins as the error threshold has
            been crossed; all others are lines of the algorithm.
        round: number of the development or generation, from 0.
        subject: instance or chromosome, from 0; None for all of them.
        connection: from node, to node, where one is tried.
        score: F, where one was found.
    """

    line: Line
    round: int = 0
    subject: int | None = None
    connection: tuple[int, int] | None = None
    score: float | None = None


Trace = Callable[[Event], None]


def forget(event: Event) -> None:
    """Keep nothing of an event; for who wants no trace."""
