"""Find the best plan of every network on every board, beside the bound that no plan exceeds.

Usage: python benchmarks/board_optima.py [-o FILE]

Each network of a board's table is planned in the space "paper" (three stages on three processors)
and in the full one, moving frames between processors free and, where the board's file says what it
costs, charged to the stage that sends. All rates are predictions from the tables.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from record import write_record

from evener.artifacts.board import Board, known_boards, load_board
from evener.artifacts.plan import Plan
from evener.plan import board_profile, make_plan
from evener.plan.problem import Space
from evener.units import show

SPACES: Final[tuple[Space, ...]] = ("paper", "full")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """An optimum.

    Attributes:
        board: name of the board.
        network: name of the network.
        parts: how many parts the table has of it.
        space: the space that was searched.
        transfers: whether they are charged.
        stages: processors and numbers of parts, in order; "B+G" shares a stage.
        rate_hz: predicted frames per second.
        bound_rate_hz: no plan is faster.
        gap: by how much of the bound the rate misses it.
        latency_s: predicted.
        energy_j: predicted, per frame; None if not known.
        seconds: how long it took to find.
    """

    board: str
    network: str
    parts: int
    space: Space
    transfers: bool
    stages: str
    rate_hz: float
    bound_rate_hz: float | None
    gap: float | None
    latency_s: float
    energy_j: float | None
    seconds: float


def main() -> int:
    """Plan, print and record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    rows = [row for name in known_boards() for row in optima(load_board(name))]
    print(
        f"{'board':12} {'network':20} space transfers    rate   bound   gap   energy   found in"
        "  plan"
    )
    for row in rows:
        charged = "charged" if row.transfers else "free"
        print(
            f"{row.board:12} {row.network:20} {row.space:5} {charged:9} {row.rate_hz:7.2f} "
            f"{row.bound_rate_hz or 0:7.2f} {row.gap or 0:6.1%} "
            f"{show(row.energy_j, 'energy'):>8} {row.seconds:7.2f} s  {row.stages}"
        )
    if options.out:
        write_record(options.out, {"rows": msgspec.to_builtins(rows)})
    return 0


def optima(board: Board) -> Iterator[Row]:
    """Plan every network of a board's table in every way."""
    for network in sorted(board.networks):
        for transfers in (False, True) if board.transfers else (False,):
            profile = board_profile(board, network, transfers=transfers)
            for space in SPACES:
                started = time.perf_counter()
                plan = make_plan(profile, space=space)
                yield Row(
                    board=board.name,
                    network=network,
                    parts=len(profile.blocks),
                    space=space,
                    transfers=transfers,
                    stages=written(plan),
                    rate_hz=plan.rate_hz,
                    bound_rate_hz=plan.bound_rate_hz,
                    gap=plan.gap,
                    latency_s=plan.latency_s,
                    energy_j=plan.energy_j,
                    seconds=time.perf_counter() - started,
                )


def written(plan: Plan) -> str:
    """Write the processors of each stage and how many parts it has."""
    return " ".join(
        "+".join(lane.processor for lane in stage.lanes)
        + str(stage.last_block - stage.first_block + 1)
        for stage in plan.stages
    )


if __name__ == "__main__":
    raise SystemExit(main())
