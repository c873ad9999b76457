"""What the processes of tests/comm/test_torch_distributed.py do: copies of one that has torch."""

import os
import socket
import sys

import numpy as np
import torch
import torch.distributed as dist

from evener.comm.join import joined
from evener.comm.torch_distributed import TorchRank
from evener.errors import RankError, RankTimeoutError
from evener.testing.communicator_checks import CHECKS, report


def a_rank_that_sends_nothing_is_named_and_one_that_went_too(ranks: TorchRank) -> None:
    """Of two: rank 0 tires of waiting and goes, and rank 1 hears of that."""
    if ranks.size != 2:
        return
    other = 1 - ranks.rank
    exchange = ranks.open_exchange("layer 2, values", {}, {other: np.zeros(3)})
    exchange.start()
    if ranks.rank == 0:
        exchange._timeout_s = 0.1
    try:
        exchange.wait()
    except RankError as error:
        text, late = str(error), error
    else:
        raise AssertionError("nothing was sent, and something came")
    if ranks.rank == 0:
        assert isinstance(late, RankTimeoutError), text
        assert (late.rank, late.peer, late.name) == (0, 1, "layer 2, values")
        assert text.startswith("rank 0: rank 1 sent nothing for 0.1 s in 'layer 2, values' (tag ")
    else:
        assert text.startswith("rank 1: 'layer 2, values' with rank 0 failed: "), text
        assert "either that rank is gone, or" in text, text


def copies_elsewhere_are_sent_and_received(ranks: TorchRank) -> None:
    """As on GPUs, where the copies would lie."""
    group = dist.new_group()
    staged = TorchRank(group, staging=torch.device("cpu"), timeout_s=20)
    for check in CHECKS[:-1]:
        check(staged)
    ranks.barrier()
    staged.close()


def be_rank(rank: int, size: int, port: int) -> None:
    """Find the others as torchrun would have it."""
    os.environ |= {
        "TORCHELASTIC_RUN_ID": "test",
        "RANK": str(rank),
        "WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    with joined(timeout_s=20) as communicator:
        if not isinstance(communicator, TorchRank):
            raise TypeError(type(communicator))
        report(
            communicator,
            [
                *CHECKS,
                copies_elsewhere_are_sent_and_received,
                a_rank_that_sends_nothing_is_named_and_one_that_went_too,
            ],
        )
        os._exit(0)  # nothing more can be said to a rank that is gone


def main() -> None:
    for size in map(int, sys.argv[1:]):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        children = []
        for rank in range(size):
            child = os.fork()
            if child == 0:
                be_rank(rank, size, port)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)


if __name__ == "__main__":
    main()
