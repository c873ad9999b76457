"""Networks in PyTorch, on chosen cores and on GPUs."""

import threading
from itertools import pairwise
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evener.artifacts.processors import Processor
from evener.errors import InputError, RuntimeFailedError
from evener.network.blocks import cut_into_blocks
from evener.network.frames import random_frames
from evener.network.model import load_network
from evener.network.split import segment_model
from evener.runtime import devices, pinning, pytorch, trial
from evener.runtime.devices import Device
from evener.runtime.onnxruntime import OnnxRuntime
from evener.runtime.pytorch import PyTorch
from evener.runtime.session import Runtime
from evener.testing import tiny
from evener.testing.session_contract import CORE, AnswerContract, SessionContract, answer

pytest.importorskip("torch", reason="the extra 'pytorch' is not installed")
pytest.importorskip("onnx2fx", reason="the extra 'pytorch' is not installed")
import torch

from evener.runtime import cuda_graph, onnx2fx, torch_session

ALL = tuple(sorted(pinning.PROCESS_CORES))
GPU = next((one.name for one in devices() if "pytorch" in one.numbers), "")
TOLERANCE = pytorch.TOLERANCES["f32"]
needs_two_cores = pytest.mark.skipif(len(ALL) < 2, reason="needs two cores")
needs_gpu = pytest.mark.skipif(not GPU, reason="PyTorch sees no NVIDIA GPU")


class TestPyTorch(SessionContract):
    @pytest.fixture
    def runtime(self) -> Runtime:
        return PyTorch()


@needs_gpu
class TestPyTorchOnGpu(AnswerContract):
    cores = ()
    processor = GPU

    @pytest.fixture
    def runtime(self) -> Runtime:
        return PyTorch()


@pytest.mark.parametrize("place", [pytest.param("", id="core"), pytest.param(GPU, marks=needs_gpu)])
@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_segments_of_networks_answer_as_in_onnx_runtime(name: str, place: str) -> None:
    network = load_network(name)
    blocks = cut_into_blocks(network, "paper")
    ends = [round(part * len(blocks.blocks) / 3) for part in range(4)]
    cores = () if place else (CORE,)

    for first, end in pairwise(ends):
        model = segment_model(network, blocks, first, end - 1)
        with pinning.pinned((CORE,)):
            reference = OnnxRuntime().open(model, cores=(CORE,))
            (frame,) = random_frames(reference.inputs, 1, seed=5)
            session = PyTorch().open(model, cores=cores, processor=place)
            found, right = answer(session, frame), answer(reference, frame)

        assert session.outputs == reference.outputs
        for one, other in zip(found, right, strict=True):
            assert 0 < np.abs(one - other).max() <= TOLERANCE * np.abs(other).max()


def test_other_answers_than_onnx_runtimes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(pytorch.TOLERANCES, "f32", 1e-12)

    with (
        pinning.pinned((CORE,)),
        pytest.raises(RuntimeFailedError, match=r"'y' is \de-.* of the largest value off"),
    ):
        PyTorch().open(tiny.unet(), cores=(CORE,))


@needs_two_cores
def test_two_sessions_of_a_thread_take_turns_on_their_own_cores() -> None:
    (frame,) = tiny.frames(1, shape=(1, 2, 64, 64))
    model = tiny.unet(size=64)
    with pinning.pinned(ALL[:2]):
        before = pinning.threads()
        both = PyTorch().open(model, cores=ALL[:2])
        (helper,) = pinning.threads() - before
        assert pinning.thread_cores(helper) == set(ALL[:2])
        with pinning.pinned((CORE,)):
            one = PyTorch().open(model, cores=(CORE,))
        counts, answers = [], []
        for session in (both, one, both):
            answers.append(answer(session, frame)[0])
            counts.append(torch.get_num_threads())
        both.close()
        one.close()

    assert counts == [2, 1, 2]
    for found in answers:
        np.testing.assert_allclose(found, answers[0], rtol=0, atol=1e-5)


@needs_two_cores
def test_a_session_on_one_core_stays_alone_beside_one_on_two_in_another_thread() -> None:
    (frame,) = tiny.frames(1, shape=(1, 2, 64, 64))
    model = tiny.unet(size=64)
    opened, ran = threading.Event(), threading.Event()
    counts = []

    def on_two() -> None:
        opened.wait(30)
        with pinning.pinned(ALL[:2]):
            session = PyTorch().open(model, cores=ALL[:2])
            answer(session, frame)
            counts.append(torch.get_num_threads())
            ran.set()
            session.close()

    other = threading.Thread(target=on_two)
    other.start()
    with pinning.pinned((CORE,)):
        session = PyTorch().open(model, cores=(CORE,))
        opened.set()
        ran.wait(30)
        answer(session, frame)
        counts.append(torch.get_num_threads())
        session.close()
    other.join()

    assert counts == [2, 1]


