"""`evener search PROJECT`: evolve networks for a project, beside what they are held against."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from evener.artifacts.search_section import SEARCHES, SearchName
from evener.cli import options, output, values
from evener.cli.verb import Invocation, Verb
from evener.errors import InputError

if TYPE_CHECKING:
    from evener.workflow import SearchResult


@click.command(
    cls=Verb,
    examples=(
        "evener search examples/digits",
        'evener search examples/digits --algorithm regularized --budget "5 min"',
        "evener search examples/digits --ranks 4 --json",
    ),
    what_next="evener build PROJECT trains, plans and measures the chosen network; a search that "
    "was done is not done again.",
)
@click.argument("project", callback=values.through(values.read_path))
@click.option(
    "--algorithm",
    type=click.Choice(SEARCHES),
    help="How the search goes on.  [default: the project's]",
)
@click.option(
    "--budget",
    metavar="TIME",
    help='Longest time for it, such as "10 min".  [default: the project\'s]',
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes of this machine that train networks.  [default: one for each core, up to 8]",
)
@click.option(
    "--ranks",
    type=click.IntRange(min=2),
    metavar="N",
    help="Train on so many ranks of MPI instead, the first of which leads; under mpirun and srun "
    "they are found.",
)
@options.json_option
def command(
    *,
    project: Path,
    algorithm: str | None,
    budget: str | None,
    workers: int | None,
    ranks: int | None,
    as_json: bool,
) -> int:
    """Search the network of a project.

    Networks evolve by the keys of [search] in PROJECT/evener.toml, each trained shortly; random
    search runs beside them with as many evaluations. The best are trained in full from several
    seeds, and the cheapest that is good enough is chosen. A search that was stopped, in any way,
    goes on where it was.
    """
    from evener import workflow

    if workers is not None and (ranks is not None or workflow.is_one_of_ranks()):
        raise InputError(
            f"--workers {workers} and ranks of MPI: one or the other trains networks; leave out "
            "--workers"
        )

    def search(pool: workflow.Pool) -> int:
        with output.progress() as report:
            result = workflow.search_project(
                project,
                algorithm=cast("SearchName | None", algorithm),
                budget=budget,
                pool=pool,
                progress=report,
            )
        _print(result, project, as_json=as_json)
        return 0

    invocation = click.get_current_context().find_object(Invocation) or Invocation()
    if workflow.is_one_of_ranks():
        return workflow.search_on_rank(search, ranks)
    if ranks is not None:
        return workflow.search_on_ranks(ranks, invocation.arguments)
    return search(workflow.pool_of(workers or workflow.workers_here()))


def _print(result: "SearchResult", project: Path, *, as_json: bool) -> None:
    if as_json:
        output.print_json(
            {
                "metric": result.metric,
                "best": result.best,
                "test": result.test,
                "baselines": result.baselines,
                "recommended": result.recommended,
                "evaluations": result.evaluations,
                "elapsed_s": result.elapsed_s,
                "full_s": result.full_s,
                "simple_s": result.simple_s,
                "probe_s": result.probe_s,
                "front": result.front,
                "set_apart": result.found.set_apart,
                "edge": result.found.edge,
                "warnings": result.found.warnings,
            }
        )
        return
    from evener.cli.search_tables import front_table, held_against

    output.print_for_people(
        front_table(result.found),
        *held_against(result),
        f"next: evener build {shlex.quote(str(project))}",
    )
