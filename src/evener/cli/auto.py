"""`evener train --auto`: choose how ranks share a training, say why, and train so."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from evener.cli import output, values
from evener.cli.options import CommandT, together
from evener.cli.ranked import on_ranks
from evener.cli.verb import Invocation
from evener.errors import InputError
from evener.units import count, show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from evener.comm.communicator import Communicator
    from evener.train.over_ranks import TrainingResult
    from evener.workflow.auto import Candidate, Latitude, TrainingChoice
    from evener.workflow.training_wish import TrainingWish

Train = Callable[["TrainingWish", "Communicator"], "TrainingResult | None"]
"""Trains on a rank, and returns on the first one what came of it."""

Tell = Callable[["TrainingResult"], None]
"""Tells a person of it."""

_SHOWN: Final = 12  # candidates; --json has all


def auto_options(command: CommandT) -> CommandT:
    """Add --auto and --within."""
    return together(
        command,
        click.option(
            "--auto",
            is_flag=True,
            help="Choose by a cost model, measured here, how many ranks train, up to --ranks and "
            "the cores, and whether they share neurons or rows. The network stays as it is.",
        ),
        click.option(
            "--within",
            "within_s",
            metavar="TIME",
            callback=values.through(values.read_time),
            help='With --auto, the longest that an iteration may take, such as "2 ms". With --halo '
            "auto the network of most weights is chosen that keeps it.",
        ),
    )


def is_auto(*, auto: bool, halo_open: bool, within_s: float | None) -> bool:
    """Return whether ranks are to be chosen; refuse what needs that without it.

    Args:
        auto: whether that was asked for.
        halo_open: whether --halo auto was.
        within_s: of --within.

    Raises:
        InputError: only a choice could keep a time.
    """
    if within_s is not None and not auto and not halo_open:
        raise InputError("--within limits what --auto chooses: add --auto, or leave it out")
    return auto or halo_open


def train_chosen(
    wish: "TrainingWish",
    latitude: "Latitude",
    train: Train,
    tell: Tell,
    *,
    timeout_s: float | None,
    as_json: bool,
) -> int:
    """Choose, print the choice, and train so; return the exit code.

    Args:
        wish: what is to be trained.
        latitude: what is left open.
        train: trains on a rank.
        tell: tells a person what came of it.
        timeout_s: how long a rank waits for another.
        as_json: whether a program reads; the choice is then a key of its object.
    """
    from evener import workflow
    from evener.comm.started import is_launched, is_torchrun

    workflow.check_latitude(wish, latitude)

    def on_all(communicator: "Communicator") -> int:
        """Choose for ranks that are started already, all of which are used."""
        job = workflow.prepare_training(wish)  # here, where torch learns how many threads it has
        calibration = workflow.calibration_among(communicator)
        settled, choice = workflow.choose_training(
            wish, job, latitude, calibration, ranks=communicator.size, exactly=True
        )
        return train_one(settled, choice, communicator)

    def train_one(
        settled: "TrainingWish", choice: "TrainingChoice", communicator: "Communicator"
    ) -> int:
        if communicator.rank == 0 and not as_json:
            output.print_for_people(*_lines(choice))
        trained = train(settled, communicator)
        if trained is not None and as_json:
            output.print_json(_object(msgspec.to_builtins(trained), choice))
        elif trained is not None:
            tell(trained)
        return 0

    if is_launched() or is_torchrun():
        return on_ranks(latitude.ranks, on_all, timeout_s=timeout_s)
    job = workflow.prepare_training(wish)  # what is wrong is said before anything is measured
    most, notes = workflow.ranks_here(latitude.ranks)
    with output.progress() as report:
        calibration = workflow.calibration_for(most, progress=report)
    settled, choice = workflow.choose_training(
        wish, job, latitude, calibration, ranks=most, notes=notes
    )
    if choice.chosen.ranks == 1:
        return on_ranks(
            1, lambda communicator: train_one(settled, choice, communicator), timeout_s=timeout_s
        )
    workflow.prepare_training(settled, ranks=choice.chosen.ranks)
    return _start(choice, as_json=as_json)


def _start(choice: "TrainingChoice", *, as_json: bool) -> int:
    """Start the ranks that were chosen by the same command line, what was chosen said in it."""
    from evener.workflow import ranks

    invocation = click.get_current_context().find_object(Invocation) or Invocation()
    arguments = settled_arguments(invocation.arguments, choice)
    if not as_json:
        output.print_for_people(*_lines(choice))
        return ranks.start_ranks(choice.chosen.ranks, arguments)
    heard: list[str] = []
    code = ranks.start_ranks(choice.chosen.ranks, arguments, hear=heard.append)
    if code == 0:
        output.print_json(_object(msgspec.json.decode("".join(heard)), choice))
    return code


def settled_arguments(arguments: Sequence[str], choice: "TrainingChoice") -> list[str]:
    """Return a command line that says what was chosen instead of asking for a choice.

    Args:
        arguments: with --auto, and maybe --within.
        choice: what was chosen.
    """
    topology = choice.chosen.topology
    said = [
        *("--ranks", str(choice.chosen.ranks), "--replicas", str(choice.chosen.replicas)),
        *("--shards", str(topology.shards), "--halo", str(topology.halo)),
    ]
    asked = list(_without_choice(arguments))
    at = asked.index("--") if "--" in asked else len(asked)  # behind it there are no options
    return [*asked[:at], *said, *asked[at:]]  # of an option given twice the last one counts


def _without_choice(arguments: Sequence[str]) -> Iterator[str]:
    left = iter(arguments)
    for argument in left:
        if argument == "--within":
            next(left, None)
        elif argument != "--auto" and not argument.startswith("--within="):
            yield argument


def _object(trained: dict[str, Any], choice: "TrainingChoice") -> dict[str, Any]:
    return trained | {"choice": msgspec.to_builtins(choice)}


def _lines(choice: "TrainingChoice") -> "Iterator[RenderableType]":
    """Lay out what was looked at, and why one was chosen."""
    from evener.cli.layout import table

    rows = [
        (
            one.layout,
            show(one.iteration_s, "time"),
            f"{one.communication_share:.0%}",
            show(one.bytes_per_iteration, "size"),
            f"{one.weights:,}",
            show(one.memory_bytes, "size"),
            one.why,
        )
        for one in _shown(choice)
    ]
    yield table(
        f"Predicted for batches of {count(choice.batch, 'row')}",
        ("layout", ">iteration", ">messages", ">sent", ">weights", ">memory", "why"),
        rows,
    )
    if len(rows) < len(choice.candidates):
        yield f"and {len(choice.candidates) - len(rows)} more, which --json lists"
    yield from choice.reasons
    yield from choice.notes
    link = "" if choice.link is None else f" and {choice.link.name}"
    yield f"predicted from what was measured of {choice.processor}{link}, one thread a rank"


def _shown(choice: "TrainingChoice") -> "list[Candidate]":
    """Return the quickest candidates, and the chosen one, in the order of their times."""
    first = list(choice.candidates[:_SHOWN])
    return first if choice.chosen in first else [*first[:-1], choice.chosen]
