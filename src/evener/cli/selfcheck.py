"""`evener selfcheck`: what is installed, how fast it is, and what it is known to do wrong."""

from typing import TYPE_CHECKING, Final

import click

from evener.cli import options, output
from evener.cli.ranked import on_ranks
from evener.cli.verb import Verb

if TYPE_CHECKING:
    from evener.comm.communicator import Communicator
    from evener.workflow.selfcheck import SelfCheck

DEFAULT_RANKS: Final = 2


@click.command(
    cls=Verb,
    examples=(
        "evener selfcheck",
        "evener selfcheck --mpi",
        "evener selfcheck --mpi --ranks 4 --json",
    ),
    what_next="See how long training takes on so many ranks: evener train --shape "
    "2048,4096,4096,4096,2048 --ranks 2.",
)
@click.option(
    "--mpi", is_flag=True, help="Start ranks of MPI, and measure what connects them as well."
)
@click.option(
    "--ranks",
    type=click.IntRange(min=2),
    metavar="N",
    help="How many ranks; says --mpi too.  [default: 2]",
)
@options.json_option
def command(*, mpi: bool, ranks: int | None, as_json: bool) -> int:
    """Measure this machine for training.

    It says what is installed. In about five seconds it times how one core passes through memory and
    multiplies, and with --mpi how long messages between ranks take; predictions of training use
    what it found. It also tries what some MPI libraries are known to get wrong; Evener does not use
    that.
    """
    from evener import workflow
    from evener.comm.started import is_launched, is_torchrun

    started = is_launched() or is_torchrun()
    asked = ranks
    if ranks is None and not started:
        asked = DEFAULT_RANKS if mpi else 1

    def check(communicator: "Communicator") -> int:
        found = workflow.check_self(communicator)
        if communicator.rank == 0 and as_json:
            output.print_json(found)
        elif communicator.rank == 0:
            _print(found)
        return 0

    return on_ranks(asked, check)


def _print(found: "SelfCheck") -> None:
    from evener.cli.layout import table
    from evener.cli.tables import lay_out

    output.print_for_people(
        table(
            "Installed",
            ("library", "version"),
            [(name, one or "missing") for name, one in found.versions.items()],
        )
    )
    if found.ranks > 1:
        output.print_for_people(f"{found.ranks} ranks measured at the same time")
    output.print_for_people(lay_out(found.calibration))
    if found.calibration.link is None:
        return
    for ring in found.rings:
        if not ring.right:
            output.print_for_people(
                f"{ring.name} gives wrong values on a ring of {ring.ranks}; Evener does not use it"
            )
    if all(ring.right for ring in found.rings):
        output.print_for_people("neighbourhood collectives are right on small rings")
