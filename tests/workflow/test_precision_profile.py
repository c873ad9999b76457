"""Profiles that time fewer bits, and the plans that are made of them."""

from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pytest

from evener.artifacts.files import save
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.errors import InputError
from evener.testing import tiny
from evener.workflow.plan import plan_network
from evener.workflow.precision import PrecisionWish
from evener.workflow.profile import profile_network
from evener.workflow.run import run_network

Precision = Literal["f32", "fp16", "int8", "auto"]


def wish(calibration: Path | None, precision: Precision = "int8", **limits: Any) -> PrecisionWish:  # noqa: ANN401 - a field's value
    return PrecisionWish(precision=precision, calibration=calibration, **limits)


def in_int8(profile: Profile, *, until: int) -> Profile:
    """Let int8 be quick for the blocks before one, f32 for those from there on, and no other."""
    segments = []
    for one in profile.segments:
        if one.precision != "f32":
            continue
        lower, quick = one.last_block < until, one.last_block < until or one.first_block >= until
        time_s = 1e-6 * (1 + one.last_block - one.first_block) if quick else 9.0
        timed = msgspec.structs.replace(
            one, median_s=time_s, low_s=time_s, high_s=time_s, interpolated=False
        )
        segments.append(msgspec.structs.replace(timed, precision="int8") if lower else timed)
    return msgspec.structs.replace(profile, segments=tuple(segments))


def test_a_profile_times_the_precision_and_says_which_network_it_was(
    net: str, frames: Path
) -> None:
    profile = profile_network(net, precision=wish(frames, max_error=1.0)).value

    assert {one.precision for one in profile.segments} == {"f32", "int8"}
    assert list(profile.variants) == ["int8"]
    assert {one.precision for one in profile_network(net).value.segments} == {"f32"}


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize(("until", "expected"), [(4, {"int8"}), (2, {"int8", "f32"})])
def test_a_plan_takes_int8_where_that_is_quicker_and_runs_within_the_error(
    net: str, frames: Path, tmp_path: Path, until: int, expected: set[str]
) -> None:
    asked = wish(frames, max_error=0.2)
    profile = profile_network(net, runtimes=["onnxruntime"], precision=asked).value
    save(tmp_path / "p.json", in_int8(profile, until=until))

    plan = plan_network(net, profile=tmp_path / "p.json", precision=asked)
    save(tmp_path / "plan.json", plan)
    result = run_network(net, frames=20, plan=tmp_path / "plan.json", optimisation="extended")

    assert {part.precision for part in parts_of(plan)} == expected
    assert plan.lowering is not None
    assert plan.lowering.deviation is not None
    assert plan.lowering.deviation.admitted
    assert 0 < plan.lowering.deviation.error <= 0.2
    assert result.tolerance == 0.2
    assert result.trace.max_error is not None
    assert 0 < result.trace.max_error <= 0.2
    assert result.holds


def parts_of(plan: Plan) -> list[Any]:
    return [part for stage in plan.stages for lane in stage.lanes for part in lane.parts]


def test_without_the_wish_a_profile_in_int8_makes_a_plan_in_f32(
    net: str, frames: Path, tmp_path: Path
) -> None:
    profile = profile_network(net, precision=wish(frames, max_error=1.0)).value
    save(tmp_path / "p.json", profile)

    plan = plan_network(net, profile=tmp_path / "p.json")

    assert {part.precision for part in parts_of(plan)} == {"f32"}


def test_a_profile_of_other_calibration_frames_is_refused(
    net: str, frames: Path, tmp_path: Path
) -> None:
    profile = profile_network(net, precision=wish(frames, max_error=1.0)).value
    save(tmp_path / "p.json", profile)
    other = other_frames(tmp_path)

    with pytest.raises(InputError, match="has times of another int8 network"):
        plan_network(net, profile=tmp_path / "p.json", precision=wish(other, max_error=1.0))


def other_frames(folder: Path) -> Path:
    path = folder / "other.npz"
    np.savez(path, x=np.stack([frame for (frame,) in tiny.frames(40, seed=7)]))
    return path
