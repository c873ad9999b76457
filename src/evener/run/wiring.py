"""Where each session of a lane finds what it reads, and puts what it writes.

A stage hands on a fixed set of tensors by name; a lane may run several segments to make them.
What is settled here, once, leaves only list lookups for each frame.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, Protocol

import msgspec
import numpy as np

from evener.artifacts.tensor import Tensor
from evener.errors import InputError
from evener.network.state import State
from evener.runtime.session import Array, Session, empty

NO_STATES: Final[Mapping[str, Array]] = MappingProxyType({})
"""All of them are zero."""


class Ports(Protocol):
    """What a session reads and writes, whichever process it is in."""

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What it reads, in graph order."""
        ...

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """What it writes, in graph order."""
        ...


class Place(msgspec.Struct, frozen=True):
    """Where an array of a lane is.

    Attributes:
        room: the slot that was got, the slot that is handed on, the lane's own, or the states that
            it keeps from frame to frame.
        index: its position there.
    """

    room: Literal["in", "out", "own", "state"]
    index: int


class Wiring(msgspec.Struct, frozen=True, kw_only=True):
    """How the sessions of a lane are joined.

    Attributes:
        reads: places that each session reads, in graph order.
        writes: places that each session writes, in graph order.
        passed: pairs of positions in the incoming and the outgoing slot: tensors that no session
            touches but a later stage reads.
        own: what the lane must allocate for itself.
        outputs: what the stage hands on.
        states: what the lane keeps from frame to frame.
        renewed: where the new value of each state is once a frame was computed.
    """

    reads: tuple[tuple[Place, ...], ...]
    writes: tuple[tuple[Place, ...], ...]
    passed: tuple[tuple[int, int], ...]
    own: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    states: tuple[Tensor, ...] = ()
    renewed: tuple[Place, ...] = ()


def wire(
    sessions: Sequence[Ports],
    *,
    inputs: Sequence[Tensor],
    outputs: Sequence[str],
    stage: int,
    states: Sequence[State] = (),
) -> Wiring:
    """Join the sessions of a lane between what comes in and what must go out.

    Args:
        sessions: in the order in which they run.
        inputs: what the incoming slot holds.
        outputs: names of what the outgoing slot must hold.
        stage: index of the stage, for messages.
        states: those of the network; the lane keeps those that its sessions read.

    Raises:
        InputError: a session reads, or the stage hands on, what nothing before it makes; or two
            sides disagree about a tensor's shape or type.
    """
    found = {tensor.name: (Place("in", index), tensor) for index, tensor in enumerate(inputs)}
    read = {tensor.name for session in sessions for tensor in session.inputs}
    kept = [state for state in states if state.input.name in read]
    found |= {one.input.name: (Place("state", at), one.input) for at, one in enumerate(kept)}
    reads: list[tuple[Place, ...]] = []
    writes: list[tuple[Place, ...]] = []
    own: list[Tensor] = []
    for session in sessions:
        reads.append(tuple(_find(tensor, found, stage) for tensor in session.inputs))
        places = []
        for tensor in session.outputs:
            if tensor.name in outputs:
                place = Place("out", outputs.index(tensor.name))
            else:
                place = Place("own", len(own))
                own.append(tensor)
            places.append(place)
            found[tensor.name] = (place, tensor)
        writes.append(tuple(places))
    missing = [name for name in outputs if name not in found]
    if missing:
        raise InputError(
            f"stage {stage} is to hand on '{missing[0]}', which none of its segments makes and no "
            "earlier stage hands it; plan this network again"
        )
    return Wiring(
        reads=tuple(reads),
        writes=tuple(writes),
        passed=tuple(
            (found[name][0].index, index)
            for index, name in enumerate(outputs)
            if found[name][0].room == "in"
        ),
        own=tuple(own),
        outputs=tuple(found[name][1] for name in outputs),
        states=tuple(state.input for state in kept),
        renewed=tuple(_find(state.output, found, stage) for state in kept),
    )


class Circuit:
    """The sessions of one lane, wired and ready for frames.

    Args:
        sessions: in the order in which they run.
        wiring: how they are joined.
    """

    def __init__(self, sessions: Sequence[Session], wiring: Wiring) -> None:
        self._steps = tuple(zip(sessions, wiring.reads, wiring.writes, strict=True))
        self._passed = wiring.passed
        self._renewed = wiring.renewed
        self._own = [empty(tensor) for tensor in wiring.own]
        self._states = [np.zeros(tensor.shape, tensor.dtype) for tensor in wiring.states]
        self._names = tuple(tensor.name for tensor in wiring.states)

    def reset(self, states: Mapping[str, Array] = NO_STATES) -> None:
        """Give every state a value, by the name of the input that reads it; else make it zero."""
        for name, state in zip(self._names, self._states, strict=True):
            state[...] = states.get(name, 0)

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute one frame from an incoming slot's arrays into an outgoing slot's.

        Where a session fails, the states stay those before the frame.
        """
        rooms = {"in": inputs, "out": outputs, "own": self._own, "state": self._states}
        for session, reads, writes in self._steps:
            session.run(
                [rooms[place.room][place.index] for place in reads],
                [rooms[place.room][place.index] for place in writes],
            )
        for source, target in self._passed:
            np.copyto(outputs[target], inputs[source])
        for state, place in zip(self._states, self._renewed, strict=True):
            np.copyto(state, rooms[place.room][place.index])


def _find(tensor: Tensor, found: dict[str, tuple[Place, Tensor]], stage: int) -> Place:
    if tensor.name not in found:
        raise InputError(
            f"stage {stage} reads '{tensor.name}', which no earlier segment of it makes and no "
            f"earlier stage hands it; it has {', '.join(sorted(found)) or 'nothing'}"
        )
    place, made = found[tensor.name]
    if (made.shape, made.dtype) != (tensor.shape, tensor.dtype):
        raise InputError(
            f"stage {stage} reads '{tensor.name}' as {tensor.dtype} {list(tensor.shape)}, but it "
            f"is made as {made.dtype} {list(made.shape)}; plan this network again"
        )
    return place
