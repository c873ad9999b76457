"""The options of `evener train`, by what they are about."""

from typing import Literal

import click

from evener.artifacts.topology import Halo, parse_halo
from evener.cli import targets, values
from evener.cli.options import CommandT, together
from evener.errors import InputError

OpenHalo = Halo | Literal["auto"]
_MOST_NEURONS = 2**31 - 1  # of a layer: what indices and MPI count to


def read_widths(text: str) -> tuple[int, ...]:
    """Read the neurons of each layer.

    Example:
        >>> read_widths("3,64,128,256,64")
        (3, 64, 128, 256, 64)
    """
    parts = [part.strip() for part in text.split(",")]
    widths = tuple(int(part) if part.isascii() and part.isdigit() else 0 for part in parts)
    if len(widths) < 2 or min(widths) < 1 or max(widths) > _MOST_NEURONS:
        raise InputError(
            f"'{text}' is no shape of a network: write the neurons of each layer, the input first, "
            "such as 64,160,160,10"
        )
    return widths


def read_halo(text: str) -> OpenHalo:
    """Read a halo, or that it is open.

    Example:
        >>> read_halo("boundary"), read_halo("auto")
        (1, 'auto')
    """
    return "auto" if text == "auto" else parse_halo(text)


def network_options(command: CommandT) -> CommandT:
    """Add what says which network is trained, and which of its neurons see which."""
    return together(
        command,
        click.option(
            "widths",
            "--shape",
            metavar="WIDTHS",
            callback=values.through(read_widths),
            help="Neurons of each layer, the input first, such as 64,160,160,10.  [default: what a "
            "build of the project chose]",
        ),
        click.option(
            "--shards",
            type=click.IntRange(min=1),
            metavar="S",
            help="Into how many the neurons of each layer are divided: a property of the network, "
            "which any number of ranks up to S computes.  [default: one for each rank]",
        ),
        click.option(
            "--halo",
            metavar="K|full|auto",
            callback=values.through(read_halo),
            help="How many neurons of either neighbour a shard sees in the layer before: a number, "
            "boundary for 1, or full for all neurons of all. auto: as --auto chooses.  [default: "
            "full, or what the search of the project chose]",
        ),
        click.option(
            "--shuffle",
            is_flag=True,
            help="Deal hidden neurons out anew to the shards before each layer.",
        ),
        click.option(
            "--coarse",
            type=click.IntRange(min=0),
            metavar="C",
            default=0,
            show_default=True,
            help="Let all shards see so many means of each one's neurons.",
        ),
        click.option(
            "input_layout",
            "--input",
            type=click.Choice(["replicated", "sharded"]),
            default="replicated",
            show_default=True,
            help="Whether each shard sees the whole input, or its part like that of any layer.",
        ),
        click.option(
            "--layout",
            type=click.Choice(["shards", "paper"]),
            default="shards",
            show_default=True,
            help="paper: an idle master and a worker for each shard, whose gradients end at its "
            "neighbours, as in the Blue Gene/Q paper; without --ranks they take turns in this "
            "process.",
        ),
        click.option(
            "--activation",
            type=click.Choice(["relu", "sigmoid", "tanh", "gelu"]),
            default="relu",
            show_default=True,
            help="Of hidden layers; behind the last is a softmax where there is data.",
        ),
    )


def replicas_option(command: CommandT) -> CommandT:
    """Add --replicas."""
    return click.option(
        "--replicas",
        type=click.IntRange(min=1),
        metavar="R",
        default=1,
        show_default=True,
        help="Copies of the network that divide the ranks among them, and the rows of each batch.",
    )(command)


def learning_options(command: CommandT) -> CommandT:
    """Add what says on which rows it is trained, how and for how long."""
    return together(
        command,
        click.option(
            "--data",
            metavar="NAME|FILE",
            callback=values.through(values.read_name),
            help='Rows to learn from: digits, or a .csv, .tsv or .npz file with a "label".  '
            "[default: random ones, to see how long it takes]",
        ),
        click.option(
            "--batch",
            type=click.IntRange(min=1),
            metavar="B",
            help="Rows of an iteration.  [default: 32, or 1 without --data]",
        ),
        click.option(
            "--iterations",
            type=click.IntRange(min=1),
            metavar="I",
            help="So many steps.  [default: an epoch, or 20 without --data]",
        ),
        click.option(
            "--epochs",
            type=click.IntRange(min=1),
            metavar="E",
            help="So many passes over the rows.",
        ),
        click.option(
            "--optimiser",
            type=click.Choice(["sgd", "momentum", "adamw"]),
            default="sgd",
            show_default=True,
            help="What makes a step of a gradient; sgd writes no gradients, and so is quickest.",
        ),
        click.option(
            "--learning-rate",
            type=values.Number(min=1e-12),
            metavar="R",
            help="How far a step goes.  [default: 0.1; momentum: 0.01; adamw: 0.003]",
        ),
        click.option(
            "--precision",
            type=click.Choice(["float32", "bfloat16"]),
            default="float32",
            show_default=True,
            help="In which weights and values are multiplied; bfloat16 pays with large layers and "
            "batches where the processor multiplies it itself.",
        ),
        click.option(
            "--seed",
            metavar="N",
            type=click.IntRange(min=0, max=2**32 - 1),
            default=0,
            show_default=True,
            help="What weights, the order of rows and random rows are drawn from.",
        ),
    )


def keeping_options(command: CommandT) -> CommandT:
    """Add what says what is kept of a training."""
    return together(
        command,
        click.option(
            "--checkpoint",
            metavar="DIR",
            callback=values.through(values.read_path),
            help="Save the training here after every epoch, each rank its shards.",
        ),
        click.option(
            "--resume",
            is_flag=True,
            help="Go on from the newest checkpoint, if there is one; on any number of ranks.",
        ),
        click.option(
            "--on-failure",
            type=click.Choice(["abort", "shrink"]),
            default="abort",
            show_default=True,
            help="Where a rank ends: end all, or let the others share its part and go on from the "
            "last checkpoint (Open MPI only).",
        ),
        click.option(
            "--log",
            metavar="DIR|FILE",
            callback=values.through(values.read_path),
            help="Log the loss, learning rate, speed, time in messages and norm of the gradient of "
            "each step: for TensorBoard in a folder, or as lines of JSON in a .jsonl file.",
        ),
        click.option(
            "-o",
            "out",
            metavar="FILE",
            callback=values.through(targets.read_network_or_page),
            help="Write the network as ONNX; of a sweep an .html page with charts.",
        ),
    )
