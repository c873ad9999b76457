"""What the command line makes of lower precisions: wishes, refusals and words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from evener.artifacts.comparison import Comparison
from evener.artifacts.lowering import Deviation, Lowering
from evener.cli.comparison_lines import comparison_lines
from evener.cli.precision import lowering_lines
from evener.testing import tiny
from evener.workflow import PrecisionWish

Evener = Callable[..., tuple[int, str, str]]
Calls = dict[str, dict[str, Any]]
INT8 = Deviation(
    precision="int8",
    frames=24,
    error=0.0123,
    agreement=0.975,
    accuracy=0.96,
    accuracy_f32=0.97,
    admitted=True,
)
VERBS = [("profile", "net"), ("plan", "net"), ("run", "net", "--frames", "4"), ("bench", "net")]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_a_verb_hands_on_the_wish_and_without_one_nothing(
    verb: tuple[str, ...], evener: Evener, workflow_calls: Calls
) -> None:
    asked = ("--precision", "int8", "--calibration", "f.npz", "--max-error", "0.02")

    evener(*verb, *asked, "--min-accuracy", "0.9", "--json")
    ((_, call),) = workflow_calls.items()
    workflow_calls.clear()
    evener(*verb, "--json")
    ((_, plain),) = workflow_calls.items()

    assert call["engines"].precision == PrecisionWish(
        precision="int8", calibration=Path("f.npz"), max_error=0.02, min_accuracy=0.9
    )
    assert plain["engines"].precision is None


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("--precision", "int8"), "--precision int8 needs --calibration with at least 32 frames"),
        (("--max-error", "0.1"), "in f32 there is nothing to calibrate and no error to limit"),
        (("--precision", "int8", "--calibration", "f.npz"), "--precision int8 needs a limit of"),
        (
            ("--precision", "int8", "--calibration", "f.npz", "--max-error", "0.1"),
            "f.npz holds 8 frames, and 32 are needed",
        ),
        (
            ("--precision", "int8", "--calibration", "no.npz", "--max-error", "0.1"),
            "no.npz",
        ),
    ],
)
def test_a_wish_that_says_too_little_is_refused_before_anything_is_measured(
    verb: tuple[str, ...],
    asked: tuple[str, ...],
    message: str,
    evener: Evener,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "net").write_bytes(tiny.dense(layers=2))
    np.savez(tmp_path / "f.npz", x=np.zeros((8, 2, tiny.WIDTH), np.float32))

    code, out, err = evener(*verb, *asked)

    assert (code, out) == (2, "")
    assert message in err
    assert not (tmp_path / "cache" / "evener").exists()


def test_a_plan_says_what_each_precision_and_the_plan_itself_cost() -> None:
    fp16 = msgspec.structs.replace(
        INT8, precision="fp16", error=0.5, accuracy=None, accuracy_f32=None, admitted=False
    )
    mixed = msgspec.structs.replace(INT8, precision="f32+int8", agreement=None, accuracy=None)

    lines = list(lowering_lines(Lowering(max_error=0.02, offered=(INT8, fp16), deviation=mixed)))

    over = " of the largest output over 24 frames"
    tops = "top answer as in f32 for 97.5%"
    assert lines == [
        f"int8: error 0.012{over}, {tops}, right for 96.0% (f32: 97.0%); admitted",
        f"fp16: error 0.5{over}, {tops}; not used: over the error of 0.02 allowed",
        f"this plan, f32+int8: error 0.012{over}",
    ]
    assert list(lowering_lines(None)) == []


def test_blocks_that_stay_in_f32_are_counted() -> None:
    part = msgspec.structs.replace(INT8, in_f32=(0, 2, 5))

    (line,) = lowering_lines(Lowering(max_error=0.02, offered=(part,)))

    assert line.endswith("(f32: 97.0%), with 3 blocks in f32; admitted")


def test_a_precision_that_misses_the_share_says_so() -> None:
    missed = msgspec.structs.replace(INT8, admitted=False)

    (line,) = lowering_lines(Lowering(min_accuracy=0.99, offered=(missed,)))

    assert line.endswith("not used: under the share of 0.99 asked for")


def test_a_comparison_says_how_far_off_its_rows_in_lower_precision_are(
    tiny_comparison: Comparison,
) -> None:
    row = msgspec.structs.replace(tiny_comparison.rows[0], name="plan in int8", deviation=INT8)
    beside = msgspec.structs.replace(tiny_comparison, rows=(*tiny_comparison.rows, row))

    lines = set(comparison_lines(beside)) - set(comparison_lines(tiny_comparison))

    (line,) = lines
    assert f"{row.network}: plan in int8: error 0.012 of the largest output over 24 fr" in line
