"""`evener plan NET`: cut a network into stages and give each its cores."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from evener.cli import options, output, targets, values
from evener.cli.plan_json import no_plan_for_programs, plan_for_programs
from evener.cli.precision import precision_options
from evener.cli.records import as_basis, as_cutting, as_engines, as_wish
from evener.cli.verb import Verb
from evener.errors import InfeasibleError
from evener.units import count, show

if TYPE_CHECKING:
    from evener.artifacts.plan import Plan
    from evener.artifacts.profile import Profile
    from evener.workflow import Basis, Cutting, Engines, Wish

_OF_NETWORK: Final = frozenset({"granularity", "max_live", "shapes", "fixed", "states"})
_OF_EXPLAIN: Final = _OF_NETWORK | {"explain", "board", "as_json", "debug"}
_OF_HAND: Final = _OF_EXPLAIN - {"explain"} | {
    *("cuts", "on", "runtimes", "profile", "board", "transfers", "target"),
}


@click.command(
    cls=Verb,
    examples=(
        "evener plan squeezenet",
        "evener plan resnet50 --stages 2 -o resnet50.plan.json",
        'evener plan model.onnx --objective latency --max-latency "40 ms" --json',
        "evener plan alexnet --board khadas-vim3",
        'evener plan resnet50 --board rk3399pro --objective energy --min-rate "3 /s"',
        "evener plan resnet50 --board rk3399pro --objective pareto -o resnet50.plans.json",
        "evener plan resnet50 --explain",
        "evener plan googlenet --board khadas-vim3 --explain",
        "evener plan recurrent.onnx --fix rate=16000 --state hn=h",
        "evener plan googlenet --granularity node --max-live 3",
        "evener plan resnet50 --cuts 4,11 --on cpu0:1,cpu0:1,cpu1",
        "evener plan model.onnx --precision int8 --calibration photos.npz --min-accuracy 0.97",
        "evener plan alexnet --board khadas-vim3 --cuts 4 --on G,B",
    ),
    what_next="Run it: evener run NET --plan FILE --frames 100. Hold it against the baselines: "
    "evener bench NET.",
)
@click.argument("net", callback=values.through(values.read_name))
@options.granularity_option
@options.max_live_option
@click.option(
    "--method",
    type=click.Choice(["dp", "exhaustive"]),
    default="dp",
    show_default=True,
    help="How the best plan is found: by dynamic programming, or by trying every plan.",
)
@click.option(
    "--objective",
    type=click.Choice(["throughput", "latency", "energy", "pareto"]),
    default="throughput",
    show_default=True,
    help="What the plan is to be best at; pareto lists every plan that no other beats in rate, "
    "latency and energy.",
)
@click.option(
    "--space",
    type=click.Choice(["paper", "full"]),
    default="full",
    show_default=True,
    help="Which plans are tried: three stages on three processors, or every one the machine "
    "can run.",
)
@options.max_latency_option
@options.min_rate_option
@click.option(
    "--max-energy",
    "max_energy_j",
    metavar="ENERGY",
    callback=values.through(values.read_energy),
    help='Only plans that take at most this per frame, such as "0.5 J".',
)
@click.option(
    "--memory",
    metavar="LIMITS",
    callback=values.through(values.read_memory),
    help="What the sessions on a processor may hold together, such as B=512MB,G=1GB.  "
    "[default: what the profile or board says]",
)
@options.stages_option
@options.cuts_option(required=False)
@click.option(
    "--on",
    metavar="PROCESSORS",
    callback=values.through(values.read_places),
    help="The processor of each stage, with how many of its cores, such as cpu0:1,cpu1:4,gpu0; "
    "nothing is left to choose then.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Plan nothing: list the blocks and cuts, and why the network cannot be cut elsewhere; of "
    "a --board the parts that it was timed in, with their times.",
)
@options.profile_option
@click.option(
    "--board",
    metavar="FILE|NAME",
    help="Predict for a board: khadas-vim3, rk3399pro or a file of yours. NET may then also be the "
    "name of a network in its table; any other is estimated.",
)
@click.option(
    "--transfers",
    is_flag=True,
    help="On the board, let a stage pay for moving its frames to the next one's processor.",
)
@options.processors_option
@options.runtimes_option("all that are installed; a board's table has its own")
@options.shape_option
@options.fix_option
@options.state_option
@precision_options
@click.option(
    "-o",
    "target",
    metavar="FILE",
    callback=values.through(targets.artifact("plan", "plans")),
    help="Write the plan to this file; of --objective pareto all plans.",
)
@options.json_option
@as_cutting
@as_engines
@as_wish
@as_basis
def command(
    *,
    net: str,
    cutting: "Cutting",
    engines: "Engines",
    wish: "Wish",
    basis: "Basis",
    cuts: tuple[int, ...] | None,
    on: values.Places | None,
    explain: bool,
    target: Path | None,
    as_json: bool,
) -> None:
    """Split a network over the processors.

    NET is cut into stages, and each gets cores of its own, so that none waits for another.
    NET is an ONNX file or the name of a built-in network. A network that was never profiled on
    this machine is measured first. With --board nothing is measured.
    """
    from evener.artifacts import files

    if explain:
        _refuse_beside("--explain plans nothing", allowed=_OF_EXPLAIN)
        _explain(net, cutting, basis.board, as_json=as_json)
        return
    if cuts is not None and on is None:
        raise click.UsageError("--cuts needs --on, with a processor for each stage")
    targets.spare(target, net, basis.profile, basis.board)
    asked = _Asked(net, cutting, engines, wish, basis)
    if wish.objective == "pareto" and on is None:
        _front(asked, target, as_json=as_json)
        return
    plan = _planned(asked, as_json=as_json) if on is None else _by_hand(asked, cuts or (), on)
    if target is not None:
        files.save(target, plan, made_from={"network": plan.network_sha256}, took_s=plan.elapsed_s)
        output.note(f"wrote {target}")
    if as_json:
        output.print_json(plan_for_programs(plan))
        return
    from evener.cli.tables import lay_out
    from evener.plan.memory import limit_memory

    profile = limit_memory(_profile(asked, plan), wish.memory)
    output.print_for_people(
        lay_out(plan),
        *_gain(plan, profile, engines.processors),
        *([] if basis.board else _advice(net, plan, profile, cutting)),
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is to be planned, and how."""

    net: str
    cutting: "Cutting"
    engines: "Engines"
    wish: "Wish"
    basis: "Basis"