@needs_two_cores
def test_a_closed_session_gives_back_the_threads_that_there_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch_session, "_THREADS", 2)  # whatever other tests left when it began
    with pinning.pinned((CORE,)):
        session = PyTorch().open(tiny.dense(), cores=(CORE,))
        during = torch.get_num_threads()
        session.close()

    assert during == 1
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(
    ("module", "name"), [(trial, "reference"), (torch_session, "OnCores"), (trial, "check")]
)
def test_what_fails_on_the_way_gives_back_the_weights(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str
) -> None:
    made = []

    def traced(*args: Any) -> onnx2fx.Traced:  # noqa: ANN401 - handed on
        made.append(onnx2fx.traced(*args))
        return made[-1]

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(torch_session, "traced", traced)
    monkeypatch.setattr(module, name, fail)

    with pinning.pinned((CORE,)), pytest.raises(KeyboardInterrupt):
        PyTorch().open(tiny.dense(), cores=(CORE,))

    assert {one.device.type for one in made[0].graph.buffers()} == {"meta"}


@pytest.fixture
def stubborn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let OpenMP refuse to end its threads."""
    openmp = SimpleNamespace(omp_pause_resource_all=lambda _: -1)
    monkeypatch.setattr(torch_session, "_NATIVE", openmp)


@needs_two_cores
@pytest.mark.usefixtures("stubborn")
def test_threads_that_openmp_does_not_end_are_not_taken_for_moved() -> None:
    with (
        pinning.pinned(ALL[:2]),
        pytest.raises(
            RuntimeFailedError,
            match="cannot move its threads to other cores: omp_pause_resource_all of OpenMP "
            "returned -1, not 0; give it one core",
        ),
    ):
        PyTorch().open(tiny.dense(), cores=ALL[:2])


@needs_two_cores
def test_a_session_whose_threads_do_not_end_is_closed_nevertheless(
    request: pytest.FixtureRequest,
) -> None:
    with pinning.pinned(ALL[:2]):
        session = PyTorch().open(tiny.dense(), cores=ALL[:2])
        request.getfixturevalue("stubborn")
        with pytest.raises(RuntimeFailedError, match="returned -1, not 0"):
            session.close()
        session.close()

    assert torch.get_num_threads() == torch_session._THREADS


def test_half_precision_is_for_gpus() -> None:
    with (
        pinning.pinned((CORE,)),
        pytest.raises(RuntimeFailedError, match="computes in f32, not in 'fp16'"),
    ):
        PyTorch().open(tiny.dense(), cores=(CORE,), precision="fp16")


def test_it_supports_cpus_if_wanted_and_the_gpus_it_sees() -> None:
    cpu = Processor(name="cpu0", kind="cpu")

    assert PyTorch().supports(cpu)
    assert not PyTorch(on_cores=False).supports(cpu)
    assert not PyTorch().supports(Processor(name="gpu9", kind="gpu"))
    with pytest.raises(InputError, match="pytorch sees no device gpu9 on this machine; it sees"):
        PyTorch().open(tiny.dense(), cores=(), processor="gpu9")


def test_gpus_are_seen_as_cuda_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [SimpleNamespace(name=name, total_memory=2**34) for name in ("NVIDIA A2", "NVIDIA L4")]
    monkeypatch.setattr(pytorch, "_has_driver", lambda: True)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(found))
    monkeypatch.setattr(torch.cuda, "get_device_properties", found.__getitem__)

    assert PyTorch().devices() == tuple(
        Device("gpu", one.name, memory_bytes=2**34) for one in found
    )
    monkeypatch.setattr(torch.version, "cuda", None)
    assert PyTorch().devices() == ()


def test_without_a_driver_pytorch_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytorch, "_DRIVER", "libnowhere.so.1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: pytest.fail("asked"))

    assert PyTorch().devices() == ()


def test_a_network_for_a_gpu_goes_there_with_its_number_and_tolerance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[int, float]] = []
    monkeypatch.setattr(pytorch, "device_number", lambda *_: 3)
    monkeypatch.setattr(
        cuda_graph, "open_on_gpu", lambda _, number, *, tolerance: asked.append((number, tolerance))
    )

    for precision in ("f32", "fp16"):
        PyTorch().open(b"", cores=(), processor="gpu3", precision=precision)

    assert asked == [(3, 1e-4), (3, pytorch.TOLERANCES["fp16"])]


def test_pytorch_counts_all_cores_though_a_pinned_thread_imports_it() -> None:
    with pinning.pinned((CORE,)):
        with pytorch._all_cores_counted():
            assert pinning.thread_cores() == pinning.PROCESS_CORES
        assert pinning.thread_cores() == {CORE}
