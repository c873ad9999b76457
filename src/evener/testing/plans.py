"""Plans written by hand, for contract suites and tests."""

from collections.abc import Sequence

from evener.artifacts.plan import Lane, Part, Plan, Stage

Cores = tuple[int, ...]


def chain(
    *stages: tuple[int, Sequence[Cores]],
    runtime: str = "onnxruntime",
    credits: int | None = None,
    split_lanes: bool = False,
) -> Plan:
    """Plan a chain of blocks, whose cuts are called `x`, `h1`, `h2`, ... `y`.

    Args:
        stages: for each, how many blocks it runs and the cores of each of its lanes.
        runtime: what runs every part.
        credits: frames in flight; one per lane if None.
        split_lanes: whether every block of a lane is a part of its own.
    """
    blocks = sum(count for count, _ in stages)
    names = ["x", *(f"h{index}" for index in range(1, blocks)), "y"]
    first, made = 0, []
    for number, (count, lanes) in enumerate(stages):
        last = first + count - 1
        spans = [(b, b) for b in range(first, last + 1)] if split_lanes else [(first, last)]
        parts = tuple(Part(first_block=a, last_block=b, runtime=runtime) for a, b in spans)
        made.append(
            Stage(
                first_block=first,
                last_block=last,
                inputs=(names[first],),
                outputs=(names[last + 1],),
                lanes=tuple(
                    Lane(processor=f"p{number}{letter}", cores=cores, parts=parts, time_s=1.0)
                    for letter, cores in zip("abcdefgh", lanes, strict=False)
                ),
            )
        )
        first = last + 1
    return of_stages(*made, credits=credits)


def of_stages(*stages: Stage, credits: int | None = None) -> Plan:
    """Make a plan of stages; credits are one per lane if None."""
    flying = sum(len(stage.lanes) for stage in stages) if credits is None else credits
    return Plan(
        network="tiny",
        network_sha256="",
        granularity="strict",
        method="hand",
        objective="throughput",
        stages=stages,
        credits=flying,
        rate_hz=1.0,
        latency_s=float(flying),
        cut_points=len(stages) - 1,
        configurations=1,
    )
