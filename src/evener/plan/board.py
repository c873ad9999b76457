"""Make the profile of a network on a board from the board's table: pure sums of what parts cost.

The tables time each part alone, so a segment's time is the sum of its parts', and a plan made from
it is a prediction. A stage gets a processor whole, for only whole ones were measured.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from evener.artifacts.board import Board, Cost
from evener.artifacts.files import digest
from evener.artifacts.processors import Machine, Processor
from evener.artifacts.profile import Block, HandOff, Profile, SegmentTime
from evener.errors import InputError


def board_profile(board: Board, network: str, *, transfers: bool) -> Profile:
    """State what a network costs on a board, for `evener.plan.make_plan`.

    Args:
        board: the board.
        network: name of a network that the board was measured with.
        transfers: whether moving a frame to another processor costs the stage that sends it, for
            it copies; else hand-offs are free.

    Returns:
        A profile whose blocks are the parts of the table, of no known operators or tensors.
        Segments of several parts are marked as interpolated.

    Raises:
        InputError: the board was not measured with the network, or has no times of transfers.
    """
    parts = board.parts(network)
    if transfers and not board.transfers:
        raise InputError(
            f"the board {board.name} has no times of transfers between its processors; leave "
            "--transfers out, or add [transfers_ms] to its file"
        )
    processors = tuple(one for one in board.processors if one.name in parts[0])
    return Profile(
        network=network,
        network_sha256=digest({"board": board.name, "network": network, "parts": parts}),
        granularity="table",
        blocks=tuple(_block(index) for index in range(len(parts))),
        machine=Machine(
            host=board.name,
            system=f"{board.maker} {board.model}".strip(),
            processors=processors,
            runtimes={},
        ),
        segments=tuple(segment for one in processors for segment in _segments(board, one, parts)),
        hand_off=HandOff(fixed_s=0.0, transfers=board.transfers if transfers else ()),
    )


def _block(index: int) -> Block:
    return Block(name=f"part {index}", operators={}, macs=0, weights_bytes=0, inputs=(), outputs=())


def _segments(
    board: Board, processor: Processor, parts: Sequence[dict[str, Cost]]
) -> Iterator[SegmentTime]:
    costs = [part[processor.name] for part in parts]
    for first in range(len(costs)):
        for last, cost in enumerate(accumulate(costs[first:], _add), start=first):
            yield SegmentTime(
                first_block=first,
                last_block=last,
                processor=processor.name,
                cores=processor.units,
                runtime=processor.runtimes[0],
                precision=board.precisions[processor.name],
                median_s=cost.time_s,
                low_s=cost.time_s,
                high_s=cost.time_s,
                repeats=int(first == last),
                interpolated=first != last,
                energy_j=cost.energy_j,
            )


def _add(left: Cost, right: Cost) -> Cost:
    time_s = left.time_s + right.time_s
    if left.energy_j is None or right.energy_j is None:
        return Cost(time_s=time_s, energy_j=None)
    return Cost(time_s=time_s, energy_j=left.energy_j + right.energy_j)
