"""Leave the blocks in f32 to whose rounding a network is most sensitive, as few as will do.

Rounding one block after another alone, all others in f32, says what each adds to the error of the
answers: mostly a few blocks add nearly all. So the worst stay in f32, and bisection finds how many.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import fsum, sqrt
from typing import Final

import msgspec

from evener.artifacts.lowering import Deviation
from evener.artifacts.tensor import Tensor
from evener.network.frames import Frame
from evener.network.mixture import mix
from evener.network.model import Network
from evener.network.precision import crossing_tensors, for_conversion
from evener.network.split import segment_model, whole_model
from evener.run.accuracy import judge
from evener.run.equality import difference, largest_of, run_unsplit
from evener.runtime import get_runtime
from evener.runtime.session import Array
from evener.workflow.opened import Opened, find_processors
from evener.workflow.variants import CONVERTER, Judge, coarse

RANKED_BY: Final = 8
"""How many frames rank the blocks: each is computed once for every block."""

_Answers = list[tuple[Array, ...]]


def admit_in_part(
    opened: Opened, lowered: Network, precision: str, frames: Sequence[Frame], by: Judge
) -> Deviation | None:
    """Find the fewest of the most sensitive blocks without which a precision is near enough.

    Args:
        opened: the network.
        lowered: the same in a lower precision, not near enough as a whole.
        precision: which.
        frames: what it was converted by; some of them rank the blocks.
        by: frames and answers in f32 that judge, and the limits.

    Returns:
        How far off the network is with those blocks in f32; None if all of them must be.

    Raises:
        InvalidNetworkError: no blocks of both can be put together.
        RuntimeFailedError: the runtime refuses a segment.
    """
    blocks = coarse(opened.network, opened.blocks)
    step = max(1, len(frames) // RANKED_BY)
    errors = block_errors(opened, lowered, precision, frames[::step][:RANKED_BY])
    order = sorted(range(len(errors)), key=lambda block: -errors[block])

    def judged(count: int) -> Deviation:
        in_f32 = tuple(sorted(order[:count]))
        made = mix(opened.network, lowered, blocks, in_f32)
        return msgspec.structs.replace(judge_of(opened, made, precision, by), in_f32=in_f32)

    return _fewest(judged, len(order))


def block_errors(
    opened: Opened, lowered: Network, precision: str, frames: Sequence[Frame]
) -> tuple[float, ...]:
    """Measure what each block adds to the error of the answers if it alone is in a lower precision.

    Args:
        opened: the network.
        lowered: the same in the lower precision.
        precision: which.
        frames: at least one.

    Returns:
        For each block, see `evener.workflow.variants.coarse`, the root of the mean square of the
        errors that the frames' answers have then.
    """
    network, blocks = opened.network, coarse(opened.network, opened.blocks)
    run = partial(_run, opened)
    tensors = (*crossing_tensors(network, blocks), *network.outputs)
    reached = [
        dict(zip((tensor.name for tensor in (*network.inputs, *tensors)), values, strict=True))
        for values in (
            (*frame, *answer)
            for frame, answer in zip(
                frames,
                run(for_conversion(network, blocks), frames, network.inputs, tensors, "f32"),
                strict=True,
            )
        )
    ]
    names = [tensor.name for tensor in network.outputs]
    expected = [tuple(values[name] for name in names) for values in reached]
    largest = largest_of(expected)
    last = len(blocks.blocks) - 1
    errors = []
    for number, block in enumerate(blocks.blocks):
        given = [tuple(values[tensor.name] for tensor in block.inputs) for values in reached]
        rounding = segment_model(lowered, blocks, number, number)
        found = run(rounding, given, block.inputs, block.outputs, precision)
        if number < last:
            rest = segment_model(network, blocks, number + 1, last)
            found = run(rest, found, block.outputs, network.outputs, "f32")
        off = [
            difference(one, other, largest)[1] for one, other in zip(expected, found, strict=True)
        ]
        errors.append(sqrt(fsum(error**2 for error in off) / len(off)))
    return tuple(errors)


def judge_of(opened: Opened, network: Network, precision: str, by: Judge) -> Deviation:
    """Say how far off the answers of a whole network in lower precision are."""
    answers = answers_of(opened, network, by.frames, precision)
    return judge(precision, by.expected, answers, allowed=by.allowed, labels=by.labels)


def answers_of(
    opened: Opened, network: Network, frames: Sequence[Frame], precision: str = "f32"
) -> _Answers:
    """Answer frames with a whole network, by the runtime that every comparison rests on."""
    return _run(opened, whole_model(network), frames, network.inputs, network.outputs, precision)


def _run(
    opened: Opened,
    model: bytes,
    frames: Sequence[Frame],
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    precision: str,
) -> _Answers:
    return run_unsplit(
        model,
        frames,
        inputs=inputs,
        outputs=outputs,
        runtime=get_runtime(CONVERTER),
        core=find_processors().cpu.cores[0],
        precision=precision,
        optimisation=opened.optimisation,
    ).answers


def _fewest(judged: Callable[[int], Deviation], count: int) -> Deviation | None:
    """Return the admitted judgement of the fewest blocks in f32, fewer than all, by bisection.

    More blocks in f32 are taken to be as near or nearer; what is returned was judged itself.
    """
    found = None
    missed, kept = 0, count
    while kept - missed > 1:
        middle = (missed + kept) // 2
        one = judged(middle)
        if one.admitted:
            found, kept = one, middle
        else:
            missed = middle
    return found
