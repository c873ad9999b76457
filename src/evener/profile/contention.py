"""Time how much slower a processor is while the others work too, and share caches, memory and heat.

Every segment is timed alone, but in a pipeline no lane is. One factor for each processor is found
by running the whole network on one of its cores, alone and beside the same network on other cores,
by turns. That is the worst company that a plan gives a lane; beside fewer it is slowed less. A
device is company to nobody, but a thread of the CPU feeds it, for which busy cores leave no room.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from statistics import median
from typing import Final

from evener.artifacts.processors import Machine, Processor
from evener.artifacts.profile import Contention, SegmentTime
from evener.errors import RuntimeFailedError
from evener.network.frames import random_frames
from evener.profile.timing import Clock, time_session
from evener.runtime.pinning import pinned
from evener.runtime.session import Optimisation, Runtime, empty

MOST_OTHERS: Final = 7  # of them; more share other caches and memory channels
TURNS: Final = 3  # alone and beside the others
_PATIENCE_S: Final = 60.0


def measure_contention(
    machine: Machine,
    model: bytes,
    wholes: Sequence[SegmentTime],
    *,
    runtimes: Mapping[str, Runtime],
    optimisation: Optimisation,
    clock: Clock,
) -> tuple[Contention, ...]:
    """Time the whole network on one core of each processor, alone and beside the others.

    A core has up to `MOST_OTHERS` others for company, a device all cores.

    Args:
        machine: its processors.
        model: the whole network.
        wholes: times of it, which tell the runtime that is best on one core of each.
        runtimes: by name.
        optimisation: graph optimisation level.
        clock: seconds that never go back.

    Returns:
        A factor for each processor that has company and a time on one core, or as a device.

    Raises:
        RuntimeFailedError: a runtime that ran the network before cannot now.
    """
    best = {one.name: time for one in machine.processors if (time := _best(one, wholes))}
    seats = [(one, core) for one in machine.processors if one.name in best for core in one.cores]
    found = []
    for processor in machine.processors:
        core = min(processor.cores, default=None)
        others = [seat for seat in seats if seat != (processor, core)]
        if core is not None:
            others = others[:MOST_OTHERS]
        if processor.name not in best or not others:
            continue
        ratios = []
        with (
            _company(
                [
                    (runtimes[best[one.name].runtime], best[one.name].precision, other)
                    for one, other in others
                ],
                model,
                optimisation,
            ) as working,
            nullcontext() if core is None else pinned((core,)),
        ):
            session = runtimes[best[processor.name].runtime].open(
                model,
                cores=() if core is None else (core,),
                precision=best[processor.name].precision,
                optimisation=optimisation,
                processor=processor.name,
            )
            try:
                for _ in range(TURNS):
                    throttled = processor.share < 1
                    alone = time_session(session, clock=clock, throttled=throttled)
                    working.set()
                    beside = time_session(session, clock=clock, throttled=throttled)
                    working.clear()
                    ratios.append(beside.median_s / alone.median_s)
            finally:
                session.close()
        found.append(
            Contention(
                processor=processor.name, others=len(others), factor=max(1.0, median(ratios))
            )
        )
    return tuple(found)


def _best(processor: Processor, wholes: Sequence[SegmentTime]) -> SegmentTime | None:
    """Return the shortest time on one core or on the device, if any was taken there."""
    timed = [
        one
        for one in wholes
        if (one.processor, one.cores, one.execution) == (processor.name, 1, "sequential")
    ]
    if not timed:
        return None
    return min(timed, key=lambda one: one.median_s)


@contextmanager
def _company(
    seats: Sequence[tuple[Runtime, str, int]], model: bytes, optimisation: Optimisation
) -> Iterator[threading.Event]:
    """Open the network on some cores, each of which runs it while the yielded event is set."""
    working, over = threading.Event(), threading.Event()
    ready = threading.Semaphore(0)
    failures: list[RuntimeFailedError] = []

    def live(runtime: Runtime, precision: str, core: int) -> None:
        try:
            with pinned((core,)):
                session = runtime.open(
                    model, cores=(core,), precision=precision, optimisation=optimisation
                )
                try:
                    (inputs,) = random_frames(session.inputs, 1, seed=0)
                    outputs = [empty(tensor) for tensor in session.outputs]
                    session.run(inputs, outputs)
                    ready.release()
                    while not over.is_set():
                        if working.wait(0.1):
                            session.run(inputs, outputs)
                finally:
                    session.close()
        except RuntimeFailedError as error:
            failures.append(error)
            ready.release()

    threads = [
        threading.Thread(target=live, args=seat, name=f"company on core {seat[2]}", daemon=True)
        for seat in seats
    ]
    for thread in threads:
        thread.start()
    try:
        for _ in threads:
            ready.acquire()
        if failures:
            raise failures[0]
        yield working
    finally:
        over.set()
        working.set()
        for thread in threads:
            thread.join(_PATIENCE_S)
