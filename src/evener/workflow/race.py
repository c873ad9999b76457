"""Let plans and peers take turns: all open at once where memory allows, else each for its turn."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Final

import msgspec
import numpy as np

from evener.artifacts.plan import Plan
from evener.artifacts.trace import Trace
from evener.errors import InfeasibleError
from evener.profile.energy import Meter
from evener.run.compare import InTurn, Runner, interleave
from evener.run.entry import Frame
from evener.run.pipeline import Pipeline
from evener.run.sink import Emit
from evener.units import show
from evener.workflow.memory import USABLE, free_bytes_now, plan_bytes
from evener.workflow.opened import Opened

_FRAMES: Final = 24  # of the quickest in a round, if the bounds below allow
_ROUND_S: Final = (0.2, 0.5)  # shortest and longest round of one entrant
_LOG: Final = logging.getLogger(__name__)


class Entrant(msgspec.Struct, frozen=True, kw_only=True):
    """What can take part.

    Attributes:
        open: opens it; it is closed at the end of the context.
        memory_bytes: about what it holds while it is open.
        rate_hz: about how many frames it answers a second.
    """

    open: Callable[[], AbstractContextManager[Runner]]
    memory_bytes: int
    rate_hz: float


def entrant(opened: Opened, plan: Plan) -> Entrant:
    """Let a plan take part."""

    def pipeline() -> Pipeline:
        return Pipeline(
            plan,
            opened.segments,
            variants=opened.segments_in,
            inputs=opened.network.inputs,
            runtimes=opened.runtimes,
            states=opened.network.states,
            optimisation=opened.optimisation,
        )

    return Entrant(open=pipeline, memory_bytes=plan_bytes(opened, plan), rate_hz=plan.rate_hz)


def without_those_too_big(
    entrants: Mapping[str, Entrant], *, free_bytes: int | None = None
) -> tuple[dict[str, Entrant], dict[str, str]]:
    """Part entrants into those that fit in memory alone, and reasons why the others do not.

    Args:
        entrants: by name.
        free_bytes: memory that is free; asked of the system if None.
    """
    free = free_bytes_now() if free_bytes is None else free_bytes
    reasons = {
        name: f"needs about {show(one.memory_bytes, 'size')} of memory, {show(free, 'size')} are "
        "free"
        for name, one in entrants.items()
        if one.memory_bytes > USABLE * free
    }
    return {name: one for name, one in entrants.items() if name not in reasons}, reasons


def race(
    entrants: Mapping[str, Entrant],
    frames: Sequence[Frame],
    *,
    rounds: int,
    seed: int = 0,
    frames_per_round: int | None = None,
    free_bytes: int | None = None,
    meter: Meter | None = None,
) -> dict[str, list[Trace]]:
    """Run entrants in turn, round by round, in an order drawn anew each round.

    Args:
        entrants: by name.
        frames: what they run on, again and again.
        rounds: how often each runs.
        seed: what the orders are drawn from.
        frames_per_round: frames of each in a round; None for as many as some tenths of a second
            have room for.
        free_bytes: memory that is free; asked of the system if None.
        meter: meters the energy of each turn; None if nothing does.

    Returns:
        One trace per round, by name.

    Raises:
        InfeasibleError: one of them does not fit in memory, even alone.
    """
    free = free_bytes_now() if free_bytes is None else free_bytes
    _, reasons = without_those_too_big(entrants, free_bytes=free)
    if reasons:
        name, reason = next(iter(reasons.items()))
        raise InfeasibleError(
            f"'{name}' {reason}. Free some, or take a smaller network",
            needed=entrants[name].memory_bytes,
            available=free,
        )
    shortest_s, longest_s = _ROUND_S
    quickest_s = min(1 / one.rate_hz for one in entrants.values())
    seconds = min(longest_s, max(shortest_s, _FRAMES * quickest_s))
    if meter is not None:
        seconds = max(seconds, meter.least_s)  # it tells nothing of a shorter turn
    together = sum(one.memory_bytes for one in entrants.values()) <= USABLE * free
    if not together:
        _LOG.warning(
            "%s need about %s of memory together, %s are free: each is opened for its turn only",
            ", ".join(entrants),
            show(sum(one.memory_bytes for one in entrants.values()), "size"),
            show(free, "size"),
        )
    with ExitStack() as stack:
        runners: dict[str, Runner] = {
            name: stack.enter_context(one.open()) if together else InTurn(one.open, frames[:2])
            for name, one in entrants.items()
        }
        if meter is not None:
            runners = {name: _Metered(runner, meter) for name, runner in runners.items()}
        return interleave(
            runners,
            frames,
            rounds=rounds,
            frames_per_round=frames_per_round,
            seconds_per_round=None if frames_per_round is not None else seconds,
            rng=np.random.default_rng(seed),
        )


class _Metered:
    """A runner whose turns are metered; `interleave` opens it, if need be, before its turn."""

    def __init__(self, runner: Runner, meter: Meter) -> None:
        self._runner = runner
        self._meter = meter

    @property
    def credits(self) -> int:
        return self._runner.credits

    def run(self, frames: Iterable[Frame], emit: Emit, /) -> Trace:
        self._meter.start()
        try:
            trace = self._runner.run(frames, emit)
        finally:
            drawn_j = self._meter.stop()
        energy_j = None if drawn_j is None else drawn_j / trace.frames
        return msgspec.structs.replace(trace, energy_j=energy_j)
