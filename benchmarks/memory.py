"""Look whether memory stays where it is while a pipeline answers frames, as threads and processes.

Usage: python benchmarks/memory.py [--frames N] [-o FILE]

A tiny network in two stages, one of them twice, runs a tenth of the frames to warm up, then all of
them in ten runs. The resident memory of this process and of those of the lanes is read after each
run. A run notes 24 bytes per frame and 8 per frame and stage, and gives them back.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import psutil
from record import write_record

from evener.artifacts.tensor import Tensor
from evener.run.entry import Frame
from evener.run.pipeline import Pipeline
from evener.runtime.onnxruntime import OnnxRuntime
from evener.runtime.pinning import PROCESS_CORES
from evener.runtime.session import Array
from evener.testing import plans, tiny

RUNS: Final = 10
NAMES: Final = ["x", "h1", "h2", "h3", "y"]
CORES: Final = sorted(PROCESS_CORES)
MIB: Final = 2.0**20


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of one transport.

    Attributes:
        transport: its name.
        resident_mib: memory of all processes after each run.
        growth_mib: from the first of these to the last.
        rate_hz: of the last run.
    """

    transport: str
    resident_mib: list[float]
    growth_mib: float
    rate_hz: float


def main() -> None:
    """Run both transports, print and record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    rows = [watch(transport, options.frames) for transport in ("threads", "processes")]
    for row in rows:
        shown = ", ".join(f"{mib:.1f}" for mib in row.resident_mib)
        print(f"{row.transport}: {shown} MiB; {row.growth_mib:+.2f} MiB from first to last run")
    if options.out is not None:
        write_record(options.out, {"frames": options.frames, "rows": msgspec.to_builtins(rows)})


def watch(transport: str, frames: int) -> Row:
    """Answer frames and read the memory after each run, in MiB."""
    plan = plans.chain((2, [(CORES[0],)]), (2, [(CORES[0],), (CORES[-1],)]), credits=4)
    pool = tiny.frames(64)

    def some(count: int) -> Iterator[Frame]:
        return (pool[number % len(pool)] for number in range(count))

    with Pipeline(
        plan,
        lambda first, last: tiny.dense_between(NAMES, first=first, last=last),
        inputs=[Tensor(name="x", shape=(2, tiny.WIDTH), dtype="float32")],
        runtimes={"onnxruntime": OnnxRuntime()},
        transport=transport,
    ) as pipeline:
        pipeline.run(some(max(1, frames // RUNS)), drop)
        resident = []
        for _ in range(RUNS):
            trace = pipeline.run(some(max(1, frames // RUNS)), drop)
            processes = {lane.process for lane in pipeline.progress()}
            resident.append(
                sum(psutil.Process(one).memory_info().rss for one in processes | {None})
            )
    in_mib = [size / MIB for size in resident]
    return Row(
        transport=transport,
        resident_mib=in_mib,
        growth_mib=in_mib[-1] - in_mib[0],
        rate_hz=trace.rate_hz,
    )


def drop(frame_id: int, answer: tuple[Array, ...]) -> None:
    """Answer to nowhere."""


if __name__ == "__main__":
    main()
