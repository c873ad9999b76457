"""Answer a verb on several ranks, however they are started."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import click

from evener.cli.main import explain
from evener.cli.verb import Invocation

if TYPE_CHECKING:
    from evener.comm.communicator import Communicator


def on_ranks(
    asked: int | None,
    act: Callable[["Communicator"], int],
    *,
    timeout_s: float | None = None,
    outliving: bool = False,
) -> int:
    """Act alone, as one of the ranks that were started, or by starting as many on this machine.

    An error on one rank ends all of them, and is told once.

    Args:
        asked: how many ranks the user asked for, if at all.
        act: given the communicator of its rank; every rank calls it, and rank 0 speaks.
        timeout_s: how long a rank waits for another, in seconds; two minutes if None.
        outliving: whether ranks that are started are to go on where one ends.

    Returns:
        The exit code.
    """
    from evener.comm.join import joined
    from evener.comm.started import is_launched, is_torchrun
    from evener.workflow.ranks import start_ranks

    invocation = click.get_current_context().find_object(Invocation) or Invocation()
    if asked is not None and asked > 1 and not is_launched() and not is_torchrun():
        return start_ranks(asked, invocation.arguments, outliving=outliving)
    with joined(
        ranks=asked, timeout_s=timeout_s, explain=partial(explain, invocation)
    ) as communicator:
        code = act(communicator)
        return code if communicator.rank == 0 else 0
