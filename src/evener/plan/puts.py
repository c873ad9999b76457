"""What a stage pays to hand a frame on, whoever takes it."""

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.profile import Profile


def puts_s(profile: Profile) -> NDArray[np.float64]:
    """Return seconds per frame for a stage of blocks B to E, `[B, E]`.

    A put takes a fixed time and a time per byte of all that crosses the cut behind block E. Tensors
    that also cross the cut before block B only pass by: they are copied, which takes a further time
    per byte. So a skip connection costs each stage that it passes.

    Args:
        profile: its blocks, and the cost of a hand-off.
    """
    hand_off = profile.hand_off
    inputs = [{tensor.name for tensor in block.inputs} for block in profile.blocks]
    outputs = [
        {tensor.name: tensor.size_bytes for tensor in block.outputs} for block in profile.blocks
    ]
    passed_bytes = np.array(
        [
            [sum(size for name, size in written.items() if name in read) for written in outputs]
            for read in inputs
        ],
        np.float64,
    )
    crossing_bytes = np.array([sum(written.values()) for written in outputs], np.float64)
    return (
        hand_off.fixed_s
        + hand_off.per_byte_s * crossing_bytes
        + hand_off.passed_per_byte_s * passed_bytes
    )
