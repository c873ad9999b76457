"""What it costs in accuracy to compute in fewer bits than f32."""

from typing import Literal

import msgspec

LowerPrecision = Literal["fp16", "int8"]


class Deviation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far answers are from those in f32, over frames that no quantisation was fitted to.

    Attributes:
        precision: what they were computed in, such as "int8"; of a plan every element type of its
            stages, such as "f32+int8".
        frames: how many were compared.
        error: largest difference of an output, of any frame, over the largest value of that output
            for all these frames in f32.
        agreement: share of the frames whose top answer is the same; None where an answer is not
            one class or one number for each class.
        accuracy: share of the frames whose top answer is the label; None without labels.
        accuracy_f32: the same of the answers in f32.
        admitted: whether that is within what was allowed.
        in_f32: of the whole network in a lower precision the blocks that stay in f32, as they are
            numbered by the rule "paper".
    """

    precision: str
    frames: int
    error: float
    agreement: float | None = None
    accuracy: float | None = None
    accuracy_f32: float | None = None
    admitted: bool
    in_f32: tuple[int, ...] = ()


class Lowering(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The precisions below f32 that a plan might use, what they may cost, and what they do.

    Attributes:
        max_error: largest error allowed; None for any.
        min_accuracy: least accuracy allowed, or agreement where no labels are known; None for any.
        offered: how far the whole network is off in each precision.
        networks: names what each precision that the plan uses computes: a hash of the network, of
            its cuts, and of how and by which frames it was converted.
        deviation: how far the plan is off as a whole; None where it computes in f32 alone.
    """

    max_error: float | None = None
    min_accuracy: float | None = None
    offered: tuple[Deviation, ...] = ()
    networks: dict[str, str] = {}
    deviation: Deviation | None = None
