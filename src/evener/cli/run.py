"""`evener run NET`: answer frames with a plan."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from evener.cli import live_view, options, output, targets, values
from evener.cli.board_words import simulated_on
from evener.cli.frames import frame_options
from evener.cli.precision import precision_options
from evener.cli.records import (
    as_basis,
    as_cutting,
    as_engines,
    as_manner,
    as_reading,
    as_wish,
    as_writing,
)
from evener.cli.verb import Invocation, Verb
from evener.units import count, show

if TYPE_CHECKING:
    from evener.artifacts.lowering import Lowering
    from evener.data.sources import Reading
    from evener.workflow import Basis, Cutting, Engines, Manner, RunResult, Wish, Writing

    Run = Callable[..., RunResult]  # a run of the workflow, but for who watches it


@click.command(
    cls=Verb,
    examples=(
        "evener run squeezenet --frames 100",
        "evener run resnet50 --frames 60 --stages 2 --json",
        "evener run model.onnx --plan model.plan.json --frames photos.npz --out answers.npz",
        "evener run model.onnx --frames photos/ --labels labels.txt --out answers.csv",
        "evener run p/.evener/network.onnx --frames rows.csv --id customer --out scores.parquet",
        "evener run resnet50 --frames 100 --stages 2 --trace resnet50.trace.json",
        "evener run recurrent.onnx --frames 500 --fix rate=16000 --state hn=h",
        "evener run resnet50 --frames 40 --board khadas-vim3",
        "evener run resnet50 --frames 60 --stages 2 --transport processes",
        "evener run resnet50 --frames 60 --stages 2 --ranks 2",
        "evener run squeezenet --frames 300 --source-rate 200 --policy latest_only",
        "evener run squeezenet --frames 100 --batch 4",
        "evener run squeezenet --frames 10000 --supervise --transport processes",
        'evener run squeezenet --frames 10000 --supervise --max-latency "80 ms"',
        "evener run net.onnx --frames f.npz --precision int8 --calibration f.npz --max-error 0.02",
    ),
    what_next="Hold the plan against a single processor, all cores and copies: evener bench NET. "
    "See when each stage ran which frame: add --trace FILE.json, then evener show trace FILE.json.",
)
@click.argument("net", callback=values.through(values.read_name))
@frame_options
@click.option(
    "--plan",
    metavar="FILE",
    callback=values.through(values.read_path),
    help="Run the plan in this file.  [default: the best one]",
)
@options.stages_option
@options.max_latency_option
@options.min_rate_option
@options.profile_option
@options.optimisation_option
@options.credits_option
@options.transport_option
@click.option(
    "--ranks",
    type=click.IntRange(min=1),
    metavar="N",
    help="Spread the stages over so many ranks of MPI; under mpirun and srun they are found.",
)
@click.option(
    "--policy",
    type=click.Choice(["block", "drop_oldest", "drop_newest", "latest_only"]),
    default="block",
    show_default=True,
    help="What happens to a frame that comes while all credits are taken: block makes the source "
    "wait; the others let as many wait as there are credits, and leave out the oldest of them, the "
    "one that came, or all but the newest.",
)
@click.option(
    "source_rate_hz",
    "--source-rate",
    type=values.Number(min=1e-6),
    metavar="HZ",
    help="Let so many frames come a second.  [default: as many as are taken]",
)
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    metavar="B",
    default=1,
    show_default=True,
    help="How many frames go through the stages at once, where the network can.",
)
@options.supervision_options
@options.simulation_options
@options.processors_option
@options.runtimes_option(options.EQUAL_RUNTIMES)
@options.shape_option
@options.fix_option
@options.state_option
@precision_options
@options.json_option
@as_reading
@as_cutting
@as_engines
@as_wish
@as_basis
@as_manner
@as_writing
def command(
    *,
    net: str,
    frames: int | Path,
    plan: Path | None,
    credits: int | None,
    ranks: int | None,
    no_compute: bool,
    slowdown: float | None,
    reading: "Reading",
    cutting: "Cutting",
    engines: "Engines",
    wish: "Wish",
    basis: "Basis",
    manner: "Manner",
    writing: "Writing",
    as_json: bool,
) -> int:
    """Answer frames with a split network.

    NET is an ONNX file or the name of a built-in network. The answers are compared with the
    unsplit network's; if they differ by more than rounding explains, the exit code is 1.
    """
    inputs = (net, plan, basis.profile, frames, basis.board, writing.labels)
    for target in (writing.out, writing.timeline):
        targets.spare(target, *inputs)
    from evener import workflow

    if basis.board is not None:
        _check_board(basis, engines, manner, ranks)
        on_board = partial(
            workflow.run_on_board,
            net,
            board=basis.board,
            frames=frames,
            plan=plan,
            credits=credits,
            transfers=basis.transfers,
            compute=not no_compute,
            slowdown=slowdown or 1.0,
            reading=reading,
            cutting=cutting,
            engines=engines,
            wish=wish,
            writing=writing,
        )
        return _answer(on_board, writing, as_json=as_json)
    options.refuse_without_board(
        basis.board, slowdown, transfers=basis.transfers, no_compute=no_compute
    )
    here = partial(
        workflow.run_network,
        net,
        frames=frames,
        plan=plan,
        profile=basis.profile,
        credits=credits,
        reading=reading,
        cutting=cutting,
        engines=engines,
        wish=wish,
        writing=writing,
    )
    return _on_ranks(here, manner, ranks, lambda run: _answer(run, writing, as_json=as_json))


def _check_board(basis: "Basis", engines: "Engines", manner: "Manner", ranks: int | None) -> None:
    """Refuse what simulated processors cannot do."""
    from evener.workflow import Manner

    if manner != Manner() or engines.precision is not None or ranks is not None:
        raise click.UsageError(
            "a board is simulated frame by frame in threads: leave out --transport, --ranks, "
            "--policy, --source-rate, --batch, --supervise, --standby and --precision"
        )
    if basis.profile is not None:
        raise click.UsageError("a board has times of its own: give --board or --profile")


def _on_ranks(
    run: "Run", manner: "Manner", asked: int | None, answer: Callable[["Run"], int]
) -> int:
    """Answer in this process, or as the first of some ranks, or by starting as many."""
    from evener.workflow import ranks

    started = ranks.ranks_started()
    if max(asked or 1, started) > 1 and manner.transport != "threads":
        raise click.UsageError("ranks are processes already: leave out --transport or --ranks")
    if started > 1:
        manner = msgspec.structs.replace(manner, transport="ranks")
        with ranks.all_ranks(asked) as is_first:
            return answer(partial(run, manner=manner)) if is_first else 0
    if asked is not None and asked > 1:
        invocation = click.get_current_context().find_object(Invocation)
        return ranks.start_ranks(asked, invocation.arguments if invocation is not None else ())
    return answer(partial(run, manner=manner))


def _answer(run: "Run", writing: "Writing", *, as_json: bool) -> int:
    with live_view.progress(stages=not as_json) as (report, watch):
        result = run(watch=watch, progress=report)
    for path in (writing.out, writing.annotate, writing.timeline):
        if path is not None:
            output.note(f"wrote {path}")
    if as_json:
        whence = {
            "board": result.board,
            "slowdown": result.slowdown,
            "computed": result.computed,
            "agreement": result.agreement,
            "lowering": msgspec.to_builtins(result.plan.lowering),
        }
        output.print_json(msgspec.to_builtins(result.trace) | whence)
    else:
        from evener.cli.tables import lay_out

        output.print_for_people(lay_out(result.plan), lay_out(result.trace), *_judged(result))
    return 0 if result.holds else 1


def _judged(result: "RunResult") -> list[str]:
    lines = [_simulated(result)] if result.board is not None else []
    if result.unsplit_rate_hz is not None:
        gain = result.trace.rate_hz / result.unsplit_rate_hz
        alone = show(result.unsplit_rate_hz, "rate")
        lines.append(
            f"that is {gain:.2f} times the unsplit network on one core ({alone}, just before)"
            if result.board is None
            else f"that is {gain:.2f} times the best single processor ({alone} predicted)"
        )
    if result.not_finite:
        lines.append(
            f"NaN or infinity in the answers to {len(result.not_finite)} of the distinct frames, "
            f"first frame {result.not_finite[0]}: the network itself gives them"
        )
    if result.trace.dropped:
        lines.append(
            f"{count(result.trace.dropped, 'frame')} came while there was no room and were left out"
        )
    if result.trace.batch > 1:
        lines.append(f"stages and plan count batches of {result.trace.batch} frames")
    lowering = result.plan.lowering
    lower = lowering is not None and lowering.deviation is not None
    if result.agreement is not None and lower:
        lines.append(f"the top answer is the unsplit network's in f32 for {result.agreement:.1%}")
    if not result.holds and lower:
        lines.append(
            f"that is further from f32 than the plan allows (error {result.tolerance:g}"
            f"{_share_of(lowering)}): these frames are unlike those it was judged by"
        )
    elif not result.holds:
        equal = "; with --optimisation extended they are equal to the bit"
        lines.append(
            f"they differ by more than the {result.tolerance:g} that splitting may cause"
            + equal * bool(result.tolerance)
        )
    return lines


def _share_of(lowering: "Lowering | None") -> str:
    share = None if lowering is None else lowering.min_accuracy
    return "" if share is None else f", share {share:g}"


def _simulated(result: "RunResult") -> str:
    slowed = f", {result.slowdown:g} times slowed down" if result.slowdown != 1 else ""
    late = count(result.trace.overruns, "computation")
    said = simulated_on(str(result.board), slowed, computed=result.computed)
    return f"{said}; {late} took longer here than there"
