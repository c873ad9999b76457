"""Make the profile of a network on a board from the board's table: pure sums of what parts cost.

The tables time each part alone, so a segment's time is the sum of its parts', and a plan made from
it is a prediction. A stage gets a processor whole, for only whole ones were measured. A network
that is not in the table is estimated by the board's cost model, if it has one.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from evener.artifacts.board import Board, Cost, CostModel, TimedNetwork, Timing, add, scaled
from evener.artifacts.board_file import FEATURES
from evener.artifacts.files import digest
from evener.artifacts.processors import Machine
from evener.artifacts.profile import Block, HandOff, Profile, SegmentTime
from evener.errors import InputError
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.features import block_features
from evener.network.merge import merge_blocks
from evener.network.model import Network

SAME_WORK: Final = 0.05  # networks are one if no part's multiply-accumulates differ by more
_SHORTEST_S: Final = 1e-6  # of a block that a cost model finds nothing in


def board_profile(
    board: Board, network: str | Network, *, transfers: bool, table: str | None = None
) -> Profile:
    """State what a network costs on a board, for `evener.plan.make_plan`.

    Args:
        board: the board.
        network: a network, or the name of one that the board was measured with.
        transfers: whether moving a frame to another processor costs the stage that sends it, for
            it copies; else hand-offs are free.
        table: name of the network in the board's table whose times a given network is to have;
            None for one that does the same work in as many blocks, or else the cost model's.

    Returns:
        A profile whose blocks are those of `board_blocks`, or, of a name, the parts of the table,
        of no known operators or tensors. Segments of several parts are marked as interpolated.
        Where the times are not of this very network, `estimate` says what they are.

    Raises:
        InputError: the board was not measured with the network, and has no cost model or knows
            only the name; or it has no times of transfers.
        InvalidNetworkError: the cost of a node depends on the data.
    """
    if transfers and not board.transfers:
        raise InputError(
            f"the board {board.name} has no times of transfers between its processors; leave "
            "--transfers out, or add [transfers_ms] to its file"
        )
    if isinstance(network, str):
        timed = board.timed(network)
        parts = tuple(_nameless(index) for index in range(timed.parts))
        sha256 = digest({"board": board.name, "network": network, "timings": timed.timings})
        return _profile(board, network, sha256, parts, timed.timings, transfers=transfers)
    found, blocks = board_blocks(board, network, table=table)
    if found is None:
        return _estimated(board, network, blocks, transfers=transfers)
    timed = board.timed(found)
    estimate = _variant(found, timed, blocks)
    return _profile(
        board,
        network.name,
        network.sha256,
        blocks.blocks,
        timed.timings,
        transfers=transfers,
        estimate=estimate,
    )


def unpowered(board: Board, processors: Sequence[str] | None = None) -> tuple[str, ...]:
    """Name the processors whose energies a board's cost model does not know at every clock.

    Args:
        board: the board.
        processors: names of those that count; all if None.

    Example:
        >>> from evener.artifacts.board import load_board
        >>> unpowered(load_board("khadas-vim3"))
        ()
    """
    every = () if board.cost_model is None else board.cost_model.rates
    unknown = (
        one.processor
        for one in every
        if one.power_w is None or (one.input.time_s > 0 and one.input.energy_j is None)
    )
    return tuple(
        name for name in dict.fromkeys(unknown) if processors is None or name in processors
    )


def board_blocks(
    board: Board, network: Network, *, table: str | None = None
) -> tuple[str | None, Blocks]:
    """Cut a network into the blocks that its profile on a board has.

    Args:
        board: the board.
        network: what to cut.
        table: as for `board_profile`.

    Returns:
        The name of the network in the board's table and blocks that are its parts; None and the
        blocks of the rule "paper" where no network of the table does the same work.

    Raises:
        InputError: the network does not have the blocks that the parts of `table` are made of.
    """
    blocks = cut_into_blocks(network, "paper")
    if table is not None:
        return table, merge_blocks(blocks, board.timed(table).blocks)
    for name, timed in board.networks.items():
        if sum(timed.blocks) == len(blocks.blocks):
            merged = merge_blocks(blocks, timed.blocks)
            if _work(timed, merged) is None:
                return name, merged
    return None, blocks


def _work(timed: TimedNetwork, blocks: Blocks) -> tuple[float, float] | None:
    """Return by what least and greatest factor parts do other work than blocks; None if by none."""
    pairs = [(part, block.macs) for part, block in zip(timed.macs, blocks.blocks, strict=True)]
    if all(abs(part - macs) <= SAME_WORK * max(part, macs) for part, macs in pairs):
        return None
    ratios = [part / macs for part, macs in pairs if macs]
    return min(ratios), max(ratios)


def _variant(name: str, timed: TimedNetwork, blocks: Blocks) -> str | None:
    work = _work(timed, blocks)
    if work is None:
        return None
    return (
        f"times of another variant of {name}, whose parts do {work[0]:.2g} to {work[1]:.2g} times "
        "the multiply-accumulates of these blocks"
    )


def _estimated(board: Board, network: Network, blocks: Blocks, *, transfers: bool) -> Profile:
    model = board.cost_model
    if model is None:
        raise InputError(
            f"the board {board.name} has no times of {network.name} and no cost model to estimate "
            f"them: it knows {', '.join(sorted(board.networks))}. Add its times to the board's file"
        )
    return _profile(
        board,
        network.name,
        network.sha256,
        blocks.blocks,
        _modelled(model, network, blocks),
        transfers=transfers,
        estimate=f"cost model of {board.name}",
        estimate_error=model.part_error,
    )


def _modelled(model: CostModel, network: Network, blocks: Blocks) -> tuple[Timing, ...]:
    """Estimate what each block costs at each processor and clock."""
    features = block_features(network, blocks)
    frame_bytes = sum(tensor.size_bytes for tensor in network.inputs)
    share = 1.0 if model.input_bytes is None else frame_bytes / model.input_bytes
    timings = []
    for rates in model.rates:
        per_unit = [rates.seconds.get(feature, 0.0) for feature in FEATURES]
        times_s = [max(float(time_s), _SHORTEST_S) for time_s in features @ per_unit]
        costs = [
            Cost(time_s=time_s, energy_j=None if rates.power_w is None else rates.power_w * time_s)
            for time_s in times_s
        ]
        if rates.input.time_s > 0:
            costs[0] = add(scaled(rates.input, share), costs[0])
        timings.append(
            Timing(processor=rates.processor, clock_hz=rates.clock_hz, costs=tuple(costs))
        )
    return tuple(timings)


def _profile(
    board: Board,
    network: str,
    sha256: str,
    blocks: tuple[Block, ...],
    timings: Sequence[Timing],
    *,
    transfers: bool,
    estimate: str | None = None,
    estimate_error: float | None = None,
) -> Profile:
    timed = {one.processor for one in timings}
    return Profile(
        network=network,
        network_sha256=sha256,
        granularity="table",
        blocks=blocks,
        machine=Machine(
            host=board.name,
            system=f"{board.maker} {board.model}".strip(),
            processors=tuple(one for one in board.processors if one.name in timed),
            runtimes={},
            idle_w=board.idle_w,
        ),
        segments=tuple(
            segment
            for one in timings
            for segment in _segments(board, one, estimated=estimate is not None)
        ),
        hand_off=HandOff(fixed_s=0.0, transfers=board.transfers if transfers else ()),
        estimate=estimate,
        estimate_error=estimate_error,
    )


def _nameless(index: int) -> Block:
    return Block(name=f"part {index}", operators={}, macs=0, weights_bytes=0, inputs=(), outputs=())


def _segments(board: Board, timing: Timing, *, estimated: bool) -> Iterator[SegmentTime]:
    processor = next(one for one in board.processors if one.name == timing.processor)
    for first in range(len(timing.costs)):
        for last, cost in enumerate(accumulate(timing.costs[first:], add), start=first):
            yield SegmentTime(
                first_block=first,
                last_block=last,
                processor=processor.name,
                cores=processor.units,
                runtime=processor.runtimes[0],
                precision=board.precisions[processor.name],
                clock_hz=timing.clock_hz,
                median_s=cost.time_s,
                low_s=cost.time_s,
                high_s=cost.time_s,
                repeats=int(first == last and not estimated),
                interpolated=first != last or estimated,
                energy_j=cost.energy_j,
            )