def _front(asked: _Asked, target: Path | None, *, as_json: bool) -> None:
    """List the plans that no other beats; for programs the quickest with all of them beside it."""
    from evener import workflow
    from evener.artifacts import files

    with _counting_paper(asked, as_json=as_json), output.progress() as report:
        found = workflow.plan_front(
            asked.net,
            cutting=asked.cutting,
            engines=asked.engines,
            wish=asked.wish,
            basis=asked.basis,
            progress=report,
        )
    if target is not None:
        made_from = {"network": found.network_sha256}
        files.save(target, found, made_from=made_from, took_s=found.elapsed_s)
        output.note(f"wrote {target}")
    if as_json:
        front = [plan_for_programs(plan) for plan in found.plans]
        output.print_json(front[0] | {"front": front, "elapsed_s": found.elapsed_s})
        return
    from evener.cli.tables import lay_out

    output.print_for_people(lay_out(found))


def _profile(asked: _Asked, plan: "Plan") -> "Profile":
    """Return the times that a plan was made from."""
    from evener import workflow
    from evener.artifacts import files
    from evener.artifacts.profile import Profile
    from evener.workflow.profile import only_precisions

    basis = asked.basis
    if basis.board is not None:
        return workflow.open_on_board(
            asked.net, basis.board, asked.cutting, transfers=basis.transfers
        ).profile
    if basis.profile is not None:
        offered = () if plan.lowering is None else plan.lowering.offered
        admitted = {one.precision for one in offered if one.admitted}
        return only_precisions(files.load(basis.profile, Profile).value, admitted)
    return workflow.profile_network(asked.net, cutting=asked.cutting, engines=asked.engines).value


def _planned(asked: _Asked, *, as_json: bool) -> "Plan":
    from evener import workflow

    with _counting_paper(asked, as_json=as_json), output.progress() as report:
        return workflow.plan_network(
            asked.net,
            cutting=asked.cutting,
            engines=asked.engines,
            wish=asked.wish,
            basis=asked.basis,
            progress=report,
        )


@contextmanager
def _counting_paper(asked: _Asked, *, as_json: bool) -> Iterator[None]:
    """Still count the plans of the paper's space for programs where there is none."""
    from evener import workflow

    try:
        yield
    except InfeasibleError:
        if as_json and asked.wish.space == "paper":
            counted = workflow.count_plans(
                asked.net, cutting=asked.cutting, board=asked.basis.board
            )
            output.print_json(no_plan_for_programs(*counted))
        raise


def _by_hand(asked: _Asked, cuts: tuple[int, ...], on: values.Places) -> "Plan":
    from evener import workflow

    _refuse_beside("--on leaves nothing to choose", allowed=_OF_HAND)
    with output.progress() as report:
        return workflow.plan_by_hand(
            asked.net,
            cuts=cuts,
            on=on,
            cutting=asked.cutting,
            engines=asked.engines,
            basis=asked.basis,
            progress=report,
        )


def _explain(net: str, cutting: "Cutting", board: str | None, *, as_json: bool) -> None:
    from evener import workflow

    explanation = workflow.explain_network(net, cutting=cutting, board=board)
    if as_json:
        output.print_json(explanation)
        return
    from evener.cli.explained import lay_out_explanation

    shown = [lay_out_explanation(explanation)]
    if board is not None:
        from evener.cli.tables import lay_out

        shown.append(lay_out(workflow.open_on_board(net, board, cutting).profile))
    output.print_for_people(*shown)


def _refuse_beside(why: str, *, allowed: frozenset[str]) -> None:
    """Refuse options that were given and would have no effect."""
    context = click.get_current_context()
    given = [
        param.opts[-1]
        for param in context.command.params
        if isinstance(param, click.Option)
        and param.name not in allowed
        and context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"{why}: leave out {', '.join(given)}")


def _gain(plan: "Plan", profile: "Profile", processors: Sequence[str] | None) -> list[str]:
    from evener.plan.decide import make_baseline

    try:
        single = make_baseline(profile, "single", processors=processors)
    except InfeasibleError:
        return []  # no processor can run the whole network: there is nothing to compare with
    gain = f"{plan.rate_hz / single.rate_hz:.2f} times"
    return [f"that is {gain} the best single processor ({show(single.rate_hz, 'rate')} predicted)"]


def _advice(net: str, plan: "Plan", profile: "Profile", cutting: "Cutting") -> list[str]:
    """Say where a block that no cut parts holds all others up, and that it can be opened."""
    from evener import workflow

    slowest = workflow.find_dominant(net, plan, profile, cutting)
    if slowest is None:
        return []
    block, opened = f"block {slowest.block} ({slowest.name})", count(slowest.places, "place")
    return [
        (
            f"{block} alone takes {slowest.share:.0%} of the network's time on "
            f"{slowest.processor}, and the other stages wait for it; it has {opened} where two "
            "tensors cross: try --granularity node"
        )
    ]
