"""Stages compute in fewer bits only where frames and a limit say that they may."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pytest
from onnx import helper
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from evener.artifacts.files import load, save
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.errors import InputError, RuntimeFailedError
from evener.network.labelled import load_labelled
from evener.network.mixture import mix
from evener.network.split import whole_model
from evener.testing import tiny
from evener.workflow.admit import admitted, decide_admitted, deviation_of
from evener.workflow.check_plan import check_plan
from evener.workflow.lower_rivals import lower_rivals
from evener.workflow.opened import Opened
from evener.workflow.opening import open_network
from evener.workflow.plan import plan_network
from evener.workflow.precision import PrecisionWish, with_precisions, with_precisions_of
from evener.workflow.profile import profile_network
from evener.workflow.run import run_network
from evener.workflow.sensitive import answers_of, block_errors, judge_of

Precision = Literal["f32", "fp16", "int8", "auto"]


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Train a small network on half of scikit-learn's digits; return it and the other half."""
    folder = tmp_path_factory.mktemp("digits")
    pixels, labels = load_digits(return_X_y=True)
    pixels = (pixels / 16).astype(np.float32)
    net = MLPClassifier((32,), solver="lbfgs", max_iter=60, alpha=1.0, random_state=0)
    with pytest.warns(ConvergenceWarning):  # it is stopped early
        net.fit(pixels[::2], labels[::2])
    (w0, w1), (b0, b1) = net.coefs_, net.intercepts_
    nodes = [
        helper.make_node("Gemm", ["x", "w0", "b0"], ["a"]),
        helper.make_node("Relu", ["a"], ["h"]),
        helper.make_node("Gemm", ["h", "w1", "b1"], ["y"]),
    ]
    weights = {"w0": w0, "b0": b0, "w1": w1, "b1": b1}
    content = tiny.network(
        nodes,
        inputs=[tiny.floats("x", 1, 64)],
        outputs=[tiny.floats("y", 1, 10)],
        weights={name: array.astype(np.float32) for name, array in weights.items()},
    )
    (folder / "digits.onnx").write_bytes(content)
    np.savez(folder / "frames.npz", x=pixels[1::2][:, None], labels=labels[1::2])
    return folder / "digits.onnx", folder / "frames.npz"


def wish(calibration: Path | None, precision: Precision = "int8", **limits: Any) -> PrecisionWish:  # noqa: ANN401 - a field's value
    return PrecisionWish(precision=precision, calibration=calibration, **limits)


def mixed_plan(plan: Plan, precisions: tuple[str, ...]) -> Plan:
    """Let a plan's one stage run its blocks as parts of these precisions."""
    (stage,) = plan.stages
    (lane, *_) = stage.lanes
    (part,) = lane.parts
    parts = tuple(
        msgspec.structs.replace(part, first_block=at, last_block=at, precision=precision)
        for at, precision in enumerate(precisions)
    )
    lanes = (msgspec.structs.replace(lane, parts=parts),)
    return msgspec.structs.replace(plan, stages=(msgspec.structs.replace(stage, lanes=lanes),))


def opened_in(net: str | Path, asked: PrecisionWish) -> Opened:
    return with_precisions(
        open_network(str(net), runtimes=["onnxruntime"], optimisation="extended"), asked
    )


def test_nothing_is_lowered_without_frames(net: str) -> None:
    with pytest.raises(InputError, match="--precision int8 needs --calibration with at least 32"):
        plan_network(net, precision=wish(None, max_error=0.1))


def test_nothing_is_lowered_without_a_limit(net: str, frames: Path) -> None:
    with pytest.raises(InputError, match="--precision auto needs a limit of what it may cost"):
        plan_network(net, precision=wish(frames, "auto"))


def test_f32_has_nothing_to_calibrate(net: str, frames: Path) -> None:
    with pytest.raises(InputError, match="in f32 there is nothing to calibrate"):
        plan_network(net, precision=wish(frames, "f32"))


def test_few_frames_are_refused(net: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "few.npz", x=np.zeros((31, 2, tiny.WIDTH), np.float32))

    with pytest.raises(InputError, match=r"few\.npz holds 31 frames, and 32 are needed"):
        plan_network(net, precision=wish(tmp_path / "few.npz", max_error=0.1))


def test_a_share_of_top_answers_needs_answers_that_name_a_class(net: str, frames: Path) -> None:
    with pytest.raises(InputError, match="no top answer for --min-accuracy: give --max-error"):
        plan_network(net, precision=wish(frames, min_accuracy=0.9))


def test_batches_stay_in_f32(digits: tuple[Path, Path]) -> None:
    net, frames = digits

    with pytest.raises(InputError, match="batches are computed in f32 only"):
        run_network(str(net), frames=8, batch=2, precision=wish(frames, max_error=0.5))


def test_supervised_runs_stay_in_f32(net: str, frames: Path) -> None:
    with pytest.raises(InputError, match="answers in lower precision nobody judged; leave out --s"):
        run_network(net, frames=8, supervise=True, precision=wish(frames, max_error=0.5))


