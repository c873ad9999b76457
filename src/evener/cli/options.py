"""Options that several verbs take."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from evener.cli import values

EQUAL_RUNTIMES: Final = (
    "all that are installed; at --optimisation extended those that stay equal to the bit"
)
CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def cuts_option(*, required: bool) -> Callable[[CommandT], CommandT]:
    """Add --cuts; the verb gets the blocks that they follow, or None."""
    return click.option(
        "--cuts",
        metavar="BLOCKS",
        required=required,
        callback=values.through(values.read_cuts),
        help="Cut here: 4,6 cuts after block 4 and after block 6, counted from 0.",
    )


def granularity_option(command: CommandT) -> CommandT:
    """Add --granularity."""
    return click.option(
        "--granularity",
        type=click.Choice(["paper", "strict", "node"]),
        default="paper",
        show_default=True,
        help="Where the network may be cut: strict before each group of main layers that a single "
        "tensor leads to; paper sets a head without main layers apart too; node also inside such "
        "groups, where few tensors cross, and through heavy layers.",
    )(command)


def max_live_option(command: CommandT) -> CommandT:
    """Add --max-live; the verb gets a count, or None for the rule's own."""
    return click.option(
        "--max-live",
        type=click.IntRange(min=1),
        metavar="N",
        help="By --granularity node, let up to N tensors cross a cut. More than 2 help networks of "
        "many branches or skips, and transformers; they take longer to measure.  [default: 2]",
    )(command)


def json_option(command: CommandT) -> CommandT:
    """Add --json; the verb gets `as_json`."""
    return click.option(
        "as_json", "--json", is_flag=True, help="Print one JSON object on stdout, nothing else."
    )(command)


def optimisation_option(command: CommandT) -> CommandT:
    """Add --optimisation."""
    return click.option(
        "--optimisation",
        type=click.Choice(["extended", "all"]),
        default="all",
        show_default=True,
        help="How far the runtime rewrites the network: extended keeps a split network equal to "
        "the whole to the bit, all may be faster and rounds differently.",
    )(command)


def processors_option(command: CommandT) -> CommandT:
    """Add --processors; the verb gets a tuple of names, or None for all."""
    return click.option(
        "--processors",
        metavar="NAMES",
        callback=values.through(values.read_distinct),
        help="Use only these, such as cpu0,cpu1.  [default: all]",
    )(command)


def runtimes_option(
    default: str = "all that are installed",
) -> Callable[[CommandT], CommandT]:
    """Add --runtimes; the verb gets a tuple of names, or None for those that it uses by itself.

    Args:
        default: which those are.
    """
    return click.option(
        "--runtimes",
        metavar="NAMES",
        callback=values.through(values.read_distinct),
        help=f"Use only these, such as onnxruntime,openvino.  [default: {default}]",
    )


def profile_option(command: CommandT) -> CommandT:
    """Add --profile; the verb gets a path, or None for what was measured here."""
    return click.option(
        "--profile",
        metavar="FILE",
        callback=values.through(values.read_path),
        help="Take the times from this file.  [default: measured on this machine]",
    )(command)


def max_latency_option(command: CommandT) -> CommandT:
    """Add --max-latency; the verb gets `max_latency_s`, or None."""
    return click.option(
        "--max-latency",
        "max_latency_s",
        metavar="TIME",
        callback=values.through(values.read_time),
        help='Only plans at most this slow, such as "40 ms".',
    )(command)


def min_rate_option(command: CommandT) -> CommandT:
    """Add --min-rate; the verb gets `min_rate_hz`, or None."""
    return click.option(
        "--min-rate",
        "min_rate_hz",
        metavar="RATE",
        callback=values.through(values.read_rate),
        help='Only plans at least this quick, such as "10 /s".',
    )(command)


def supervision_options(command: CommandT) -> CommandT:
    """Add --supervise and --standby."""
    return together(
        command,
        click.option(
            "--supervise",
            is_flag=True,
            help="Go on by another plan where a stage fails, hangs or stays slower than planned.",
        ),
        click.option(
            "--standby/--no-standby",
            default=True,
            show_default=True,
            help="With --supervise, hold ready what is needed once a stage fails, where memory "
            "allows; without it no answer comes until that is opened.",
        ),
    )


