"""`evener run NET`: answer frames with a plan."""

from typing import TYPE_CHECKING, Any

import click
import msgspec

from evener.cli import options, output, targets
from evener.cli.verb import Verb
from evener.units import show

if TYPE_CHECKING:
    from evener.workflow import RunResult


@click.command(
    cls=Verb,
    examples=(
        "evener run squeezenet --frames 100",
        "evener run resnet50 --frames 60 --stages 2 --json",
        "evener run model.onnx --plan model.plan.json --frames photos.npz --out answers.npz",
    ),
    what_next="Hold the plan against a single processor, all cores and copies: evener bench NET.",
)
@click.argument("net", callback=options.through(options.read_name))
@click.option(
    "--frames",
    metavar="N|FILE.npz",
    callback=options.through(options.read_frames),
    required=True,
    help="How many random frames, or an npz file with one array per input whose first axis "
    "counts the frames.",
)
@click.option(
    "--plan",
    metavar="FILE",
    callback=options.through(options.read_path),
    help="Run the plan in this file.  [default: the best one]",
)
@options.stages_option
@options.profile_option
@click.option(
    "--out",
    metavar="FILE.npz",
    callback=options.through(targets.read_npz),
    help="Write the answers to this npz file: one array per output, first axis as the frames.",
)
@options.optimisation_option
@click.option(
    "--credits",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many frames may be in flight.  [default: as planned]",
)
@options.processors_option
@options.runtimes_option(options.EQUAL_RUNTIMES)
@options.shape_option
@options.json_option
def command(
    *,
    net: str,
    shapes: options.Shapes,
    as_json: bool,
    **choices: Any,  # noqa: ANN401 - the options above, each handed on under its own name
) -> int:
    """Answer frames with a split network.

    NET is an ONNX file or the name of a built-in network. The answers are compared with the
    unsplit network's; if they differ by more than rounding explains, the exit code is 1.
    """
    from evener import workflow

    inputs = (choices[name] for name in ("plan", "profile", "frames"))
    targets.spare(choices["out"], net, *inputs)
    with output.progress() as report:
        result = workflow.run_network(net, shapes=dict(shapes), progress=report, **choices)
    if choices["out"] is not None:
        output.note(f"wrote {choices['out']}")
    if as_json:
        output.print_json(msgspec.to_builtins(result.trace))
    else:
        from evener.cli.tables import lay_out

        output.print_for_people(lay_out(result.plan), lay_out(result.trace), *_judged(result))
    return 0 if result.holds else 1


def _judged(result: "RunResult") -> list[str]:
    gain = result.trace.rate_hz / result.unsplit_rate_hz
    alone = show(result.unsplit_rate_hz, "rate")
    lines = [f"that is {gain:.2f} times the unsplit network on one core ({alone}, just before)"]
    if result.not_finite:
        lines.append(
            f"NaN or infinity in the answers to {len(result.not_finite)} of the distinct frames, "
            f"first frame {result.not_finite[0]}: the network itself gives them"
        )
    if not result.holds:
        lines.append(f"they differ by more than the {result.tolerance:g} that splitting may cause")
    return lines
