"""Serve a network, or what a project built, by its plan, until the process is told to end."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Unpack

import msgspec

from evener.artifacts.card import Card
from evener.artifacts.files import load
from evener.artifacts.plan import Plan
from evener.artifacts.project import FILE_NAME, ServeSection, load_project
from evener.artifacts.tensor import Tensor
from evener.errors import InputError, InvalidFileError
from evener.network.frames import random_frames
from evener.run.executor import PipelineExecutor
from evener.units import show
from evener.workflow.choices import settle
from evener.workflow.cutting import Cutting, Shapes
from evener.workflow.learn import NETWORK_FILE
from evener.workflow.memory import USABLE, free_bytes_now
from evener.workflow.opened import Progress
from evener.workflow.opening import Engines, OpeningChoices
from evener.workflow.run import check_plan_alone
from evener.workflow.served import Simulation, check_manner, serve_here, serve_on_board
from evener.workflow.steps import STATE_FOLDER
from evener.workflow.wish import Wish, WishChoices

_WARM_UP: Final = 4  # times that the pipeline is filled before the first request


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """A service that takes requests.

    Attributes:
        url: where, such as "http://127.0.0.1:8080".
        model: what clients call the network.
        inputs: what a request holds.
        outputs: what an answer holds.
        plan: what runs.
        example: a command line that asks for one prediction.
        board: the board whose processors are simulated; None if they are this machine's own.
    """

    url: str
    model: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    plan: Plan
    example: str
    board: str | None = None


class _Source(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be served."""

    net: str
    name: str | None = None  # None: as the network is called
    shapes: Shapes = {}
    plan: Plan | None = None
    processors: tuple[str, ...] | None = None
    section: ServeSection = ServeSection()


class ServeChoices(OpeningChoices, WishChoices, total=False):
    """What `serve_network` takes as keyword arguments."""


