"""Time what handing a frame from one stage to the next costs, between threads and processes.

Usage: python benchmarks/hand_off.py [--rounds N] [--trips N] [-o FILE]

A frame is thrown to and fro between two workers, each on a core of its own, through two channels;
half a round trip is one hand-off: acquire, put, wake the consumer, get, free. "in place" is what a
stage does, whose session reads and writes the slots themselves; "copied" also copies the frame
once per hand-off, as is done where frames enter and answers leave processes. The ways take turns
in shuffled order, round after round; figures are medians over the rounds with their quartiles.

Between threads of one Python a waiting thread needs the interpreter lock to go on; a pipeline whose
stages compute outside it seldom waits for it longer than here.
"""

import argparse
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median, quantiles
from typing import Final

import msgspec
import numpy as np
from record import write_record

from evener.comm.channel import Channel
from evener.comm.processes import Layout, ProcessChannel
from evener.comm.threads import ThreadChannel
from evener.errors import ChannelClosedError
from evener.runtime.pinning import PROCESS_CORES, pinned

SIZES: Final = {"4 B": 1, "1 MB": 250_000}  # float32 elements
WARM_UP: Final = 50
SLOTS: Final = 2
CORES: Final = sorted(PROCESS_CORES)
PATIENCE_S: Final = 10.0

Shapes = list[tuple[tuple[int, ...], str]]
Ends = tuple[Channel, Channel]


def main() -> None:
    """Take turns, print and record."""
    if sys.argv[1:2] == ["--partner"]:
        be_partner(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--trips", type=int, default=400, help="round trips of a way in a round")
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    found = measure(options.rounds, options.trips)
    for row in found:
        way = f"{row['transport']:10} {row['size']:>5} {row['manner']:>9}"
        spread = f"({row['low_us']:.1f} to {row['high_us']:.1f})"
        print(f"{way}: {row['median_us']:7.1f} us a hand-off {spread}")
    if options.out is not None:
        write_record(options.out, {"rounds": options.rounds, "trips": options.trips, "rows": found})


def measure(rounds: int, trips: int) -> list[dict[str, object]]:
    """Time every way in every round."""
    rng = np.random.default_rng(0)
    ways = [
        (transport, size, copied)
        for transport in ("threads", "processes")
        for size in SIZES
        for copied in (False, True)
    ]
    times_s: dict[tuple[str, str, bool], list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for index in rng.permutation(len(ways)):
            transport, size, copied = ways[index]
            shapes: Shapes = [((SIZES[size],), "float32")]
            opened = between_threads if transport == "threads" else between_processes
            with opened(shapes) as (there, back):
                times_s[ways[index]].append(throw(there, back, shapes, trips, copied=copied))
    rows: list[dict[str, object]] = []
    for (transport, size, copied), found in times_s.items():
        low, _, high = quantiles(found, n=4, method="inclusive") if rounds > 1 else found * 3
        rows.append(
            {
                "transport": transport,
                "size": size,
                "manner": "copied" if copied else "in place",
                "median_us": median(found) * 1e6,
                "low_us": low * 1e6,
                "high_us": high * 1e6,
            }
        )
    return rows


def throw(there: Channel, back: Channel, shapes: Shapes, trips: int, *, copied: bool) -> float:
    """Throw a frame to and fro; return the median time of one hand-off, in seconds."""
    frame = np.random.default_rng(0).normal(size=shapes[0][0]).astype(np.float32)
    trips_s = []
    with pinned((CORES[0],)):
        for number in range(WARM_UP + trips):
            start_s = time.perf_counter()
            slot = there.acquire()
            if copied:
                np.copyto(slot.arrays[0], frame)
            there.put(number, slot)
            answer = back.get()
            if answer.slot is not None:
                if copied:
                    np.copyto(frame, answer.slot.arrays[0])
                back.free(answer.slot)
            trips_s.append(time.perf_counter() - start_s)
    return median(trips_s[WARM_UP:]) / 2


@contextmanager
def between_threads(shapes: Shapes) -> Iterator[Ends]:
    """Open channels to a thread that throws back."""
    there, back = ThreadChannel(shapes, SLOTS), ThreadChannel(shapes, SLOTS)
    partner = threading.Thread(target=answer, args=(there, back), daemon=True)
    partner.start()
    yield there, back
    there.close()
    partner.join(PATIENCE_S)


@contextmanager
def between_processes(shapes: Shapes) -> Iterator[Ends]:
    """Open channels to a process that throws back."""
    channels = [ProcessChannel.create(shapes, SLOTS) for _ in range(2)]
    shared = [
        text
        for channel in channels
        for text in (
            msgspec.json.encode(channel.layout).decode(),
            msgspec.json.encode(channel.handles).decode(),
        )
    ]
    handles = [handle for channel in channels for handle in channel.handles]
    with subprocess.Popen([sys.executable, __file__, "--partner", *shared], pass_fds=handles):
        there, back = channels
        yield there, back
        there.close()
    for channel in channels:
        channel.release()


def be_partner(*shared: str) -> None:
    """Throw back, in a process of its own."""
    there, back = (
        ProcessChannel(
            msgspec.json.decode(layout, type=Layout), msgspec.json.decode(handles, type=list[int])
        )
        for layout, handles in zip(shared[::2], shared[1::2], strict=True)
    )
    answer(there, back)


def answer(there: Channel, back: Channel) -> None:
    """Throw back every frame until the channel is closed."""
    with pinned((CORES[-1],)), suppress(ChannelClosedError):
        while True:
            message = there.get()
            if message.slot is not None:
                there.free(message.slot)
            back.put(message.frame_id, back.acquire())


if __name__ == "__main__":
    main()
