"""Hold sharded training against the mathematics, on the ranks that are there or on virtual ones."""

from typing import TYPE_CHECKING, Final

from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.virtual import run_ranks
from evener.workflow.opened import Progress

if TYPE_CHECKING:
    from evener.train.conformance import Check

VIRTUAL_RANKS: Final = (2, 3, 5)
"""What one process plays beside itself; of two ranks, both neighbours on a ring are one."""


def verify_training(
    communicator: Communicator, *, progress: Progress | None = None
) -> "tuple[Check, ...]":
    """Make all checks of training on several ranks; every rank calls it.

    A rank that is alone plays several in turn, in this process.

    Args:
        communicator: the ranks.
        progress: told what is being checked.

    Raises:
        MissingExtraError: PyTorch is missing.
        RankError: ranks lost one another.
    """
    from evener.train.conformance import check_training

    if communicator.size > 1:
        return tuple(check_training(communicator, on_check=progress))
    found = check_training(Alone(), on_check=progress)
    for ranks in VIRTUAL_RANKS:
        if progress is not None:
            progress(f"{ranks} ranks in turn", 0, 0)
        found += run_ranks(ranks, check_training)[0]
    return tuple(found)
