"""`evener serve NET`: answer predictions over HTTP with a plan."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from evener.cli import options, output, values
from evener.cli.board_words import simulated_on
from evener.cli.records import as_cutting, as_engines, as_wish
from evener.cli.verb import Verb

if TYPE_CHECKING:
    from evener.workflow import Cutting, Engines, Serving, Wish

_LONGEST_QUEUE: Final = 1_000_000  # requests: hours of work for most networks


@click.command(
    cls=Verb,
    examples=(
        "evener serve squeezenet",
        "evener serve examples/digits --port 8000",
        "evener serve model.onnx --plan model.plan.json --host 0.0.0.0 --queue 256",
        "evener serve model.onnx --supervise --transport processes",
        "evener serve resnet50 --board khadas-vim3",
    ),
    what_next="Ask it with the curl line that it prints, or with any client of the Open Inference "
    "Protocol; look at its figures at /metrics. SIGTERM ends it, with what it took answered.",
)
@click.argument("net", callback=values.through(values.read_name))
@click.option(
    "--plan",
    metavar="FILE",
    callback=values.through(values.read_path),
    help="Serve by the plan in this file.  [default: the project's, or the best one]",
)
@options.stages_option
@options.max_latency_option
@options.min_rate_option
@options.profile_option
@click.option(
    "--host",
    metavar="ADDRESS",
    callback=values.through(values.read_name),
    help="Listen at this address; 0.0.0.0 lets other machines in.  [default: the project's, or "
    "127.0.0.1]",
)
@click.option(
    "--port",
    type=values.Whole("a port", least=0, most=65_535, such_as="8080, or 0 for any that is free"),
    metavar="N",
    help="Listen at this port; 0 takes any that is free.  [default: the project's, or 8080]",
)
@click.option(
    "--queue",
    type=values.Whole("a length of the queue", least=0, most=_LONGEST_QUEUE, such_as="64"),
    metavar="N",
    help="Let so many requests wait, beside those in the stages; further ones are told to come "
    "again.  [default: the project's, or 64]",
)
@options.optimisation_option
@options.credits_option
@options.transport_option
@options.supervision_options
@options.simulation_options
@options.processors_option
@options.runtimes_option(options.EQUAL_RUNTIMES)
@options.shape_option
@options.fix_option
@options.json_option
@as_cutting
@as_engines
@as_wish
def command(
    *,
    net: str,
    plan: Path | None,
    profile: Path | None,
    host: str | None,
    port: int | None,
    queue: int | None,
    credits: int | None,
    transport: str,
    supervise: bool,
    standby: bool,
    board: str | None,
    transfers: bool,
    no_compute: bool,
    slowdown: float | None,
    cutting: "Cutting",
    engines: "Engines",
    wish: "Wish",
    as_json: bool,
) -> None:
    """Answer predictions over HTTP.

    NET is an ONNX file, the name of a built-in network, or the folder of a project that was built.
    The service speaks the Open Inference Protocol (v2): each request is one frame, and those that
    come together are in the stages together. It runs until SIGTERM or Ctrl-C.
    """
    from evener import workflow

    options.refuse_without_board(board, slowdown, transfers=transfers, no_compute=no_compute)
    simulation = None
    if board is not None:
        simulation = workflow.Simulation(
            board=board, transfers=transfers, compute=not no_compute, slowdown=slowdown or 1.0
        )
    bar = ExitStack()

    def ready(serving: "Serving") -> None:
        bar.close()
        if as_json:
            output.print_json(
                {
                    "url": serving.url,
                    "model": serving.model,
                    "inputs": serving.inputs,
                    "outputs": serving.outputs,
                    "stages": serving.plan.stages,
                    "board": serving.board,
                    "computed": not no_compute,
                }
            )
        else:
            from evener.cli.tables import lay_out

            output.print_for_people(
                lay_out(serving.plan),
                *_simulated(serving, computed=not no_compute),
                f"serving {serving.model} at {serving.url}",
                f"try: {serving.example}",
            )

    with bar:
        report = bar.enter_context(output.progress())
        workflow.serve_network(
            net,
            ready=ready,
            plan=plan,
            profile=profile,
            host=host,
            port=port,
            queue=queue,
            credits=credits,
            transport=transport,
            supervise=supervise,
            standby=standby,
            simulation=simulation,
            cutting=cutting,
            engines=engines,
            wish=wish,
            progress=report,
        )


def _simulated(serving: "Serving", *, computed: bool) -> list[str]:
    return [] if serving.board is None else [simulated_on(serving.board, computed=computed)]