def test_an_allowed_error_admits_a_precision_and_a_smaller_one_does_not(
    net: str, frames: Path
) -> None:
    free = opened_in(net, wish(frames, "auto", max_error=1.0)).variants
    int8, fp16 = free.offered
    assert (int8.precision, fp16.precision) == ("int8", "fp16")
    assert int8.frames == fp16.frames == 24
    assert 0 < fp16.error < int8.error < 0.1

    between = opened_in(net, wish(frames, "auto", max_error=fp16.error)).variants

    assert list(between.networks) == ["fp16"]
    assert [one.admitted for one in between.offered] == [False, True]
    assert between.keys == {"fp16": free.keys["fp16"]}
    assert between.offered == (msgspec.structs.replace(int8, admitted=False), fp16)


def test_where_the_whole_misses_the_limit_the_fewest_of_its_worst_blocks_stay_in_f32(
    net: str, frames: Path
) -> None:
    (whole,) = opened_in(net, wish(frames, max_error=1.0)).variants.offered
    limit = 0.7 * whole.error
    opened = opened_in(net, wish(frames, max_error=limit))
    (found,) = opened.variants.offered
    free = opened_in(net, wish(frames, max_error=1.0))
    fitted = load_labelled(frames, opened.network.inputs).every_second(0).frames
    errors = block_errors(free, free.variants.networks["int8"], "int8", fitted[::3][:8])
    worst = sorted(range(4), key=lambda block: -errors[block])

    assert found.admitted
    assert whole.in_f32 == ()
    assert 0 < len(found.in_f32) < 4
    assert found.in_f32 == tuple(sorted(worst[: len(found.in_f32)]))
    assert found.error <= limit
    for fewer in range(len(found.in_f32)):
        assert error_with(free, worst[:fewer]) > limit
    assert error_with(free, found.in_f32) == found.error


def error_with(opened: Opened, in_f32: Sequence[int]) -> float:
    """Return the error of the network in int8 with some blocks in f32."""
    made = mix(opened.network, opened.variants.networks["int8"], opened.blocks, in_f32)
    assert opened.variants.judge is not None
    return judge_of(opened, made, "int8", opened.variants.judge).error


def test_the_error_that_a_block_adds_is_that_of_the_network_with_it_alone_in_int8(
    net: str, frames: Path
) -> None:
    opened = opened_in(net, wish(frames, max_error=1.0))
    (frame, *_) = load_labelled(frames, opened.network.inputs).frames

    errors = block_errors(opened, opened.variants.networks["int8"], "int8", [frame])

    judge = opened.variants.judge
    assert judge is not None
    expected = answers_of(opened, opened.network, [frame])
    alone = replace(opened.variants, judge=replace(judge, frames=[frame], expected=expected))
    for block in range(4):
        others = [other for other in range(4) if other != block]
        assert errors[block] == error_with(replace(opened, variants=alone), others)
    assert len(set(errors)) == 4
    assert min(errors) > 0


def test_a_plan_in_a_mixture_is_made_again_from_the_same_frames(
    net: str, frames: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (whole,) = opened_in(net, wish(frames, max_error=1.0)).variants.offered
    asked = wish(frames, max_error=0.7 * whole.error)
    opened = opened_in(net, asked)
    plain = plan_network(net, stages=1, runtimes=["onnxruntime"])
    (plan,) = admitted(opened, [mixed_plan(plain, ("int8",) * 4)])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))

    again = with_precisions_of(open_network(net), plan, asked)

    assert again.variants.keys == opened.variants.keys
    assert plan.lowering is not None
    assert plan.lowering.offered[0].in_f32
    (one,), (other,) = opened.variants.networks.values(), again.variants.networks.values()
    assert whole_model(one) == whole_model(other)


def test_a_trained_network_keeps_its_accuracy_in_int8(digits: tuple[Path, Path]) -> None:
    net, frames = digits

    (found,) = opened_in(net, wish(frames, min_accuracy=0.9)).variants.offered

    assert found.admitted
    assert found.frames == 449
    assert found.agreement is not None
    assert found.agreement > 0.97
    assert found.accuracy_f32 is not None
    assert found.accuracy is not None
    assert found.accuracy_f32 > 0.9
    assert abs(found.accuracy - found.accuracy_f32) < 0.02
    (strict,) = opened_in(net, wish(frames, min_accuracy=1.0)).variants.offered
    assert not strict.admitted


def test_a_precision_that_misses_the_limit_is_neither_timed_nor_planned(
    net: str, frames: Path
) -> None:
    plan = plan_network(net, precision=wish(frames, max_error=1e-9))

    assert {part.precision for part in parts_of(plan)} == {"f32"}
    assert plan.lowering is not None
    assert [one.admitted for one in plan.lowering.offered] == [False]
    assert (plan.lowering.networks, plan.lowering.deviation) == ({}, None)


def parts_of(plan: Plan) -> list[Any]:
    return [part for stage in plan.stages for lane in stage.lanes for part in lane.parts]


def other_frames(folder: Path) -> Path:
    path = folder / "other.npz"
    np.savez(path, x=np.stack([frame for (frame,) in tiny.frames(40, seed=7)]))
    return path


