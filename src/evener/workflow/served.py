"""Open what a service answers with: a plan on this machine, or on the simulated ones of a board."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from evener.artifacts.plan import Plan
from evener.errors import InputError
from evener.plan.foresee import with_simulated
from evener.run.pipeline import Pipeline
from evener.run.supervise import SupervisedPipeline
from evener.workflow.board import check_left_to_board, open_on_board
from evener.workflow.board_run import check_board_plan, check_slowdown, open_here
from evener.workflow.check_plan import check_plan
from evener.workflow.cutting import Cutting
from evener.workflow.near_enough import reference_runtime
from evener.workflow.opened import Progress
from evener.workflow.opening import Engines, open_network
from evener.workflow.pipeline import make_pipeline
from evener.workflow.precision import with_precisions, with_precisions_of
from evener.workflow.profile import profile_opened
from evener.workflow.run import choose_plan
from evener.workflow.stand_in import StandIns, slowed, stand_in
from evener.workflow.supervise import check_can_be_supervised, supervised
from evener.workflow.wish import Wish, decide


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """A board whose processors are simulated.

    Attributes:
        board: name of a known board, or path of a board's file.
        transfers: whether moving a frame between its processors costs the stage that sends.
        compute: whether answers are computed; if not, they are zeros.
        slowdown: how many times as long its processors take, so that this machine can keep up.
    """

    board: str
    transfers: bool = False
    compute: bool = True
    slowdown: float = 1.0


@dataclass(frozen=True, slots=True)
class Served:
    """What a service answers with.

    Attributes:
        name: what the network is called.
        plan: what runs at first.
        open_pipeline: makes the pipeline, not yet open.
        board: the board whose processors are simulated; None if they are this machine's own.
        stand_ins: what simulates them; None likewise.
    """

    name: str
    plan: Plan
    open_pipeline: Callable[[], Pipeline | SupervisedPipeline]
    board: str | None = None
    stand_ins: StandIns | None = None


def check_manner(
    simulation: Simulation | None,
    profile: Path | None,
    *,
    transport: str,
    supervise: bool,
    standby: bool,
) -> None:
    """Refuse what cannot go together.

    Raises:
        InputError: a board with what is only of this machine, or standby of nothing.
    """
    if simulation is not None:
        check_slowdown(simulation.slowdown)
        if profile is not None:
            raise InputError("a board has times of its own: give --board or --profile")
        if transport != "threads" or supervise:
            raise InputError(
                "a board is simulated in threads, which nobody has to replace: leave out "
                "--transport and --supervise, or --board"
            )
    if not standby and not supervise:
        raise InputError(
            "without --supervise nothing is held ready; leave out --no-standby, or add --supervise"
        )


def serve_here(
    net: str,
    given: Plan | None,
    profile: Path | None,
    *,
    cutting: Cutting,
    engines: Engines,
    wish: Wish,
    credits: int | None,
    transport: str,
    supervise: bool,
    standby: bool,
    progress: Progress | None,
) -> Served:
    """Plan a network on this machine, if it is not yet, and say how to open it.

    Args:
        net: path of an ONNX file, or name of a built-in network.
        given: its plan; None makes one.
        profile: a profile file to plan by; None profiles this machine.
        cutting: how the network is read and cut.
        engines: what may compute it.
        wish: what the plan is to be best at, within which limits.
        credits: frames in flight at once; None for the plan's own.
        transport: where the lanes live.
        supervise: whether another plan is taken where a stage fails, hangs or slows down.
        standby: whether what is needed then is held ready.
        progress: told what is being done.

    Raises:
        InputError: the network, the plan or the profile cannot be used.
        InfeasibleError: no plan meets the limits.
    """
    opened = open_network(net, cutting, engines)
    if given is not None:
        opened = with_precisions_of(opened, given, engines.precision)
    else:
        opened = with_precisions(opened, engines.precision, progress=progress)
    if supervise:
        check_can_be_supervised(opened)
    if given is not None:
        chosen = check_plan(given, opened)
        times = profile_opened(opened, progress=progress).value if supervise else None
    else:
        chosen, times = choose_plan(opened, wish, profile, engines.processors, progress)
    pipeline_of = partial(make_pipeline, opened, credits=credits, transport=transport)
    return Served(
        name=opened.network.name,
        plan=chosen,
        open_pipeline=partial(pipeline_of, chosen)
        if not supervise or times is None
        else partial(supervised, opened, chosen, times, pipeline_of, standby=standby),
    )


def serve_on_board(
    net: str,
    given: Plan | None,
    simulation: Simulation,
    *,
    cutting: Cutting,
    engines: Engines,
    wish: Wish,
    credits: int | None,
) -> Served:
    """Plan a network on a board by its table, if it is not yet, and say how to simulate it.

    Args:
        net: path of an ONNX file, or name of a built-in network.
        given: its plan; None makes one.
        simulation: the board.
        cutting: how the network is read.
        engines: which of the board's processors to use, and what computes here.
        wish: what the plan is to be best at, within which limits on the board.
        credits: frames in flight at once; None for the plan's own.

    Raises:
        InputError: the network, the plan or the board cannot be used.
        InfeasibleError: no plan meets the limits.
    """
    check_left_to_board(cutting, {"--precision": engines.precision})
    found = open_on_board(net, simulation.board, cutting, transfers=simulation.transfers)
    opened = open_here(found, net, engines, compute=simulation.compute)
    plan = (
        decide(found.profile, wish, engines.processors)
        if given is None
        else check_board_plan(given, found.profile, engines.processors)
    )
    if simulation.slowdown != 1:
        plan = slowed(plan, simulation.slowdown)
    stand_ins = stand_in(
        plan, opened.runtimes[reference_runtime(opened)], compute=simulation.compute
    )
    return Served(
        name=opened.network.name,
        plan=with_simulated(plan, found.profile),
        open_pipeline=partial(
            make_pipeline, opened, stand_ins.plan, runtimes=stand_ins.runtimes, credits=credits
        ),
        board=found.board.name,
        stand_ins=stand_ins,
    )