def simulation_options(command: CommandT) -> CommandT:
    """Add --board, --transfers, --no-compute and --slowdown."""
    return together(
        command,
        click.option(
            "--board",
            metavar="FILE|NAME",
            help="Simulate the processors of a board, such as khadas-vim3: the answers are "
            "computed here, by the first of --runtimes, and each stage takes as long as it would "
            "there.",
        ),
        click.option(
            "--transfers",
            is_flag=True,
            help="On the board, let a stage pay for moving its frames to the next one's processor.",
        ),
        click.option(
            "--no-compute",
            "no_compute",
            is_flag=True,
            help="On the board, compute no answers and only take the time, where this machine is "
            "too slow.",
        ),
        click.option(
            "--slowdown",
            type=values.Number(min=1, max=1e6),
            metavar="X",
            help="On the board, let everything take X times as long, so that this machine can "
            "keep up.",
        ),
    )


def together(command: CommandT, *options: Callable[[CommandT], CommandT]) -> CommandT:
    """Add options, which are listed in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def shape_option(command: CommandT) -> CommandT:
    """Add --shape, repeatable; the verb gets `shapes`, sizes by name."""
    return click.option(
        "shapes",
        "--shape",
        metavar="NAME=SIZES",
        multiple=True,
        callback=values.pairs(values.read_shape),
        help="Static shape of an input that the network leaves open, such as "
        "images=1,3,640,640; repeatable.",
    )(command)


def fix_option(command: CommandT) -> CommandT:
    """Add --fix, repeatable; the verb gets `fixed`, numbers by name."""
    return click.option(
        "fixed",
        "--fix",
        metavar="NAME=NUMBER",
        multiple=True,
        callback=values.pairs(values.read_fixed),
        help="Make an input constant, so that what follows from it is computed once and branches "
        "that it decides are settled, such as sr=16000; repeatable.",
    )(command)


def state_option(command: CommandT) -> CommandT:
    """Add --state, repeatable; the verb gets `states`, names of inputs by those of outputs."""
    return click.option(
        "states",
        "--state",
        metavar="OUTPUT=INPUT",
        multiple=True,
        callback=values.pairs(values.read_state),
        help="Hand an output on to the next frame as an input, such as stateN=state; it is zero "
        "before the first frame, and no part of frames and answers; repeatable.",
    )(command)


def credits_option(command: CommandT) -> CommandT:
    """Add --credits; the verb gets a count, or None for the plan's own."""
    return click.option(
        "--credits",
        type=click.IntRange(min=1),
        metavar="N",
        help="How many frames may be in flight.  [default: as planned]",
    )(command)


def transport_option(command: CommandT) -> CommandT:
    """Add --transport."""
    return click.option(
        "--transport",
        type=click.Choice(["threads", "processes"]),
        default="threads",
        show_default=True,
        help="Where the stages live: threads of one process, or a process each, which none of the "
        "others can break.",
    )(command)


def refuse_without_board(
    board: str | None, slowdown: float | None, *, transfers: bool, no_compute: bool
) -> None:
    """Refuse what only simulated processors have, where there are none.

    Raises:
        click.UsageError: it is given.
    """
    if board is None and (transfers or no_compute or slowdown is not None):
        raise click.UsageError("--transfers, --no-compute and --slowdown need a --board")


def stages_option(command: CommandT) -> CommandT:
    """Add --stages; the verb gets a count, or None for as many as are best."""
    return click.option(
        "--stages",
        type=click.IntRange(min=1),
        metavar="K",
        help="Exactly this many stages.  [default: as many as are best]",
    )(command)


def ranks_option(command: CommandT) -> CommandT:
    """Add --ranks, of those that train together; the verb gets a count, or None."""
    return click.option(
        "--ranks",
        type=click.IntRange(min=1),
        metavar="N",
        help="On so many ranks of MPI; under mpirun, srun and torchrun they are found.",
    )(command)


def timeout_option(command: CommandT) -> CommandT:
    """Add --timeout; the verb gets `timeout_s`, or None for the communicator's own."""
    return click.option(
        "--timeout",
        "timeout_s",
        metavar="TIME",
        callback=values.through(values.read_time),
        help='How long a rank waits for another, such as "30 s", before it names it and ends all.  '
        "[default: 2 min]",
    )(command)
