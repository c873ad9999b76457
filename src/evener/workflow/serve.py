"""Serve a network, or what a project built, by its plan, until the process is told to end."""

from collections.abc import Callable
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
from evener.run.pipeline import Pipeline
from evener.workflow.check_plan import check_plan
from evener.workflow.choices import settle
from evener.workflow.cutting import Cutting, Shapes
from evener.workflow.learn import NETWORK_FILE
from evener.workflow.opened import Opened, Progress
from evener.workflow.opening import Engines, OpeningChoices, open_network
from evener.workflow.precision import with_precisions, with_precisions_of
from evener.workflow.run import check_plan_alone, choose_plan
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
    """

    url: str
    model: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    plan: Plan
    example: str


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
        cutting: how the network is read and cut; a plan says how it is cut.
        engines: what may compute it.
        wish: what the plan is to be best at, within which limits.
        progress: told what is being done.
        choices: fields of these records.

    Raises:
        InputError: the network, the plan, the project or the address cannot be used, it keeps
            states, or the extra "serve" is missing.
        InfeasibleError: no plan meets the limits.
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
    source = _find(net)
    given = load(plan, Plan).value if plan is not None else None
    if given is None and profile is None and wish == Wish():
        given = source.plan
    if given is not None:
        cutting = cutting.as_planned(given)
    cutting = msgspec.structs.replace(cutting, shapes={**source.shapes, **cutting.shapes})
    if engines.processors is None:
        engines = msgspec.structs.replace(engines, processors=source.processors)
    listening = source.section
    with bound(
        listening.host if host is None else host, listening.port if port is None else port
    ) as listener:
        opened = open_network(source.net, cutting, engines)
        if given is not None:
            opened = with_precisions_of(opened, given, engines.precision)
        else:
            opened = with_precisions(opened, engines.precision, progress=progress)
        chosen = (
            check_plan(given, opened)
            if given is not None
            else choose_plan(opened, wish, profile, engines.processors, progress)[0]
        )
        name = source.name or opened.network.name
        with _executor(
            opened,
            chosen,
            credits=credits,
            transport=transport,
            queue=listening.queue if queue is None else queue,
        ) as executor:
            _warm_up(executor)
            serving = Serving(
                url=url_of(listener),
                model=name,
                inputs=executor.inputs,
                outputs=executor.outputs,
                plan=chosen,
                example=example_line(url_of(listener), name, executor.inputs),
            )
            serve(PlannedNetwork(name, executor), listener, ready=lambda: ready(serving))


def _executor(
    opened: Opened, plan: Plan, *, credits: int | None, transport: str, queue: int
) -> PipelineExecutor:
    def open_pipeline() -> Pipeline:
        return Pipeline(
            plan,
            opened.segments,
            variants=opened.segments_in,
            inputs=opened.network.inputs,
            runtimes=opened.runtimes,
            optimisation=opened.optimisation,
            credits=credits,
            transport=transport,
        )

    return PipelineExecutor(open_pipeline, limit=queue, period_s=1 / plan.rate_hz)


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
