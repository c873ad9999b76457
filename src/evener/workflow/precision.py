"""Offer a network in lower precisions, where its answers stay near enough to those in f32.

Nothing is lowered without frames that stand for those to come, and a limit of what it may cost.
Every second frame settles the ranges that 8 bits cover; the others judge what comes of it. Where
the whole network misses the limit, its most sensitive blocks stay in f32, see `sensitive.py`.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import msgspec

from evener.artifacts.lowering import Deviation, LowerPrecision
from evener.artifacts.plan import Plan
from evener.errors import InputError, InvalidNetworkError, RuntimeFailedError
from evener.network.frames import Frame
from evener.network.labelled import Labelled, load_labelled
from evener.network.model import Network
from evener.run.accuracy import Allowed
from evener.run.equality import top_of
from evener.workflow.opened import Opened, Progress
from evener.workflow.sensitive import admit_in_part, answers_of, judge_of
from evener.workflow.variants import Judge, Variants, make_variant, recall_variant

FEWEST_FRAMES: Final = 32
"""Of which half settle the ranges and half judge."""
_LOG: Final = logging.getLogger(__name__)


class PrecisionWish(msgspec.Struct, frozen=True, kw_only=True):
    """In what a network may be computed, and what that may cost.

    Attributes:
        precision: "int8" or "fp16" where that is quicker than f32, "auto" for whatever is, or
            "f32" alone.
        calibration: frames that stand for those to come: an npz file with one array per input, and
            perhaps an array "labels", or a folder of such.
        max_error: largest difference from an answer in f32, as a share of the largest value of that
            output for all frames that judge.
        min_accuracy: least share of frames whose top answer is the label, or without labels the
            same as in f32.
    """

    precision: Literal["f32", "fp16", "int8", "auto"] = "f32"
    calibration: Path | None = None
    max_error: float | None = None
    min_accuracy: float | None = None

    @property
    def lower(self) -> tuple[LowerPrecision, ...]:
        """The precisions below f32 that may be used."""
        if self.precision == "f32":
            return ()
        return ("int8", "fp16") if self.precision == "auto" else (self.precision,)

    def check(self) -> None:
        """Refuse a wish that says too little, or more than counts.

        Raises:
            InputError: no frames, no limit, or frames or limits for f32.
        """
        if self.precision == "f32":
            if (self.calibration, self.max_error, self.min_accuracy) != (None, None, None):
                raise InputError(
                    "in f32 there is nothing to calibrate and no error to limit: add --precision "
                    "int8, fp16 or auto, or leave --calibration, --max-error and --min-accuracy out"
                )
            return
        if self.calibration is None:
            raise InputError(
                f"--precision {self.precision} needs --calibration with at least {FEWEST_FRAMES} "
                "frames like those to come: they settle the ranges of 8 bits and judge the answers"
            )
        if self.max_error is None and self.min_accuracy is None:
            raise InputError(
                f"--precision {self.precision} needs a limit of what it may cost: --max-error "
                "0.01 for the largest difference, or --min-accuracy 0.97 for the share of right "
                "top answers"
            )


def with_precisions(
    opened: Opened, wish: PrecisionWish | None, *, progress: Progress | None = None
) -> Opened:
    """Open a network in the lower precisions of a wish too, those that keep its limits.

    Args:
        opened: the network.
        wish: what may be used; None for f32 alone.
        progress: told what is being done.

    Raises:
        InputError: a wish that says too little, frames that do not fit or are too few, labels or
            a least accuracy where no answer names a class, a network of batches or with states, or
            one that cannot be converted to the one precision that is asked for.
    """
    if wish is None:
        return opened
    wish.check()
    if not wish.lower or wish.calibration is None:
        return opened
    if opened.single is not None:
        raise _no_batches()
    given = _calibration(wish.calibration, opened.network)
    fitted, judged = given.every_second(0), given.every_second(1)
    _tell(progress, "answering in f32")
    judge_ = Judge(
        frames=judged.frames,
        expected=answers_of(opened, opened.network, judged.frames),
        labels=judged.labels,
        allowed=Allowed(max_error=wish.max_error, min_accuracy=wish.min_accuracy),
    )
    if wish.min_accuracy is not None and top_of(judge_.expected[0]) is None:
        raise InputError(
            f"{opened.network.name} answers neither one class nor one number for each class, so "
            "there is no top answer for --min-accuracy: give --max-error"
        )
    networks: dict[str, Network] = {}
    keys: dict[str, str] = {}
    offered: list[Deviation] = []
    for precision in wish.lower:
        try:
            key, made, found = _converted(opened, precision, fitted.frames, judge_, progress)
        except (RuntimeFailedError, InvalidNetworkError) as error:
            if wish.precision != "auto":
                raise InputError(f"{error}; leave --precision {precision} out") from error
            _LOG.warning("%s is left out: %s", precision, error)
            continue
        offered.append(found)
        if found.admitted:
            networks[precision], keys[precision] = made, key
    return replace(opened, variants=Variants(networks, keys, tuple(offered), judge_))


def with_precisions_of(opened: Opened, plan: Plan, wish: PrecisionWish | None) -> Opened:
    """Open a network in the lower precisions that a plan computes in.

    Args:
        opened: the network.
        plan: a plan of it.
        wish: the frames to convert it by where what was kept is not here; None if none are given.

    Raises:
        InputError: it was converted elsewhere and no frames are given, or other ones; or the
            network is of batches.
    """
    needed = {} if plan.lowering is None else plan.lowering.networks
    if needed and opened.single is not None:
        raise _no_batches()
    networks: dict[str, Network] = {}
    for precision, key in needed.items():
        made = recall_variant(opened.network, precision, key)
        if made is None and wish is not None and wish.calibration is not None:
            given = _calibration(wish.calibration, opened.network).every_second(0)
            lower: LowerPrecision = "int8" if precision == "int8" else "fp16"
            in_f32 = _in_f32(plan, precision)
            found, made = make_variant(opened.network, opened.blocks, lower, given.frames, in_f32)
            if found != key:
                raise InputError(
                    f"the plan computes in another {precision} network than these frames, this "
                    f"version and its onnxruntime give ({key[:12]}, not {found[:12]}); give the "
                    "--calibration that it was planned with, or plan again"
                )
        if made is None:
            raise InputError(
                f"the plan computes in {precision}, and that network ({key[:12]}) is not kept on "
                "this machine; evener run NET --plan FILE --precision PRECISION with the "
                "--calibration that it was planned with makes it again"
            )
        networks[precision] = made
    return replace(opened, variants=Variants(networks, dict(needed)))


def _converted(
    opened: Opened,
    precision: LowerPrecision,
    frames: Sequence[Frame],
    by: Judge,
    progress: Progress | None,
) -> tuple[str, Network, Deviation]:
    """Convert a network, as much of it as may be, and say how far off it is then."""
    _tell(progress, f"converting to {precision}")
    key, made = make_variant(opened.network, opened.blocks, precision, frames)
    whole = judge_of(opened, made, precision, by)
    if whole.admitted:
        return key, made, whole
    _tell(progress, f"looking for the blocks that {precision} hurts most")
    part = admit_in_part(opened, made, precision, frames, by)
    if part is None:
        return key, made, whole
    key, made = make_variant(opened.network, opened.blocks, precision, frames, part.in_f32)
    return key, made, part


def _no_batches() -> InputError:
    return InputError(
        "batches are computed in f32 only: leave out --batch, or the precision and a plan in it"
    )


def _calibration(path: Path, network: Network) -> Labelled:
    given = load_labelled(path, network.inputs)
    if len(given.frames) < FEWEST_FRAMES:
        raise InputError(
            f"{path} holds {len(given.frames)} frames, and {FEWEST_FRAMES} are needed: every "
            "second one settles the ranges of 8 bits, the others judge the answers; add frames "
            "like those to come"
        )
    return given


def _in_f32(plan: Plan, precision: str) -> tuple[int, ...]:
    offered = () if plan.lowering is None else plan.lowering.offered
    return next((one.in_f32 for one in offered if one.precision == precision), ())


def _tell(progress: Progress | None, message: str) -> None:
    if progress is not None:
        progress(message, 0, 1)
