"""`evener build PROJECT`: from a dataset and requirements to a network and its plan."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evener.cli import options, output, values
from evener.cli.verb import Verb

if TYPE_CHECKING:
    from evener.workflow import BuildResult


@click.command(
    cls=Verb,
    examples=("evener build examples/digits", "evener build examples/digits --json"),
    what_next="Read the report, and run the network with the command that stands last. Change "
    "evener.toml and build again: only what it touches is run again.",
)
@click.argument("project", callback=values.through(values.read_path))
@options.json_option
def command(*, project: Path, as_json: bool) -> int:
    """Build the network of a project.

    The folder PROJECT holds an evener.toml; a network is searched, trained, planned and measured.
    A step whose inputs did not change is not run again; a build that was stopped, in any way,
    goes on where it was. The exit code is 1 if a hard requirement is missed.
    """
    from evener import workflow

    with output.progress() as report:
        result = workflow.build_project(project, workers=workflow.workers_here(), progress=report)
    if as_json:
        output.print_json(
            {
                "requirements": result.verdicts,
                "network": str(result.network),
                "report": str(result.report),
                "ran": result.ran,
                "kept": result.kept,
                "board": result.board,
                "delivered": result.card.family,
                "recommended": result.card.recommended,
                "warnings": result.warnings,
            }
        )
    else:
        from evener.artifacts.requirements import Verdicts
        from evener.cli.tables import lay_out

        output.print_for_people(
            lay_out(Verdicts(verdicts=result.verdicts)),
            *_simulated(result),
            *_delivered(result),
            f"ran: {', '.join(result.ran) or '-'}; kept: {', '.join(result.kept) or '-'}",
            f"network: {result.network}",
            f"report: {result.report}",
            f"next: evener run {shlex.quote(str(result.network))} "
            f"--shape features=1,{result.card.features} --frames 100",
        )
    return 0 if result.holds else 1


def _delivered(result: "BuildResult") -> list[str]:
    """Say what was delivered, where it is not just the recommended network."""
    from evener.artifacts.card import to_deliver
    from evener.artifacts.recommended import NETWORK

    card = result.card
    if card.advice is not None:
        return [f"note: {card.advice}; {to_deliver(board=result.board is not None)}"]
    if card.family == NETWORK:
        return []
    return [f"delivered: the model '{card.family}', the best on the validation rows"]


def _simulated(result: "BuildResult") -> list[str]:
    if result.board is None:
        return []
    from evener.cli.plan_lines import estimate

    said = f"rates and latencies are simulated for {result.board}; nothing was measured there"
    return [said, *estimate(result.plan)]
