"""How evenly can a network be split, if so many tensors may cross a cut?

Nothing is timed: a stage takes its multiply-accumulates over the speed of its processor, so that
the figures say what cuts allow and nothing of what they cost. The period of the best split is given
over that of an even share, which no split beats; every order of the processors is tried.
"""

import argparse
from itertools import permutations
from math import inf
from pathlib import Path
from typing import Final

import numpy as np
from record import write_record

from evener.cli.values import read_shape
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.light import FILES
from evener.network.model import load_network

SPEEDS: Final = ((1.0, 1.0), (1.0, 0.9, 0.4), (1.0, 0.8, 0.5, 0.3))
MOST_TENSORS: Final = (2, 3, 4, 5)


def period_over_even_share(blocks: Blocks, speeds: tuple[float, ...]) -> float:
    """Return the shortest period on processors of these speeds, over that of an even share."""
    count = len(blocks.blocks)
    done = np.cumsum([0, *(block.macs for block in blocks.blocks)])
    work = np.full((count + 1, count + 1), inf)
    for start in range(count):
        for end in range(start + 1, count + 1):
            if blocks.form_segment(start, end - 1):
                work[start, end] = done[end] - done[start]
    shortest = inf
    for order in permutations(speeds):
        period = np.full(count + 1, inf)
        period[0] = 0.0
        for speed in order:
            stage = np.maximum(period[:, np.newaxis], work / speed).min(axis=0)
            period = np.minimum(period, stage)
        shortest = min(shortest, float(period[-1]))
    return shortest * sum(speeds) / float(done[-1])


def splits_of(name: str, shapes: dict[str, tuple[int, ...]]) -> list[dict[str, object]]:
    """Compare the rules on one network."""
    given = None if name in FILES else shapes
    network = load_network(name, shapes=given)
    sliced = load_network(name, shapes=given, in_slices=True)
    rules = {"paper": cut_into_blocks(network, "paper")} | {
        f"node, {most}": cut_into_blocks(sliced, "node", max_live=most) for most in MOST_TENSORS
    }
    return [
        {
            "network": network.name,
            "rule": rule,
            "cuts": len(blocks.cuts),
            "over_even_share": [round(period_over_even_share(blocks, one), 4) for one in SPEEDS],
        }
        for rule, blocks in rules.items()
    ]


def main() -> None:
    """Compare the rules on each network."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("networks", nargs="*", default=list(FILES), help="built-in, or files")
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        type=read_shape,
        help="of an input that files leave open, such as x=1,3,320,320",
    )
    parser.add_argument("-o", "--out", type=Path, help="write a record to this file")
    given = parser.parse_args()
    found = [row for name in given.networks for row in splits_of(name, dict(given.shape))]
    print("speeds:", *SPEEDS)
    for row in found:
        print(*row.values(), sep="\t")
    if given.out is not None:
        write_record(given.out, {"speeds": SPEEDS, "splits": found})


if __name__ == "__main__":
    main()
