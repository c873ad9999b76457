"""Time what ranks that train together ask of one another, over MPI and over gloo.

Usage: python benchmarks/exchange.py [--rounds N] [-o FILE]

Two ranks on a core each. In an "exchange" both send so many bytes and receive as many; in a
"gathering" each gives so many to the other; in a "sum" each gets so many that are the sum of both.
"raw" is what a program in Python can have of the library at best: persistent requests and a
Waitall, Allgatherv, and Reduce_scatter, which need not add in the order of the ranks. "evener" is
the communicator over the same library, "gloo" torch.distributed's batch_isend_irecv.

The ways of a library take turns in shuffled order, round after round; libraries take turns in
blocks, for idle ranks of MPI would take a core from others. Figures are medians over all rounds
with their quartiles. Both cores should be idle.
"""

import argparse
import atexit
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from record import write_record

from evener.comm.communicator import Communicator
from evener.comm.mpi_library import find_library
from evener.workflow.ranks import freely

if TYPE_CHECKING:
    import torch.distributed as dist  # noqa: TID251 - it is measured beside MPI

SIZES: Final = {"8 B": 8, "4 kB": 4096, "64 kB": 65_536, "4 MB": 4_194_304}
TURNS: Final = {"mpi": (1000, 500, 300, 20), "gloo": (200, 200, 100, 10)}
BLOCKS: Final = 3
Act = Callable[[], object]
Ways = dict[tuple[str, str, str], tuple[Act, int]]  # operation, size, way


