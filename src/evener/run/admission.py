"""Refuse what a pipeline cannot run: plans that do not hold together, frames that do not fit."""

from collections.abc import Mapping, Sequence

import numpy as np

from evener.artifacts.plan import Plan
from evener.artifacts.tensor import Tensor
from evener.errors import InputError
from evener.run.entry import Frame
from evener.runtime.session import Array, Runtime


def check_plan(plan: Plan, credits: int, runtimes: Mapping[str, Runtime]) -> None:
    """Refuse a plan that cannot be run as it is written.

    Raises:
        InputError: no credit, no stage or lane, blocks that do not follow each other, or a runtime
            that is not there.
    """
    if credits < 1:
        raise InputError(f"{credits} credits let no frame in; give at least 1")
    if not plan.stages:
        raise InputError(f"the plan of '{plan.network}' has no stage; plan the network again")
    following = 0
    for index, stage in enumerate(plan.stages):
        for lane in stage.lanes:
            block = following
            for part in lane.parts:
                if part.first_block != block or part.last_block < part.first_block:
                    raise InputError(
                        f"stage {index} on {lane.processor} runs blocks {part.first_block} to "
                        f"{part.last_block} where block {block} is next; plan the network again"
                    )
                block = part.last_block + 1
                if part.runtime not in runtimes:
                    raise InputError(
                        f"stage {index} on {lane.processor} needs the runtime '{part.runtime}', "
                        f"there is {', '.join(runtimes) or 'none'}; install it or plan again"
                    )
            if block != stage.last_block + 1:
                raise InputError(
                    f"stage {index} on {lane.processor} ends before block {block}, not after its "
                    f"last block {stage.last_block}; plan the network again"
                )
        if not stage.lanes:
            raise InputError(f"stage {index} has no lane; plan the network again")
        following = stage.last_block + 1


def check_frame(number: int, frame: Frame | Array, inputs: Sequence[Tensor]) -> None:
    """Refuse a frame that the network does not take.

    Raises:
        InputError: too few or too many arrays, or one of a wrong shape or type.
    """
    if isinstance(frame, np.ndarray) or len(frame) != len(inputs):
        raise InputError(
            f"frame {number} must be a tuple of {len(inputs)} arrays, one per input of the "
            f"network: {', '.join(tensor.name for tensor in inputs)}"
        )
    for array, tensor in zip(frame, inputs, strict=True):
        if array.shape != tensor.shape or array.dtype != tensor.dtype:
            raise InputError(
                f"frame {number} gives {array.dtype} {list(array.shape)} for '{tensor.name}', "
                f"which takes {tensor.dtype} {list(tensor.shape)}"
            )
