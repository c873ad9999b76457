"""Networks in ncnn, on chosen cores."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from onnx import TensorProto, helper

from evener.artifacts.processors import Processor
from evener.errors import InputError, RuntimeFailedError
from evener.network.blocks import cut_into_blocks
from evener.network.frames import random_frames
from evener.network.model import load_network
from evener.network.split import segment_model
from evener.runtime import devices, pinning, pnnx
from evener.runtime.onnxruntime import OnnxRuntime
from evener.runtime.session import Array, Runtime
from evener.testing import tiny
from evener.testing.session_contract import CORE, AnswerContract, SessionContract, answer

pytest.importorskip("ncnn", reason="the extra 'ncnn' is not installed")
if not pnnx.program():
    pytest.skip("pnnx is not installed: pip install --no-deps pnnx", allow_module_level=True)
from evener.runtime import ncnn
from evener.runtime.ncnn import TOLERANCE, Ncnn

NO_VULKAN = "no software Vulkan device: apt install mesa-vulkan-drivers"
SOFTWARE = [one for one in devices() if "ncnn" in one.numbers and one.device.software]
ALL = tuple(sorted(pinning.PROCESS_CORES))


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep what is converted for this module only."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


class TestNcnn(SessionContract):
    booleans = False

    @pytest.fixture
    def runtime(self) -> Runtime:
        return Ncnn()


@pytest.mark.skipif(not SOFTWARE, reason=NO_VULKAN)
class TestNcnnOnVulkan(AnswerContract):
    booleans = False
    cores = ()
    processor = SOFTWARE[0].name if SOFTWARE else ""

    @pytest.fixture
    def runtime(self) -> Runtime:
        return Ncnn()


def largest_error(found: list[Array], expected: list[Array]) -> float:
    return max(
        float(np.abs(one - other).max() / np.abs(other).max())
        for one, other in zip(found, expected, strict=True)
    )


def conv(*, images: int = 1, size: int = 7) -> bytes:
    weights = np.random.default_rng(1).normal(size=(4, 3, 3, 3)).astype(np.float32)
    return tiny.network(
        [
            helper.make_node("Relu", ["x"], ["r"]),
            helper.make_node("Conv", ["r", "w"], ["c"], pads=[1] * 4),
            helper.make_node("Relu", ["c"], ["y"]),
        ],
        inputs=[tiny.floats("x", images, 3, 5, size)],
        outputs=[tiny.floats("y", images, 4, 5, size)],
        weights={"w": weights},
    )


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_segments_of_networks_answer_as_in_onnx_runtime(name: str) -> None:
    network = load_network(name)
    blocks = cut_into_blocks(network, "paper")
    ends = [round(part * len(blocks.blocks) / 3) for part in range(4)]

    for first, end in pairwise(ends):
        model = segment_model(network, blocks, first, end - 1)
        with pinning.pinned((CORE,)):
            reference = OnnxRuntime().open(model, cores=(CORE,))
            (frame,) = random_frames(reference.inputs, 1, seed=5)
            session = Ncnn().open(model, cores=(CORE,))
            error = largest_error(answer(session, frame), answer(reference, frame))

        assert session.outputs == reference.outputs
        assert 0 < error <= TOLERANCE


@pytest.mark.skipif(not SOFTWARE, reason=NO_VULKAN)
def test_a_network_answers_on_vulkan_as_in_onnx_runtime() -> None:
    model = tiny.unet()
    (frame,) = tiny.frames(1, shape=(1, 2, 16, 16))

    found = answer(Ncnn().open(model, cores=(), processor=SOFTWARE[0].name), frame)

    with pinning.pinned((CORE,)):
        expected = answer(OnnxRuntime().open(model, cores=(CORE,)), frame)
    assert 0 < largest_error(found, expected) <= TOLERANCE


@pytest.mark.parametrize("images", [1, 2, 3])
def test_images_of_a_batch_each_get_their_answer(images: int) -> None:
    model = conv(images=images)
    (frame,) = tiny.frames(1, shape=(images, 3, 5, 7))

    with pinning.pinned((CORE,)):
        found = answer(Ncnn().open(model, cores=(CORE,)), frame)
        expected = answer(OnnxRuntime().open(model, cores=(CORE,)), frame)

    assert largest_error(found, expected) <= TOLERANCE


def test_layers_that_compute_in_place_leave_the_callers_arrays_alone() -> None:
    (frame,) = tiny.frames(1, shape=(1, 3, 5, 7))
    before = frame[0].copy()

    with pinning.pinned((CORE,)):
        answer(Ncnn().open(conv(), cores=(CORE,)), frame)

    np.testing.assert_array_equal(frame[0], before)


@pytest.mark.skipif(len(ALL) < 2, reason="needs two cores")
def test_two_sessions_of_a_thread_take_turns_on_their_own_cores() -> None:
    other = (ALL[1], ALL[0])
    (frame,) = tiny.frames(1, shape=(1, 3, 5, 7))
    with pinning.pinned(ALL[:2]):
        before = pinning.threads()
        first = Ncnn().open(conv(), cores=ALL[:2])
        with pinning.pinned(other):
            second = Ncnn().open(conv(), cores=other)
            answer(second, frame)
            (helper_thread,) = pinning.threads() - before
            assert pinning.thread_cores(helper_thread) == {ALL[0]}
        answer(first, frame)

        assert pinning.thread_cores(helper_thread) == {ALL[1]}
        first.close()
        second.close()

    assert pinning.threads() == before


def test_the_helpers_of_a_closed_session_are_gone() -> None:
    with pinning.pinned(ALL):
        before = pinning.threads()
        session = Ncnn().open(conv(), cores=ALL)
        session.close()

    assert pinning.threads() == before


def test_it_supports_cpus_and_the_gpus_it_sees() -> None:
    assert Ncnn().supports(Processor(name="cpu0", kind="cpu"))
    assert not Ncnn().supports(Processor(name="gpu9", kind="gpu"))
    assert all(Ncnn().supports(Processor(name=one.name, kind="gpu")) for one in SOFTWARE)


def test_a_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="ncnn sees no device gpu9 on this machine; it sees"):
        Ncnn().open(conv(), cores=(), processor="gpu9")


def test_an_operator_that_ncnn_lacks_is_named() -> None:
    model = tiny.network(
        [helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], pads=[0, 0, 1, 1])],
        inputs=[tiny.floats("x", 1, 3, 6, 6)],
        outputs=[tiny.floats("y", 1, 3, 6, 6)],
    )

    with (
        pinning.pinned((CORE,)),
        pytest.raises(RuntimeFailedError, match="has no layer for AveragePool; run this part"),
    ):
        Ncnn().open(model, cores=(CORE,))


def test_a_tensor_of_integers_is_named() -> None:
    model = tiny.network(
        [helper.make_node("Gather", ["x", "i"], ["y"])],
        inputs=[tiny.floats("x", 4), helper.make_tensor_value_info("i", TensorProto.INT64, [2])],
        outputs=[tiny.floats("y", 2)],
    )

    with (
        pinning.pinned((CORE,)),
        pytest.raises(RuntimeFailedError, match=r"'i' is INT64 \[2\], and it exchanges arrays of"),
    ):
        Ncnn().open(model, cores=(CORE,))


def test_a_network_that_only_hands_on_is_refused() -> None:
    model = tiny.network(
        [helper.make_node("Relu", ["x"], ["unused"])],
        inputs=[tiny.floats("x", 4)],
        outputs=[tiny.floats("x", 4)],
    )

    with pinning.pinned((CORE,)), pytest.raises(RuntimeFailedError, match="computes nothing"):
        Ncnn().open(model, cores=(CORE,))


def test_other_answers_than_onnx_runtimes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ncnn, "TOLERANCE", 1e-12)

    with (
        pinning.pinned((CORE,)),
        pytest.raises(RuntimeFailedError, match=r"'y' is \de-.* of the largest value off"),
    ):
        Ncnn().open(conv(size=9), cores=(CORE,))


def test_a_layer_without_a_shader_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    if not SOFTWARE:
        pytest.skip(NO_VULKAN)
    monkeypatch.setattr(ncnn.NcnnSession, "on_cpu", frozenset({"LSTM"}))

    with pytest.raises(RuntimeFailedError, match="no Vulkan shader for LSTM and would compute"):
        Ncnn().open(conv(), cores=(), processor=SOFTWARE[0].name)


def test_broken_files_of_layers_or_weights_are_refused(cache: Path) -> None:
    model = conv(size=11)
    with pinning.pinned((CORE,)):
        known = set((cache / "evener/ncnn").iterdir())
        Ncnn().open(model, cores=(CORE,))
        (folder,) = set((cache / "evener/ncnn").iterdir()) - known
        (folder / "network.bin").write_bytes(b"")

        with pytest.raises(RuntimeFailedError, match="reading its weights ended with -"):
            Ncnn().open(model, cores=(CORE,))


@pytest.mark.parametrize(("ended", "why"), [(-100, r"-100 \(out of memory\)"), (-1, "-1$")])
def test_a_layer_that_fails_is_reported_with_its_tensor(ended: int, why: str) -> None:
    class Failing:
        def input(self, name: str, array: object) -> int:
            del name, array
            return 0

        def extract(self, _: str) -> tuple[int, None]:
            return ended, None

    with pinning.pinned((CORE,)):
        session = Ncnn().open(conv(), cores=(CORE,))
        (frame,) = tiny.frames(1, shape=(1, 3, 5, 7))
        session._native = SimpleNamespace(create_extractor=Failing)  # type: ignore[attr-defined]

        with pytest.raises(RuntimeFailedError, match=f"in the network: 'y' ended with {why}"):
            answer(session, frame)
