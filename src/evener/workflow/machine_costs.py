"""Measure the cost model of this machine on a few small networks, once, and keep it."""

import time
from collections.abc import Mapping
from functools import partial
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from evener.artifacts.board_file import FEATURES
from evener.artifacts.conv_stack import Block, ConvStack
from evener.artifacts.files import Kept
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.machine_costs import CoreRates, MachineCosts
from evener.artifacts.networks import Ends
from evener.artifacts.networks import Network as Found
from evener.artifacts.processors import Machine
from evener.artifacts.topology import Topology
from evener.network.blocks import cut_into_blocks
from evener.network.draft import draft_network
from evener.network.features import block_features
from evener.network.split import segment_model
from evener.profile.fit import fit_rates
from evener.profile.hand_off import measure_hand_off
from evener.profile.segments import Place, find_places, time_segments
from evener.runtime.session import Runtime
from evener.workflow.cache import keep, recall
from evener.workflow.opened import Progress
from evener.workflow.steps import code_version

_ROW: Final = Ends(features=64, outputs=10)
_WIDE_ROW: Final = Ends(features=784, outputs=10)
_PICTURE: Final = Ends(features=784, outputs=10, picture=(1, 28, 28))
_COLOUR: Final = Ends(features=3072, outputs=10, picture=(3, 32, 32))


def _chain(*widths: int) -> LayerGraph:
    nodes = range(len(widths) + 1)
    return LayerGraph(widths=widths, links=tuple((node, node + 1) for node in nodes))


def _divided(shards: int, halo: int, *widths: int) -> LayerGraph:
    topology = Topology(shards=shards, halo=halo)
    return msgspec.structs.replace(_chain(*widths), topology=topology)


def _stack(*blocks: Block, hidden: int = 0) -> ConvStack:
    return ConvStack(blocks=blocks, hidden=hidden)


_CONV_8: Final = Block(kind="conv3x3", channels=8)
_CONV_16: Final = Block(kind="conv3x3", channels=16)
_HALVE_16: Final = Block(kind="conv3x3", channels=16, stride=2)
_HALVE_64: Final = Block(kind="conv3x3", channels=64, stride=2)
_CONV_64: Final = Block(kind="conv3x3", channels=64)
_APART_32: Final = Block(kind="depthwise3x3", channels=32)
_POINT_32: Final = Block(kind="conv1x1", channels=32)
_POINT_128: Final = Block(kind="conv1x1", channels=128)

PROBES: Final[tuple[tuple[Found, Ends], ...]] = (
    (_chain(), _ROW),
    (_chain(32), _ROW),
    (_chain(64, 64, 64, 64), _ROW),
    (_chain(256, 256), _WIDE_ROW),
    (
        _chain(
            1024,
        ),
        _WIDE_ROW,
    ),
    (_chain(1024, 1024), _WIDE_ROW),
    (_stack(_CONV_8), _PICTURE),
    (_stack(_HALVE_16, _CONV_16, _CONV_16), _PICTURE),
    (_stack(_HALVE_16, _HALVE_64), _PICTURE),
    (_stack(_CONV_16, _CONV_64, _CONV_64), _COLOUR),
    (_stack(_HALVE_16, _APART_32, _APART_32), _COLOUR),
    (_stack(_CONV_8, _POINT_32, _POINT_128, hidden=64), _COLOUR),
    (_stack(_HALVE_64, _POINT_128, _POINT_32), _COLOUR),
    (_divided(8, 1, 64, 64, 64, 64), _ROW),
    (_divided(16, 4, 256, 256), _ROW),
    (_divided(16, 1, 1024, 1024, 1024), _ROW),
)
"""Networks of the sizes that searches propose, with the input and output of each."""


def machine_costs(
    machine: Machine,
    runtimes: Mapping[str, Runtime],
    *,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Kept[MachineCosts]:
    """Time a few small networks on every core set, fit a cost model, or read the one that is kept.

    It takes some seconds, in which nothing else should use the machine.

    Args:
        machine: its processors.
        runtimes: by name; of those that a processor lists its first counts.
        fresh: measure again even if a cost model is kept.
        progress: told what is being measured.

    Raises:
        InputError: no runtime for any processor.
        RuntimeFailedError: a runtime cannot run a small network.
    """
    inputs = {
        "machine": machine,
        "probes": [[one, ends] for one, ends in PROBES],
        "code": code_version("network", "profile", "runtime"),
    }
    kept = None if fresh else recall(MachineCosts, machine.host, inputs)
    if kept is not None:
        return kept
    started = time.perf_counter()
    costs = _measure(machine, runtimes, progress)
    return keep(costs, machine.host, inputs, made_from={}, took_s=time.perf_counter() - started)


def _measure(
    machine: Machine, runtimes: Mapping[str, Runtime], progress: Progress | None
) -> MachineCosts:
    places = [
        one for one in find_places(machine, runtimes) if one.runtime == one.processor.runtimes[0]
    ]
    features: list[NDArray[np.float64]] = []
    times_s: dict[Place, list[float]] = {place: [] for place in places}
    for number, (found, ends) in enumerate(PROBES):
        if progress is not None:
            progress(f"timing {found}", number, len(PROBES))
        network = draft_network(found, ends)
        blocks = cut_into_blocks(network, "paper")
        whole = (0, len(blocks.blocks) - 1)
        timed = time_segments(
            [(whole, places)],
            model_of=partial(segment_model, network, blocks),
            runtimes=runtimes,
            optimisation="all",
            clock=time.perf_counter,
        )
        for refused in timed.refusals.values():
            raise next(iter(refused.values()))
        features.append(block_features(network, blocks).sum(axis=0))
        for place in places:
            times_s[place].append(timed.times[place][whole].median_s)
    fits = {place: fit_rates(np.array(features), of) for place, of in times_s.items()}
    errors = [error for fit in fits.values() for error in fit.errors]
    return MachineCosts(
        machine=machine,
        rates=tuple(_rates(place, fit.fixed_s, fit.seconds) for place, fit in fits.items()),
        hand_off=measure_hand_off(machine),
        error=float(np.median(errors)),
        error_p90=float(np.quantile(errors, 0.9)),
    )


def _rates(place: Place, fixed_s: float, seconds: tuple[float, ...]) -> CoreRates:
    return CoreRates(
        processor=place.processor.name,
        cores=place.cores,
        runtime=place.runtime,
        fixed_s=fixed_s,
        seconds=dict(zip(FEATURES, seconds, strict=True)),
    )