def serve_network(
    net: str,
    *,
    ready: Callable[[Serving], None],
    plan: Path | None = None,
    profile: Path | None = None,
    host: str | None = None,
    port: int | None = None,
    queue: int | None = None,
    credits: int | None = None,
    transport: str = "threads",
    supervise: bool = False,
    standby: bool = True,
    simulation: Simulation | None = None,
    cutting: Cutting = Cutting(),
    engines: Engines = Engines(),
    wish: Wish = Wish(),
    progress: Progress | None = None,
    **choices: Unpack[ServeChoices],
) -> None:
    """Answer predictions over HTTP by the Open Inference Protocol, until SIGTERM or Ctrl-C.

    Then requests that are there are answered first. Each request is one frame; those that come
    together are in the stages together.

    Args:
        net: path of an ONNX file, name of a built-in network, or folder of a project that was
            built: its network then goes by its plan, under the name of the folder.
        ready: called once requests are taken.
        plan: a plan file; None for the project's plan, or plans first.
        profile: a profile file to plan by; None profiles this machine.
        host: name or address to listen at; None for the project's, or this machine only.
        port: number of the port, 0 for any that is free; None for the project's, or 8080.
        queue: most requests that may wait, beside those in the stages; None for the project's,
            or 64.
        credits: frames in flight at once; None for the plan's own.
        transport: where the lanes live: "threads" of this process or "processes" of their own.
        supervise: whether to go on by another plan where a stage fails, hangs or slows down.
        standby: whether to hold ready, then, what is needed once a stage fails, where memory
            allows.
        simulation: a board whose processors are simulated; None for this machine's own.
        cutting: how the network is read and cut; a plan says how it is cut.
        engines: what may compute it.
        wish: what the plan is to be best at, within which limits.
        progress: told what is being done.
        choices: fields of these records.

    Raises:
        InputError: the network, the plan, the project, the board or the address cannot be used,
            it keeps states, so many requests as may wait do not fit into memory, or the extra
            "serve" is missing.
        InfeasibleError: no plan meets the limits, or this machine computes longer than the board.
        StageFailedError: a stage failed before the first request.
    """
    from evener.serve.example import example_line
    from evener.serve.server import bound, serve, url_of
    from evener.workflow.predictor import PlannedNetwork

    cutting, engines, wish = settle(choices, cutting, engines, wish)
    if cutting.states:
        raise InputError(
            "a state goes from each frame to the next, and requests of several clients are in no "
            "order: leave --state out, so that clients send and receive it"
        )
    check_plan_alone(plan, profile, wish)
    check_manner(simulation, profile, transport=transport, supervise=supervise, standby=standby)
    source = _find(net)
    given = load(plan, Plan).value if plan is not None else None
    if given is None and profile is None and simulation is None and wish == Wish():
        given = source.plan
    if given is not None:
        cutting = cutting.as_planned(given)
    cutting = msgspec.structs.replace(cutting, shapes={**source.shapes, **cutting.shapes})
    if engines.processors is None and simulation is None:
        engines = msgspec.structs.replace(engines, processors=source.processors)
    listening = source.section
    with bound(
        listening.host if host is None else host, listening.port if port is None else port
    ) as listener:
        if simulation is None:
            served = serve_here(
                source.net,
                given,
                profile,
                cutting=cutting,
                engines=engines,
                wish=wish,
                credits=credits,
                transport=transport,
                supervise=supervise,
                standby=standby,
                progress=progress,
            )
        else:
            served = serve_on_board(
                source.net,
                given,
                simulation,
                cutting=cutting,
                engines=engines,
                wish=wish,
                credits=credits,
            )
        name = source.name or served.name
        limit = listening.queue if queue is None else queue
        executor = PipelineExecutor(
            served.open_pipeline, limit=limit, period_s=1 / served.plan.rate_hz
        )
        with executor:
            _check_queue(executor.inputs, limit)
            _warm_up(executor)
            if served.stand_ins is not None:
                served.stand_ins.begin()
                _warm_up(executor)
                served.stand_ins.check()
            serving = Serving(
                url=url_of(listener),
                model=name,
                inputs=executor.inputs,
                outputs=executor.outputs,
                plan=served.plan,
                example=example_line(url_of(listener), name, executor.inputs),
                board=served.board,
            )
            predictor = PlannedNetwork(name, executor, board=served.board)
            serve(predictor, listener, ready=lambda: ready(serving))


def _check_queue(inputs: Sequence[Tensor], queue: int) -> None:
    """Refuse a queue that memory could not hold if it were full.

    Raises:
        InputError: it could not.
    """
    frame_bytes = sum(tensor.size_bytes for tensor in inputs)
    free = free_bytes_now()
    if queue * frame_bytes > USABLE * free:
        raise InputError(
            f"a queue of {queue} requests of {show(frame_bytes, 'size')} each may take "
            f"{show(queue * frame_bytes, 'size')}, and {show(free, 'size')} are free: give a "
            f"--queue up to {int(USABLE * free / frame_bytes)}"
        )


def _warm_up(executor: PipelineExecutor) -> None:
    frames = random_frames(executor.inputs, executor.credits, seed=0)
    for _ in range(_WARM_UP):
        for answer in [executor.submit(frame) for frame in frames]:
            answer.result()


def _find(net: str) -> _Source:
    path = Path(net)
    folder = path.parent if path.name == FILE_NAME else path
    return _built(folder) if folder.is_dir() else _Source(net=net)


def _built(folder: Path) -> _Source:
    """Return what a project built.

    Raises:
        InputError: it was not built yet.
    """
    project = load_project(folder)
    state = folder / STATE_FOLDER
    try:
        card = load(state / f"{Card.kind}.json", Card).value
        plan = load(state / f"{Plan.kind}.json", Plan).value
    except InvalidFileError as error:
        raise InputError(f"{folder} was not built to its end: evener build {folder}") from error
    # A board's plan names processors that are not here: this machine gets a plan of its own.
    here = project.plan.board is None
    return _Source(
        net=str(state / NETWORK_FILE),
        name=folder.resolve().name,
        shapes={"features": (1, card.features)},
        plan=plan if here else None,
        processors=project.plan.named if here else None,
        section=project.serve,
    )