def main() -> None:
    """Take turns, print and record."""
    if sys.argv[1:2] == ["--rank"]:
        be_rank(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    rounds = -(-options.rounds // BLOCKS)
    times_s: dict[tuple[str, str, str], list[float]] = {}
    for block in range(BLOCKS):
        for library in ("mpi", "gloo"):
            for row in run_block(library, rounds, seed=block):
                key = (row["operation"], row["size"], row["way"])
                times_s.setdefault(key, []).extend(row["times_s"])
    rows = [summary(*key, found) for key, found in times_s.items()]
    for row in rows:
        print(
            f"{row['operation']:10} {row['size']:>6} {row['way']:>7}: {row['median_us']:8.1f} us "
            f"({row['low_us']:.1f} to {row['high_us']:.1f})"
        )
    found = comparison(times_s)
    for line in found:
        print(
            f"exchange {line['size']:>6}: evener adds {line['added_us']:.1f} us to MPI, "
            f"gloo takes {line['gloo_ratio']:.1f} times as long"
        )
    if options.out is not None:
        mpi = find_library()
        libraries = {"mpi": f"{mpi.name} {mpi.version}", "mpi4py": version("mpi4py")}
        record = {"libraries": libraries | {"torch": version("torch")}, "ranks": 2}
        write_record(
            options.out,
            {**record, "rounds": rounds * BLOCKS, "rows": rows, "comparison": found},
        )


def summary(operation: str, size: str, way: str, times_s: list[float]) -> dict[str, Any]:
    """Describe one way."""
    low_s, _, high_s = quantiles(times_s, n=4, method="inclusive")
    return {
        "operation": operation,
        "size": size,
        "way": way,
        "median_us": median(times_s) * 1e6,
        "low_us": low_s * 1e6,
        "high_us": high_s * 1e6,
    }


def comparison(times_s: Mapping[tuple[str, str, str], list[float]]) -> list[dict[str, Any]]:
    """Say what an exchange costs over MPI's own, and what gloo's costs by comparison."""
    found = []
    for size in SIZES:
        raw, ours, gloo = (times_s["exchange", size, way] for way in ("raw", "evener", "gloo"))
        # Raw and ours took turns; those of one round are compared with each other.
        added_s = median(mine - its for mine, its in zip(ours, raw, strict=True))
        ratio = median(gloo) / median(ours)
        found.append({"size": size, "added_us": added_s * 1e6, "gloo_ratio": ratio})
    return found


def run_block(library: str, rounds: int, seed: int) -> list[dict[str, Any]]:
    """Start two ranks, and return the times of the first."""
    arguments = [sys.executable, __file__, "--rank", library, str(rounds), str(seed)]
    if library == "mpi":
        launched = subprocess.run(
            [find_library().launcher, "-n", "2", *arguments],
            env=freely(),
            stdout=subprocess.PIPE,
            check=True,
        )
        return list(json.loads(launched.stdout))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    processes = [
        subprocess.Popen(
            arguments,
            env=os.environ | meeting | {"RANK": str(rank), "WORLD_SIZE": "2"},
            stdout=subprocess.PIPE,
        )
        for rank in range(2)
    ]
    out, _ = (process.communicate()[0] for process in processes)
    if any(process.returncode for process in processes):
        raise SystemExit("a rank of gloo failed; what it says stands above")
    return list(json.loads(out))


def be_rank(library: str, rounds: int, seed: int) -> None:
    """Time every way of a library in every round, on one of two ranks."""
    rank = int(os.environ.get("RANK") or os.environ.get("PMI_RANK") or own_rank_of_open_mpi())
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    ranks, ways = mpi_ways() if library == "mpi" else gloo_ways()
    rng = np.random.default_rng(seed)  # the same on both, which must do the same
    keys = list(ways)
    rows: dict[tuple[str, str, str], list[float]] = {key: [] for key in keys}
    for _ in range(rounds):
        for index in rng.permutation(len(keys)):
            act, turns = ways[keys[index]]
            for _ in range(max(2, turns // 10)):
                act()
            ranks.barrier()
            start_s = time.perf_counter()
            for _ in range(turns):
                act()
            rows[keys[index]].append((time.perf_counter() - start_s) / turns)
    if rank == 0:
        print(
            json.dumps(
                [
                    {"operation": operation, "size": size, "way": way, "times_s": times_s}
                    for (operation, size, way), times_s in rows.items()
                ]
            )
        )
    ranks.barrier()


def own_rank_of_open_mpi() -> str:
    """Return the rank by Open MPI's word."""
    return os.environ["OMPI_COMM_WORLD_RANK"]


def mpi_ways() -> tuple[Communicator, Ways]:
    """Open every way over MPI."""
    from mpi4py import MPI  # noqa: TID251 - it is measured what Evener adds to it

    from evener.comm.mpi_ranks import MpiRank

    ranks = MpiRank.of_world()
    ways: Ways = {}
    for (size, count), turns in zip(SIZES.items(), TURNS["mpi"], strict=True):
        ways["exchange", size, "raw"] = (raw_exchange(count), turns)
        ways["exchange", size, "evener"] = (our_exchange(ranks, count), turns)
        part, parts = floats(count), [floats(count), floats(count)]
        whole, total = floats(2 * count), floats(count)
        world = MPI.COMM_WORLD
        ways["gathering", size, "raw"] = (partial(world.Allgather, part, whole), turns)
        ways["gathering", size, "evener"] = (partial(ranks.all_gather, part, parts), turns)
        ways["sum", size, "raw"] = (partial(world.Reduce_scatter_block, whole, total), turns)
        ways["sum", size, "evener"] = (partial(ranks.reduce_scatter, parts, total), turns)
    return ranks, ways


def gloo_ways() -> tuple[Communicator, Ways]:
    """Open gloo's exchanges."""
    import torch  # noqa: TID251 - it is measured beside MPI
    import torch.distributed as dist  # noqa: TID251 - as above

    from evener.comm.torch_distributed import TorchRank

    ranks = TorchRank.of_world()
    other = 1 - ranks.rank
    ways: Ways = {}
    for (size, count), turns in zip(SIZES.items(), TURNS["gloo"], strict=True):
        operations = [
            dist.P2POp(operation, torch.from_numpy(floats(count)), other)
            for operation in (dist.irecv, dist.isend)
        ]

        ways["exchange", size, "gloo"] = (partial(batch, operations), turns)
        ways["exchange", size, "evener on gloo"] = (our_exchange(ranks, count), turns)
    return ranks, ways


def batch(operations: "list[dist.P2POp]") -> None:
    """Send and receive by gloo."""
    import torch.distributed as dist  # noqa: TID251 - as above

    for work in dist.batch_isend_irecv(operations):
        work.wait()


def raw_exchange(count: int) -> Act:
    """Open an exchange by persistent requests."""
    from mpi4py import MPI  # noqa: TID251 - as above

    comm = MPI.COMM_WORLD
    other = 1 - comm.rank
    requests = [
        comm.Recv_init([floats(count), MPI.FLOAT], other, count),
        comm.Send_init([floats(count), MPI.FLOAT], other, count),
    ]

    for request in requests:
        atexit.register(request.Free)  # MPICH tells of what is left

    def exchange() -> None:
        MPI.Prequest.Startall(requests)
        MPI.Prequest.Waitall(requests)

    return exchange


def our_exchange(ranks: Communicator, count: int) -> Act:
    """Open an exchange of the communicator."""
    other = 1 - ranks.rank
    opened = ranks.open_exchange("layer", {other: floats(count)}, {other: floats(count)})

    def exchange() -> None:
        opened.start()
        opened.wait()

    return exchange


def floats(count: int) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    """Return an array of so many bytes."""
    return np.ones(count // 4, np.float32)


if __name__ == "__main__":
    main()
