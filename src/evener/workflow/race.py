"""Let plans and peers take turns: all open at once where memory allows, else each for its turn.

What a session holds is an estimate from its weights. Runtimes share no weights between sessions:
ONNX Runtime's container for prepared weights is not to be had from Python.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Final

import msgspec
import numpy as np
import psutil

from evener.artifacts.plan import Plan
from evener.artifacts.trace import Trace
from evener.errors import InfeasibleError
from evener.run.compare import InTurn, Runner, interleave
from evener.run.entry import Frame
from evener.run.pipeline import Pipeline
from evener.units import show
from evener.workflow.opened import Opened

_FRAMES: Final = 24  # of the quickest in a round, if the bounds below allow
_ROUND_S: Final = (0.2, 0.5)  # shortest and longest round of one entrant
# Resident memory over the bytes of the weights, measured with AlexNet and VGG19: 1.1 to 1.4 and
# 2.0 to 2.1, for kernels keep weights in an order of their own.
_HELD: Final = {"onnxruntime": 1.5, "openvino": 2.25}
_HELD_BY_ANOTHER: Final = 2.25
_BESIDE_BYTES: Final = 50_000_000  # threads and tensors of a session
_USABLE: Final = 0.8  # of the memory that is free
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
            inputs=opened.network.inputs,
            runtimes=opened.runtimes,
            states=opened.network.states,
            optimisation=opened.optimisation,
        )

    return Entrant(open=pipeline, memory_bytes=plan_bytes(opened, plan), rate_hz=plan.rate_hz)


def plan_bytes(opened: Opened, plan: Plan) -> int:
    """Estimate what the sessions of a plan hold together."""
    spans = [
        (part.runtime, part.first_block, part.last_block)
        for stage in plan.stages
        for lane in stage.lanes
        for part in lane.parts
    ]
    return sum(session_bytes(opened, *span) for span in spans)


def session_bytes(opened: Opened, runtime: str, first_block: int, last_block: int) -> int:
    """Estimate what a session of some blocks holds in a runtime."""
    blocks = opened.blocks.blocks[first_block : last_block + 1]
    weights_bytes = sum(block.weights_bytes for block in blocks)
    return round(_HELD.get(runtime, _HELD_BY_ANOTHER) * weights_bytes) + _BESIDE_BYTES


def without_those_too_big(
    entrants: Mapping[str, Entrant], *, free_bytes: int | None = None
) -> tuple[dict[str, Entrant], dict[str, str]]:
    """Part entrants into those that fit in memory alone, and reasons why the others do not.

    Args:
        entrants: by name.
        free_bytes: memory that is free; asked of the system if None.
    """
    free = _free_bytes() if free_bytes is None else free_bytes
    reasons = {
        name: f"needs about {show(one.memory_bytes, 'size')} of memory, {show(free, 'size')} are "
        "free"
        for name, one in entrants.items()
        if one.memory_bytes > _USABLE * free
    }
    return {name: one for name, one in entrants.items() if name not in reasons}, reasons


def race(
    entrants: Mapping[str, Entrant],
    frames: Sequence[Frame],
    *,
    rounds: int,
    seed: int = 0,
    free_bytes: int | None = None,
) -> dict[str, list[Trace]]:
    """Run entrants in turn, round by round, in an order drawn anew each round.

    Args:
        entrants: by name.
        frames: what they run on, again and again.
        rounds: how often each runs.
        seed: what the orders are drawn from.
        free_bytes: memory that is free; asked of the system if None.

    Returns:
        One trace per round, by name.

    Raises:
        InfeasibleError: one of them does not fit in memory, even alone.
    """
    free = _free_bytes() if free_bytes is None else free_bytes
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
    together = sum(one.memory_bytes for one in entrants.values()) <= _USABLE * free
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
        return interleave(
            runners,
            frames,
            rounds=rounds,
            seconds_per_round=min(longest_s, max(shortest_s, _FRAMES * quickest_s)),
            rng=np.random.default_rng(seed),
        )


def _free_bytes() -> int:
    return int(psutil.virtual_memory().available)
