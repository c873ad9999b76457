"""The options that let a network be computed in fewer bits, and what is said of it."""

from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from evener.cli import values
from evener.units import count

if TYPE_CHECKING:
    from evener.artifacts.lowering import Deviation, Lowering
    from evener.workflow import PrecisionWish

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def precision_options(command: CommandT) -> CommandT:
    """Add --precision and what goes with it; the verb gets `precision`, a wish or None."""

    @wraps(command)
    def with_wish(
        *,
        precision: Literal["f32", "fp16", "int8", "auto"],
        calibration: Path | None,
        max_error: float | None,
        min_accuracy: float | None,
        **choices: Any,  # noqa: ANN401 - the verb's own options, handed on
    ) -> object:
        wish = _wish(precision, calibration, max_error, min_accuracy)
        return command(precision=wish, **choices)

    for option in reversed(_OPTIONS):
        option(with_wish)
    return with_wish  # type: ignore[return-value] # wraps it, which has no type of its own


_OPTIONS = (
    click.option(
        "--precision",
        type=click.Choice(["f32", "fp16", "int8", "auto"]),
        default="f32",
        show_default=True,
        help="Compute in 16-bit floats or 8-bit integers where that is quicker than f32, or in "
        "whatever is; needs --calibration and a limit of what it may cost.",
    ),
    click.option(
        "--calibration",
        metavar="FILE.npz|FOLDER",
        callback=values.through(values.read_path),
        help="At least 32 frames like those to come, in an npz file or a folder of such: one array "
        "per input, and perhaps an array 'labels' with the class of each frame.",
    ),
    click.option(
        "--max-error",
        type=values.Number(min=0, min_open=True),
        metavar="SHARE",
        help="Lower the precision only where no number of an answer is further from that in f32 "
        "than this share of the output's largest for all frames that judge, such as 0.01.",
    ),
    click.option(
        "--min-accuracy",
        type=values.Number(min=0, max=1, min_open=True),
        metavar="SHARE",
        help="Lower the precision only where at least this share of the top answers is right, or "
        "without labels the same as in f32.",
    ),
)


def _wish(
    precision: Literal["f32", "fp16", "int8", "auto"],
    calibration: Path | None,
    max_error: float | None,
    min_accuracy: float | None,
) -> "PrecisionWish | None":
    if (precision, calibration, max_error, min_accuracy) == ("f32", None, None, None):
        return None
    from evener.workflow import PrecisionWish

    return PrecisionWish(
        precision=precision,
        calibration=calibration,
        max_error=max_error,
        min_accuracy=min_accuracy,
    )


def lowering_lines(lowering: "Lowering | None") -> Iterator[str]:
    """Say how far off each lower precision is, and a plan that uses some."""
    if lowering is None:
        return
    for one in lowering.offered:
        verdict = "admitted" if one.admitted else f"not used: {_missed(one, lowering)}"
        yield f"{one.precision}: {deviation_words(one)}; {verdict}"
    if lowering.deviation is not None:
        yield f"this plan, {lowering.deviation.precision}: {deviation_words(lowering.deviation)}"


def deviation_words(found: "Deviation") -> str:
    """Say how far off answers are."""
    words = f"error {found.error:.2g} of the largest output over {count(found.frames, 'frame')}"
    if found.agreement is not None:
        words += f", top answer as in f32 for {found.agreement:.1%}"
    if found.accuracy is not None and found.accuracy_f32 is not None:
        words += f", right for {found.accuracy:.1%} (f32: {found.accuracy_f32:.1%})"
    if found.in_f32:
        words += f", with {count(len(found.in_f32), 'block')} in f32"
    return words


def _missed(found: "Deviation", lowering: "Lowering") -> str:
    if lowering.max_error is not None and found.error > lowering.max_error:
        return f"over the error of {lowering.max_error:g} allowed"
    return f"under the share of {lowering.min_accuracy:g} asked for"
