"""Hand a verb the options that belong together as the record that the workflow takes."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

if TYPE_CHECKING:
    from evener.artifacts.plan import Objective
    from evener.artifacts.profile import Granularity
    from evener.data.pixels import Fit, Preset
    from evener.data.sources import Reading
    from evener.run.live import Policy
    from evener.runtime.session import Optimisation
    from evener.workflow import (
        Basis,
        Contest,
        Cutting,
        Engines,
        Manner,
        PrecisionWish,
        Wish,
        Writing,
    )

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def record(name: str, make: Callable[..., object]) -> Callable[[CommandT], CommandT]:
    """Make a decorator by which a verb gets some options as one value.

    It stands below the options, next to the verb's function.

    Args:
        name: what the verb calls the value.
        make: makes it; its parameters are named as the options are, and those that not every verb
            has an option for have a default. It is called when the verb is, so that it may import
            what is heavy.
    """
    own = tuple(signature(make).parameters)

    def decorate(command: CommandT) -> CommandT:
        @wraps(command)
        def with_record(**given: Any) -> object:  # noqa: ANN401 - the verb's own options, handed on
            mine = {option: given.pop(option) for option in own if option in given}
            return command(**given, **{name: make(**mine)})

        return cast("CommandT", with_record)

    return decorate


def _cutting(
    *,
    shapes: Mapping[str, tuple[int, ...]],
    fixed: Mapping[str, float],
    states: Mapping[str, str] | None = None,
    granularity: "Granularity" = "paper",
    max_live: int | None = None,
) -> "Cutting":
    from evener.workflow import Cutting

    return Cutting(
        shapes=shapes,
        fixed=fixed,
        states=states or {},
        granularity=granularity,
        max_live=max_live,
    )


def _engines(
    *,
    processors: tuple[str, ...] | None,
    runtimes: tuple[str, ...] | None,
    optimisation: "Optimisation" = "all",
    precision: "PrecisionWish | None" = None,
) -> "Engines":
    from evener.workflow import Engines

    return Engines(
        processors=processors,
        runtimes=runtimes,
        optimisation=optimisation,
        precision=precision,
    )


def _wish(
    *,
    stages: int | None,
    max_latency_s: float | None,
    min_rate_hz: float | None,
    max_energy_j: float | None = None,
    memory: Mapping[str, int] | None = None,
    method: Literal["dp", "exhaustive"] = "dp",
    objective: "Objective" = "throughput",
    space: Literal["paper", "full"] = "full",
) -> "Wish":
    from evener.workflow import Wish

    return Wish(
        method=method,
        objective=objective,
        space=space,
        min_rate_hz=min_rate_hz,
        max_latency_s=max_latency_s,
        max_energy_j=max_energy_j,
        stages=stages,
        memory=memory or {},
    )


def _basis(*, profile: Path | None = None, board: str | None, transfers: bool) -> "Basis":
    from evener.workflow import Basis

    return Basis(profile=profile, board=board, transfers=transfers)


def _manner(
    *,
    transport: str,
    policy: "Policy",
    source_rate_hz: float | None,
    batch: int,
    supervise: bool,
    standby: bool,
) -> "Manner":
    from evener.workflow import Manner

    return Manner(
        transport=transport,
        policy=policy,
        source_rate_hz=source_rate_hz,
        batch=batch,
        supervise=supervise,
        standby=standby,
    )


def _writing(
    *, out: Path | None, labels: Path | None, annotate: Path | None, timeline: Path | None
) -> "Writing":
    from evener.workflow import Writing

    return Writing(out=out, labels=labels, annotate=annotate, timeline=timeline)


def _reading(
    *,
    columns: tuple[str, ...] | None,
    id_column: str | None,
    limit: int | None,
    preset: "Preset | None",
    scale: float | None,
    mean: tuple[float, ...] | None,
    std: tuple[float, ...] | None,
    fit: "Fit | None",
) -> "Reading":
    from evener.data.pixels import Pixels
    from evener.data.sources import Reading

    return Reading(
        columns=columns,
        id_column=id_column,
        limit=limit,
        pixels=Pixels(preset=preset, scale=scale, mean=mean, std=std, fit=fit or "crop"),
    )


def _contest(*, rounds: int | None, limit: tuple[float | None, float | None] | None) -> "Contest":
    from evener.workflow import Contest

    max_latency_s, max_latency_share = limit or (None, None)
    return Contest(rounds=rounds, max_latency_s=max_latency_s, max_latency_share=max_latency_share)


as_cutting = record("cutting", _cutting)
as_engines = record("engines", _engines)
as_wish = record("wish", _wish)
as_basis = record("basis", _basis)
as_manner = record("manner", _manner)
as_writing = record("writing", _writing)
as_reading = record("reading", _reading)
as_contest = record("contest", _contest)
