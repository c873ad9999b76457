"""Give each of several networks what is meant for it: shapes, numbers and states by name."""

from collections.abc import Iterable, Sequence

import msgspec

from evener.errors import InputError
from evener.network.ends import Ends, read_ends
from evener.workflow.cutting import Cutting


def each_its_own(nets: Sequence[str], cutting: Cutting) -> list[Cutting]:
    """Share out what is said by name: each network gets what names an input or output of its own.

    Args:
        nets: paths of ONNX files, or names of built-in networks.
        cutting: how all of them are read and cut. Of a single network it is all its own, right or
            wrong.

    Raises:
        InputError: a name that none of several networks has.
        InvalidFileError: a network cannot be read.
    """
    if len(nets) == 1:
        return [cutting]
    ends = {net: read_ends(net) for net in nets}
    inputs = {net: one.inputs for net, one in ends.items()}
    _check_someone_has(cutting.shapes, inputs, "a shape is given for", "input")
    _check_someone_has(cutting.fixed, inputs, "a number is given for", "input")
    outputs = {net: one.outputs for net, one in ends.items()}
    _check_someone_has(cutting.states, outputs, "a state is given as", "output")
    return [_own(cutting, ends[net]) for net in nets]


def _own(cutting: Cutting, ends: Ends) -> Cutting:
    return msgspec.structs.replace(
        cutting,
        shapes={name: shape for name, shape in cutting.shapes.items() if name in ends.inputs},
        fixed={name: number for name, number in cutting.fixed.items() if name in ends.inputs},
        states={made: read for made, read in cutting.states.items() if made in ends.outputs},
    )


def _check_someone_has(
    names: Iterable[str], known: dict[str, tuple[str, ...]], said: str, what: str
) -> None:
    for name in names:
        if not any(name in those for those in known.values()):
            listed = "; ".join(f"{net} has {', '.join(those)}" for net, those in known.items())
            raise InputError(f"{said} '{name}', which is no {what} of any network: {listed}")
