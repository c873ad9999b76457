"""Plans whose stages are computed by different runtimes, on cores and on a GPU."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from evener.artifacts.plan import Plan
from evener.artifacts.tensor import Tensor
from evener.errors import InputError
from evener.run.pipeline import Pipeline
from evener.runtime import devices, installed, missing, pinning
from evener.runtime.onnxruntime import OnnxRuntime
from evener.runtime.session import Array
from evener.testing import plans, tiny
from evener.testing.session_contract import CORE, answer

TOLERANCE = 1e-4
SOFTWARE = next((one.name for one in devices() if one.device.software), "")
NAMES = ["x", "h1", "h2", "y"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def segments(first: int, last: int) -> bytes:
    return tiny.dense_between(NAMES, first=first, last=last)


def mixed(*runtimes: str, gpu: str = "") -> Plan:
    """Plan three blocks, a stage each; the last one on a GPU if one is named."""
    plan = plans.chain(*((1, [(CORE,)]) for _ in runtimes))
    stages = []
    for number, (stage, runtime) in enumerate(zip(plan.stages, runtimes, strict=True)):
        (lane,) = stage.lanes
        parts = tuple(msgspec.structs.replace(part, runtime=runtime) for part in lane.parts)
        device = gpu and number == len(runtimes) - 1
        place = {"processor": gpu, "cores": ()} if device else {}
        lane = msgspec.structs.replace(lane, parts=parts, **place)
        stages.append(msgspec.structs.replace(stage, lanes=(lane,)))
    return plans.of_stages(*stages)


def answers(plan: Plan, frames: list[tuple[Array]]) -> list[Array]:
    found: list[Array] = []
    x = Tensor(name="x", shape=(2, tiny.WIDTH), dtype="float32")
    with Pipeline(plan, segments, inputs=[x], runtimes=installed()) as pipeline:
        pipeline.run(frames, lambda _, outputs: found.append(outputs[0].copy()))
    return found


@pytest.mark.parametrize(
    ("runtimes", "gpu"),
    [
        (("onnxruntime", "openvino", "onnxruntime"), ""),
        (("ncnn", "onnxruntime", "openvino"), ""),
        (("openvino", "ncnn", "ncnn"), ""),
        (("pytorch", "onnxruntime", "pytorch"), ""),
        (("onnxruntime", "openvino", "ncnn"), SOFTWARE or "gpu0"),
    ],
    ids=["openvino", "ncnn first", "ncnn twice", "pytorch twice", "vulkan"],
)
def test_a_plan_of_several_runtimes_answers_as_the_whole(
    runtimes: tuple[str, ...], gpu: str
) -> None:
    absent = missing()
    for name in set(runtimes) & set(absent):
        pytest.skip(absent[name])
    if gpu and not SOFTWARE:
        pytest.skip("no software Vulkan device: apt install mesa-vulkan-drivers")
    frames = tiny.frames(20)

    found = answers(mixed(*runtimes, gpu=gpu), frames)

    with pinning.pinned((CORE,)):
        whole = OnnxRuntime().open(segments(0, 2), cores=(CORE,))
        expected = [answer(whole, frame)[0] for frame in frames]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert np.abs(one - other).max() <= TOLERANCE * np.abs(other).max()


def test_a_stage_on_a_gpu_that_is_not_here_is_refused() -> None:
    with pytest.raises(InputError, match="openvino sees no device gpu9 on this machine"):
        answers(mixed("onnxruntime", "onnxruntime", "openvino", gpu="gpu9"), [])
