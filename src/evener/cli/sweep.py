"""`evener train --sweep`: many networks that differ in who sees whom, side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
import msgspec

from evener.artifacts.swept import Interval, Sweep, Swept
from evener.cli import output, values
from evener.cli.options import CommandT, together
from evener.cli.ranked import on_ranks
from evener.errors import InputError
from evener.units import count, show

if TYPE_CHECKING:
    from evener.comm.communicator import Communicator
    from evener.workflow.sweep import SweepWish
    from evener.workflow.training_wish import TrainingWish

EqualWeights = int | Literal["full", "none"]


def read_weights(text: str) -> EqualWeights:
    """Read how many weights networks are to have a second time.

    Example:
        >>> read_weights("20000"), read_weights("full")
        (20000, 'full')
    """
    if text == "full":
        return "full"
    if text == "none":
        return "none"
    if text.isascii() and text.isdigit() and int(text):
        return int(text)
    raise InputError(f"'{text}' is no number of weights: give one, full or none")


def sweep_options(command: CommandT) -> CommandT:
    """Add what says which networks are compared."""
    return together(
        command,
        click.option(
            "--sweep",
            multiple=True,
            metavar="SETTING=VALUES",
            help="Compare networks with each of some values: halo=0,1,2,4,full, shards=1,8,64, "
            "coarse=0,2, shuffle=off,on or input=replicated,sharded; several give all "
            "combinations. Finished ones are kept for the next time.",
        ),
        click.option(
            "--seeds",
            type=click.IntRange(min=1, max=1000),
            metavar="N",
            help="How many times a sweep trains each network.  [default: 3]",
        ),
        click.option(
            "--equal-weights",
            metavar="W|full|none",
            callback=values.through(read_weights),
            help="How many weights a sweep gives each network a second time, by the width of its "
            "hidden layers: full for as many as a dense one.  [default: full]",
        ),
    )


def read_sweep(
    training: "TrainingWish",
    *,
    settings: tuple[str, ...],
    seeds: int | None,
    equal_weights: EqualWeights | None,
) -> "SweepWish | None":
    """Return the sweep that a command line asks for; None if it asks for one training.

    Args:
        training: the rest of the command line; an .html file to write is the sweep's.
        settings: of `--sweep`.
        seeds: of `--seeds`.
        equal_weights: of `--equal-weights`.

    Raises:
        InputError: something belongs to a sweep, and there is none.
    """
    page = training.out if training.out is not None and _is_page(training.out) else None
    if not settings:
        wrong = {
            "--seeds": seeds is not None,
            "--equal-weights": equal_weights is not None,
            f"-o {page}": page is not None,
        }
        given = [name for name, is_given in wrong.items() if is_given]
        if given:
            raise InputError(
                f"{', '.join(given)} without a sweep: add --sweep, such as --sweep halo=0,1,full, "
                "or leave it out"
            )
        return None
    from evener import workflow

    return workflow.SweepWish(
        training=training if page is None else msgspec.structs.replace(training, out=None),
        settings=settings,
        seeds=seeds or 3,
        equal_weights=None if equal_weights == "none" else equal_weights or "full",
        page=page,
    )


def sweep_networks(
    wish: "SweepWish", *, ranks: int | None, timeout_s: float | None, as_json: bool
) -> int:
    """Train the networks of a sweep, alone or on ranks, and tell what each came to.

    Args:
        wish: which.
        ranks: how many the user asked for, if at all.
        timeout_s: how long a rank waits for another, in seconds.
        as_json: whether a program asks.

    Returns:
        The exit code.
    """
    from evener import workflow
    from evener.comm.started import is_launched, is_torchrun

    if ranks is not None and ranks > 1 and not is_launched() and not is_torchrun():
        workflow.prepare_sweep(wish, ranks=ranks)  # what is wrong is said before ranks start

    def act(communicator: "Communicator") -> int:
        sweeping = workflow.prepare_sweep(wish, ranks=communicator.size)
        if communicator.rank > 0:
            workflow.sweep_over_ranks(sweeping, communicator)
            return 0
        with output.progress() as report:
            found = workflow.sweep_over_ranks(sweeping, communicator, progress=report)
        _tell(found, wish.page, as_json=as_json)
        return 0

    return on_ranks(ranks, act, timeout_s=timeout_s)


def _tell(sweep: Sweep, page: Path | None, *, as_json: bool) -> None:
    if as_json:
        output.print_json(sweep)
        return
    from evener.cli.layout import table

    judged = sweep.points[0].test_accuracy is not None
    title = (
        f"{'-'.join(map(str, sweep.points[0].widths))} on {sweep.data}: "
        f"{count(sweep.train_rows, 'row')} to learn from, {sweep.test_rows:,} to "
        f"judge by; {count(sweep.iterations, 'iteration')} of {sweep.batch}, "
        f"{count(sweep.points[0].seeds, 'seed')}, {count(sweep.ranks, 'rank')}"
    )
    swept = [text.partition("=")[0] for text in sweep.settings]
    columns = ["network", ">weights", ">bytes a row", ">accuracy %" if judged else ">"]
    columns += [">test loss", ">train loss", ">iteration"]
    rows = [
        (
            f"{_name(one, swept)}{' *' if place == sweep.recommended else ''}",
            f"{one.weights:,}",
            f"{one.bytes_per_row:,}",
            _figure(one.test_accuracy, 100, 2),
            _figure(one.test_loss, 1, 3),
            _figure(one.train_loss, 1, 3),
            show(one.iteration_s, "time"),
        )
        for place, one in enumerate(sweep.points)
    ]
    output.print_for_people(table(title, columns, rows), f"* {sweep.reason}")
    if page is not None:
        output.note(f"wrote {page}")


def _name(one: Swept, swept: Sequence[str]) -> str:
    """Name a network by what was swept, and by its layers where they are others."""
    words = []
    for name in swept:
        value = getattr(one.topology, name)
        if isinstance(value, bool):
            value = "on" if value else "off"
        if one.topology.halo != "full" or name not in ("shuffle", "coarse"):  # no difference there
            words.append(f"{name} {value}")
    return ", ".join(words) + (f" ({'-'.join(map(str, one.widths))})" if one.equal_weights else "")


def _figure(of: Interval | None, times: int, digits: int) -> str:
    if of is None:
        return ""
    half = "" if of.half_width is None else f" ± {times * of.half_width:.{digits}f}"
    return f"{times * of.mean:.{digits}f}{half}"


def _is_page(path: Path) -> bool:
    return path.suffix.lower() == ".html"
