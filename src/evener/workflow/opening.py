"""Open a network: read it, cut it, and find the processors and runtimes that may compute it."""

from collections.abc import Sequence
from typing import TypedDict, Unpack

import msgspec

from evener.network.batch import load_batched
from evener.runtime import usable
from evener.runtime.session import Optimisation
from evener.workflow.choices import settle
from evener.workflow.cutting import Cutting, CuttingChoices
from evener.workflow.opened import (
    Opened,
    Progress,
    check_memory,
    hint_at_states,
    restrict,
    usable_processors,
)
from evener.workflow.precision import PrecisionWish, with_precisions


class EnginesChoices(TypedDict, total=False):
    """The fields of `Engines`, as keyword arguments."""

    processors: Sequence[str] | None
    runtimes: Sequence[str] | None
    optimisation: Optimisation
    precision: PrecisionWish | None


class Engines(msgspec.Struct, frozen=True, kw_only=True):
    """What may compute a network, and how.

    Attributes:
        processors: names of the processors to use; None for all.
        runtimes: names of the runtimes to use; None for all that suit the optimisation level.
        optimisation: how far runtimes rewrite the network: "extended" keeps a split network equal
            to the whole to the bit where each lane is one core, as the unsplit network has; "all"
            may be faster and differs by rounding.
        precision: the precisions that stages may compute in, and what that may cost; None for f32,
            and with a plan for what it says.
    """

    processors: Sequence[str] | None = None
    runtimes: Sequence[str] | None = None
    optimisation: Optimisation = "all"
    precision: PrecisionWish | None = None


class OpeningChoices(CuttingChoices, EnginesChoices, total=False):
    """The fields of `Cutting` and `Engines`, as keyword arguments."""


def open_network(
    net: str,
    cutting: Cutting = Cutting(),
    engines: Engines = Engines(),
    *,
    batch: int = 1,
    **choices: Unpack[OpeningChoices],
) -> Opened:
    """Load a network in f32, cut it into blocks and find the processors it may run on.

    Args:
        net: path of an ONNX file, or name of a built-in network.
        cutting: how it is read and cut.
        engines: what may compute it; see `open_in_precisions` for lower precisions.
        batch: how many frames it answers at once.
        choices: fields of `cutting` and `engines`.

    Raises:
        InputError: the network, a shape, a processor or a runtime cannot be used.
    """
    cutting, engines = settle(choices, cutting, engines)
    chosen = usable(engines.runtimes, engines.optimisation)
    single = None
    if batch > 1:
        single, network = load_batched(
            net,
            batch,
            shapes=cutting.shapes,
            fixed=cutting.fixed,
            states=cutting.states,
            in_slices=cutting.in_slices,
        )
    else:
        network = cutting.load(net)
    check_memory(network)
    hint_at_states(network)
    machine = usable_processors(chosen, engines.runtimes, engines.optimisation)
    return Opened(
        network=network,
        blocks=cutting.cut(network),
        machine=restrict(machine, engines.processors),
        runtimes=chosen,
        optimisation=engines.optimisation,
        single=single,
    )


def open_in_precisions(
    net: str, cutting: Cutting, engines: Engines, *, progress: Progress | None = None
) -> Opened:
    """Open a network, in the lower precisions that may be used too.

    Args:
        net: as for `open_network`.
        cutting: as for `open_network`.
        engines: as for `open_network`.
        progress: told what is being done.

    Raises:
        InputError: as for `open_network`, or the precisions say too little or cannot be had.
    """
    opened = open_network(net, cutting, engines)
    return with_precisions(opened, engines.precision, progress=progress)
