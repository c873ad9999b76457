"""`evener show FILE`: say what an artifact file holds."""

from pathlib import Path

import click

from evener.cli import options, output, targets, values
from evener.cli.verb import Verb
from evener.errors import InputError
from evener.units import show


@click.command(
    cls=Verb,
    examples=(
        "evener show resnet50.plan.json",
        "evener show model.profile.json --json",
        "evener show trace resnet50.trace.json",
        "evener show trace resnet50.trace.json --from 40 --frames 20 --svg stages.svg",
        "evener show mine/.evener/network.onnx --torch mine-in-pytorch",
    ),
    what_next="A profile is for evener plan --profile FILE, a plan for evener run --plan FILE.",
)
@click.argument("words", metavar="[trace] FILE", nargs=-1, required=True)
@click.option(
    "--from",
    "first",
    type=click.IntRange(min=0),
    metavar="N",
    help="Of a timeline, draw from this frame on.  [default: the middle]",
)
@click.option(
    "--frames",
    type=click.IntRange(min=1),
    metavar="N",
    default=12,
    show_default=True,
    help="Of a timeline, draw so many frames.",
)
@click.option(
    "--svg",
    metavar="FILE",
    callback=values.through(targets.read_svg),
    help="Draw a timeline into this file too.",
)
@click.option(
    "--torch",
    metavar="FOLDER",
    callback=values.through(targets.read_new_folder),
    help="Of a network that evener build made: write it as plain PyTorch into this new folder.",
)
@options.json_option
def command(
    *,
    words: tuple[str, ...],
    first: int | None,
    frames: int,
    svg: Path | None,
    torch: Path | None,
    as_json: bool,
) -> None:
    """Explain a file that Evener wrote.

    It may hold a profile, a plan, a trace, a card or any other artifact, and is checked against
    its own hash first. Of the timeline that evener run --trace wrote, the stages are drawn over
    time. A network is written as PyTorch source and weights, which need Evener no more.
    """
    *kinds, name = words
    if kinds not in ([], ["trace"]):
        raise click.UsageError("give one file, or trace and one file")
    file = _file(name)
    if torch is not None:
        if kinds or svg is not None or first is not None:
            raise click.UsageError("--torch is for a network, and takes no other option")
        _write_torch(file, torch, as_json=as_json)
        return
    from evener.artifacts.files import peek
    from evener.artifacts.timeline import is_timeline

    if kinds or is_timeline(peek(file)):
        _draw(file, first, frames, svg, as_json=as_json)
        return
    if svg is not None or first is not None:
        raise click.UsageError("--from and --svg are for what evener run --trace wrote")
    _explain(file, as_json=as_json)


def _file(name: str) -> Path:
    try:
        return values.read_path(name)
    except InputError as error:
        raise click.BadParameter(str(error), param_hint="'FILE'") from error


def _write_torch(file: Path, folder: Path, *, as_json: bool) -> None:
    from evener.network.source import read_file
    from evener.train.torch_export import SOURCE_FILE, WEIGHTS_FILE, write_torch

    error = write_torch(read_file(file), folder, name=file.stem)
    files = [str(folder / name) for name in (SOURCE_FILE, WEIGHTS_FILE)]
    if as_json:
        output.print_json({"files": files, "max_error": error})
    else:
        output.print_for_people(
            f"wrote {' and '.join(files)}, which need PyTorch alone; answers differ from the ONNX "
            f"file's by {error:.1g} at most"
        )


def _draw(file: Path, first: int | None, frames: int, svg: Path | None, *, as_json: bool) -> None:
    from evener.artifacts.files import write_whole
    from evener.artifacts.timeline import load_timeline
    from evener.cli.gantt import gantt, window
    from evener.report.timeline import timeline_file

    targets.spare(svg, file)
    timeline = load_timeline(file)
    begin_s, end_s = window(timeline, first, frames)
    if svg is not None:
        write_whole(svg, timeline_file(timeline, begin_s, end_s))
        output.note(f"wrote {svg}")
    if as_json:
        output.print_json(timeline)
    else:
        output.print_for_people(*gantt(timeline, begin_s, end_s, width=output.width()))


def _explain(file: Path, *, as_json: bool) -> None:
    from evener.artifacts import (
        architecture,
        calibration,
        card,
        comparison,
        data_edge,
        dataset,
        files,
        front,
        machine_costs,
        page,
        plan,
        plans,
        processors,
        profile,
        requirements,
        search_state,
        split,
        trace,
    )
    from evener.errors import InvalidFileError

    records: tuple[type[files.Artifact], ...] = (
        architecture.Architecture,
        card.Baselines,
        calibration.Calibration,
        card.Card,
        comparison.Comparison,
        data_edge.DataEdge,
        dataset.DatasetFacts,
        front.Front,
        front.Scored,
        machine_costs.MachineCosts,
        page.Page,
        plan.Plan,
        plans.Plans,
        processors.Machine,
        profile.Profile,
        requirements.Verdicts,
        search_state.SearchState,
        split.Split,
        trace.Trace,
    )
    by_kind = {record.kind: record for record in records}
    raw = files.peek(file)
    kind = raw.get("kind")
    record = by_kind.get(kind) if isinstance(kind, str) else None
    if record is None:
        held = "JSON of no kind" if kind is None else f"the unknown kind {kind!r}"
        raise InvalidFileError(
            f"{file} holds {held}; this version knows {', '.join(by_kind)}", path=str(file)
        )
    kept = files.load(file, record)
    if as_json:
        output.print_json(raw)
        return
    from evener.cli.tables import lay_out

    sources = ", ".join(f"{name} {sha256[:12]}" for name, sha256 in kept.made_from.items())
    output.print_for_people(
        lay_out(kept.value),
        f"{kind} {kept.sha256[:12]}, made {kept.made.at} by evener {kept.made.by} in "
        f"{show(kept.made.took_s, 'time')} from {sources or 'nothing kept'}",
    )
