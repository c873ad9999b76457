"""`evener show FILE`: say what an artifact file holds."""

from pathlib import Path

import click

from evener.cli import options, output
from evener.cli.verb import Verb
from evener.units import show


@click.command(
    cls=Verb,
    examples=("evener show resnet50.plan.json", "evener show model.profile.json --json"),
    what_next="A profile is for evener plan --profile FILE, a plan for evener run --plan FILE.",
)
@click.argument("file", callback=options.through(options.read_path))
@options.json_option
def command(*, file: Path, as_json: bool) -> None:
    """Explain a file that Evener wrote.

    It may hold a profile, a plan, a trace, a card or any other artifact, and is checked against
    its own hash first.
    """
    from evener.artifacts import (
        architecture,
        card,
        comparison,
        dataset,
        files,
        front,
        page,
        plan,
        plans,
        processors,
        profile,
        requirements,
        split,
        trace,
    )
    from evener.errors import InvalidFileError

    records: tuple[type[files.Artifact], ...] = (
        architecture.Architecture,
        card.Baselines,
        card.Card,
        comparison.Comparison,
        dataset.DatasetFacts,
        front.Front,
        front.Scored,
        page.Page,
        plan.Plan,
        plans.Plans,
        processors.Machine,
        profile.Profile,
        requirements.Verdicts,
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