def test_a_mixture_is_judged_as_what_it_computes(net: str, frames: Path) -> None:
    opened = opened_in(net, wish(frames, max_error=1.0))
    plan = plan_network(net, stages=1, runtimes=["onnxruntime"])
    judge = opened.variants.judge
    assert judge is not None

    half = deviation_of(opened, mixed_plan(plan, ("int8", "f32", "f32", "f32")), judge)
    whole = deviation_of(opened, mixed_plan(plan, ("int8",) * 4), judge)

    assert (half.precision, whole.precision) == ("int8+f32", "int8")
    assert half.error > 0
    assert half.error != whole.error
    assert whole.error == opened.variants.offered[0].error


def test_if_no_mixture_is_admitted_the_plan_is_made_again_in_f32(net: str, frames: Path) -> None:
    opened = opened_in(net, wish(frames, max_error=1.0))
    assert opened.variants.judge is not None
    allowed = msgspec.structs.replace(opened.variants.judge.allowed, max_error=1e-9)
    strict = replace(opened.variants, judge=replace(opened.variants.judge, allowed=allowed))
    opened = replace(opened, variants=strict)
    plain = plan_network(net, stages=1, runtimes=["onnxruntime"])
    mixture = mixed_plan(plain, ("int8",) * 4)
    profile = profile_network(net, runtimes=["onnxruntime"]).value
    profile = msgspec.structs.replace(profile, variants=dict(opened.variants.keys))
    timed = msgspec.structs.replace(profile.segments[0], precision="int8")
    profile = msgspec.structs.replace(profile, segments=(*profile.segments, timed))

    def decide_by(times: Profile) -> tuple[Plan, ...]:
        lower = any(one.precision == "int8" for one in times.segments)
        return (mixture if lower else plain,)

    assert admitted(opened, [mixture]) == ()
    (plan,) = decide_admitted(opened, profile, decide_by)
    assert {part.precision for part in parts_of(plan)} == {"f32"}
    assert plan.lowering is not None
    assert plan.lowering.deviation is None


def test_a_network_is_converted_once_for_the_same_frames(
    net: str, frames: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = wish(frames, max_error=1.0)
    first = opened_in(net, asked).variants

    def convert(*_: object, **__: object) -> bytes:
        raise AssertionError("it was kept")

    monkeypatch.setattr("evener.runtime.lower.quantise", convert)
    second = opened_in(net, asked).variants

    assert second.keys == first.keys
    assert whole_model(second.networks["int8"]) == whole_model(first.networks["int8"])


def planned_in_int8(net: str, frames: Path, folder: Path) -> Path:
    asked = wish(frames, max_error=1.0)
    opened = opened_in(net, asked)
    plain = plan_network(net, stages=1, runtimes=["onnxruntime"])
    (plan,) = admitted(opened, [mixed_plan(plain, ("int8",) * 4)])
    save(folder / "plan.json", plan)
    return folder / "plan.json"


def test_a_plan_in_int8_takes_the_network_again_from_the_same_frames(
    net: str, frames: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = planned_in_int8(net, frames, tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))

    with pytest.raises(InputError, match=r"that network \(.*\) is not kept on this machine"):
        run_network(net, frames=4, plan=path)
    with pytest.raises(InputError, match="the plan computes in another int8 network than these"):
        run_network(net, frames=4, plan=path, precision=wish(other_frames(tmp_path), max_error=1.0))
    assert run_network(net, frames=4, plan=path, precision=wish(frames, max_error=1.0)).holds


def test_a_plan_in_int8_is_no_plan_for_a_network_in_f32(
    net: str, frames: Path, tmp_path: Path
) -> None:
    plan = load(planned_in_int8(net, frames, tmp_path), Plan).value
    opened = open_network(net)

    with pytest.raises(InputError, match=r"computes in int8 \(.*\), to which dense is not"):
        check_plan(plan, opened)
    assert check_plan(plan, with_precisions_of(opened, plan, None)) is plan


def test_what_runs_in_int8_is_set_beside_a_comparison_with_its_error(
    net: str, frames: Path
) -> None:
    opened = opened_in(net, wish(frames, max_error=1.0))
    plain = plan_network(net, stages=1, runtimes=["onnxruntime"])
    profile = profile_network(net, runtimes=["onnxruntime"]).value

    lower = lower_rivals(opened, mixed_plan(plain, ("int8",) * 4), profile)

    (name,) = lower.plans
    assert name.endswith(" in int8")
    assert 0 < lower.plans[name][1].error < 1.0
    assert list(lower.entrants) == [name]


def test_a_network_that_cannot_be_converted_is_left_out_by_auto_only(
    net: str, frames: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> bytes:
        raise RuntimeFailedError("onnxruntime cannot convert it", runtime="onnxruntime")

    monkeypatch.setattr("evener.runtime.lower.quantise", fail)

    with pytest.raises(InputError, match="cannot convert it; leave --precision int8 out"):
        opened_in(net, wish(frames, max_error=1.0))
    variants = opened_in(net, wish(frames, "auto", max_error=1.0)).variants

    assert list(variants.networks) == ["fp16"]
    assert "int8 is left out: onnxruntime cannot convert it" in caplog.text
