"""Open the lanes of one stage and wire them."""

from collections.abc import Callable, Sequence

from evener.artifacts.tensor import Tensor
from evener.errors import ChannelClosedError, InputError
from evener.network.state import State
from evener.run.lane import Worker
from evener.run.wiring import Ports, Wiring, wire

Segments = Callable[[int, int], bytes]


def open_stage(
    index: int,
    lanes: Sequence[Worker],
    *,
    segments_in: Callable[[str], Segments],
    inputs: Sequence[Tensor],
    outputs_of: Callable[[Sequence[Ports]], Sequence[str]],
    states: Sequence[State],
    check_open: Callable[[], None],
) -> list[Wiring]:
    """Open the lanes of one stage; no longer than that are its models in memory.

    Args:
        index: of the stage, for messages.
        lanes: launched.
        segments_in: the models of the network by first and last block, in a precision.
        inputs: what comes in.
        outputs_of: names what the stage hands on, by what the sessions of a lane read and write.
        states: those of the network.
        check_open: called before each lane is opened; raises where the pipeline was closed.

    Raises:
        InputError: the segments do not fit together, or several lanes would keep one state.
        StageFailedError: a runtime refused a segment.
        ChannelClosedError: the pipeline was closed meanwhile.
    """
    made: dict[tuple[int, int, str], bytes] = {}
    wirings: list[Wiring] = []
    for lane in lanes:
        check_open()
        keys = [(p.first_block, p.last_block, p.precision) for p in lane.lane.parts]
        made |= {key: segments_in(key[2])(*key[:2]) for key in keys if key not in made}
        try:
            ports = lane.open([made[key] for key in keys])
        except ChannelClosedError:
            check_open()  # it knows why
            raise
        wiring = wire(ports, inputs=inputs, outputs=outputs_of(ports), stage=index, states=states)
        wirings.append(wiring)
        if wiring.states and len(lanes) > 1:
            raise InputError(
                f"stage {index} keeps the state '{wiring.states[0].name}' from frame to frame "
                f"and has {len(lanes)} lanes, each of which would see only some frames; plan the "
                "network again"
            )
    return wirings


def handed_on(
    planned: Sequence[str], ports: Sequence[Ports], states: Sequence[State], told: list[State]
) -> tuple[str, ...]:
    """Name what a stage hands on that is to tell the states: what is planned, then they.

    Args:
        planned: what the plan says.
        ports: what the sessions of a lane read and write.
        states: those of the network.
        told: those that stages before keep; grows by those that this one keeps.
    """
    read = {tensor.name for session in ports for tensor in session.inputs}
    told += [state for state in states if state.input.name in read and state not in told]
    return tuple(dict.fromkeys([*planned, *(state.output.name for state in told)]))
