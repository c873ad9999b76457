"""`evener verify`: whether training on several ranks does what it should, here."""

from typing import TYPE_CHECKING

import click

from evener.cli import options, output
from evener.cli.ranked import on_ranks
from evener.cli.verb import Verb

if TYPE_CHECKING:
    from evener.comm.communicator import Communicator
    from evener.train.conformance import Check


@click.command(
    cls=Verb,
    examples=("evener verify", "evener verify --ranks 4", "evener verify --ranks 2 --json"),
    what_next="Train on as many ranks: evener train --shape 64,160,160,10 --data digits --shards 8 "
    "--halo 4 --ranks 2.",
)
@options.ranks_option
@options.timeout_option
@options.json_option
def command(*, ranks: int | None, timeout_s: float | None, as_json: bool) -> int:
    """Check training on several ranks.

    Small networks are trained for a few steps on all ranks, and held against the plain network that
    PyTorch trains: in full, with a halo, every bit against a single rank; and whether what goes
    back through messages is the transpose of what goes forth. Without --ranks this process plays 2,
    3 and 5 ranks in turn. The exit code is 1 if a check fails.
    """

    def act(communicator: "Communicator") -> int:
        from evener import workflow

        if communicator.rank > 0:
            workflow.verify_training(communicator)
            return 0
        with output.progress() as report:
            checks = workflow.verify_training(communicator, progress=report)
        _tell(checks, as_json=as_json)
        return 0 if all(check.holds for check in checks) else 1

    return on_ranks(ranks, act, timeout_s=timeout_s)


def _tell(checks: "tuple[Check, ...]", *, as_json: bool) -> None:
    if as_json:
        import msgspec

        output.print_json(
            {"checks": [msgspec.structs.asdict(one) | {"holds": one.holds} for one in checks]}
        )
        return
    from evener.cli.layout import table

    failed = sum(not check.holds for check in checks)
    output.print_for_people(
        table(
            "Training on several ranks against the mathematics",
            ("check", ">ranks", ">largest deviation", ">limit", "holds"),
            [
                (
                    check.name,
                    str(check.ranks),
                    f"{check.error:.1e}",
                    f"{check.limit:.0e}" if check.limit else "0",
                    "yes" if check.holds else "NO",
                )
                for check in checks
            ],
        ),
        f"all {len(checks)} checks hold"
        if not failed
        else f"{failed} of {len(checks)} checks fail: do not trust what is trained here",
    )
