"""Give each of several networks what is meant for it: shapes, numbers and states by name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from evener.errors import InputError
from evener.network.ends import Ends, read_ends
from evener.workflow.opened import Fixed, Shapes, States


@dataclass(frozen=True, slots=True)
class Named:
    """What is said of a network's inputs and outputs, by their names.

    Attributes:
        shapes: static shapes of the inputs that leave some size open, by input name.
        fixed: a number for each input that is to be constant, by input name.
        states: for each output that is an input of the next frame, the input, by output name.
    """

    shapes: Shapes = field(default_factory=dict)
    fixed: Fixed = field(default_factory=dict)
    states: States = field(default_factory=dict)


def each_its_own(nets: Sequence[str], given: Named) -> list[Named]:
    """Share out what is said by name: each network gets what names an input or output of its own.

    Args:
        nets: paths of ONNX files, or names of built-in networks.
        given: for all of them. Of a single network it is all its own, right or wrong.

    Raises:
        InputError: a name that none of several networks has.
        InvalidFileError: a network cannot be read.
    """
    if len(nets) == 1:
        return [given]
    ends = {net: read_ends(net) for net in nets}
    inputs = {net: one.inputs for net, one in ends.items()}
    _check_someone_has(given.shapes, inputs, "a shape is given for", "input")
    _check_someone_has(given.fixed, inputs, "a number is given for", "input")
    outputs = {net: one.outputs for net, one in ends.items()}
    _check_someone_has(given.states, outputs, "a state is given as", "output")
    return [_own(given, ends[net]) for net in nets]


def _own(given: Named, ends: Ends) -> Named:
    return Named(
        shapes={name: shape for name, shape in given.shapes.items() if name in ends.inputs},
        fixed={name: number for name, number in given.fixed.items() if name in ends.inputs},
        states={made: read for made, read in given.states.items() if made in ends.outputs},
    )


def _check_someone_has(
    names: Iterable[str], known: dict[str, tuple[str, ...]], said: str, what: str
) -> None:
    for name in names:
        if not any(name in those for those in known.values()):
            listed = "; ".join(f"{net} has {', '.join(those)}" for net, those in known.items())
            raise InputError(f"{said} '{name}', which is no {what} of any network: {listed}")
