"""`evener processors`: the processors that this process may use."""

import click

from evener.cli import options, output
from evener.cli.verb import Verb


@click.command(
    cls=Verb,
    examples=("evener processors", "evener processors --json"),
    what_next="Measure a network on them: evener profile squeezenet.",
)
@options.json_option
def command(*, as_json: bool) -> None:
    """List the processors of this machine.

    Those that this process may use are listed, fastest first. A processor is a cluster of equal
    cores, or a device; capacity is the speed of one core relative to the fastest. Below stand the
    runtimes with their versions, and which cannot be used and why.
    """
    from evener import workflow

    machine = workflow.find_processors()
    absent = workflow.find_absent()
    if as_json:
        import msgspec

        output.print_json(msgspec.to_builtins(machine) | {"absent": absent})
        return
    from evener.cli.tables import lay_out

    output.print_for_people(lay_out(machine))
    for name, why in absent.items():
        output.print_for_people(f"not used: {name}: {why}")
