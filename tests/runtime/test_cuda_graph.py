"""Networks as CUDA graphs, with stand-ins for the few calls that need a GPU."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import MethodType, SimpleNamespace
from weakref import WeakMethod

import numpy as np
import pytest

from evener.errors import RuntimeFailedError
from evener.runtime import lower, pytorch, trial
from evener.runtime.session import Runtime
from evener.testing import tiny
from evener.testing.session_contract import AnswerContract, answer

pytest.importorskip("torch", reason="the extra 'pytorch' is not installed")
pytest.importorskip("onnx2fx", reason="the extra 'pytorch' is not installed")
import torch

from evener.runtime import cuda_graph


class Replayed:
    """Stands in for a graph: computes with what is in its inputs, and writes where it wrote.

    Like a graph it does not keep the weights alive.
    """

    def __init__(
        self, compute: MethodType, inputs: Sequence[torch.Tensor], results: Sequence[torch.Tensor]
    ) -> None:
        self.compute = WeakMethod(compute)
        self.inputs, self.results = inputs, results
        self.kept = True

    def replay(self) -> None:
        compute = self.compute()
        assert compute is not None, "the weights are gone"
        for result, new in zip(self.results, compute(*self.inputs), strict=True):
            result.copy_(new)

    def reset(self) -> None:
        self.kept = False


class Stream:
    """Stands in for a stream."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def synchronize(self) -> None:
        """Nothing is under way."""


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Let the CPU stand in for a GPU."""
    made = SimpleNamespace(graphs=[], emptied=0)

    def captured(
        compute: MethodType, inputs: Sequence[torch.Tensor], _: Stream
    ) -> tuple[Replayed, Sequence[torch.Tensor]]:
        results = [result.clone() for result in compute(*inputs)]
        graph = Replayed(compute, inputs, results)
        made.graphs.append(graph)
        return graph, results

    def empty_cache() -> None:
        made.emptied += 1

    monkeypatch.setattr(cuda_graph, "_captured", captured)
    monkeypatch.setattr(cuda_graph, "_device", lambda _: torch.device("cpu"))
    monkeypatch.setattr(cuda_graph, "_pinned", lambda tensor: tensor)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda _: nullcontext())
    monkeypatch.setattr(torch.cuda, "empty_cache", empty_cache)
    monkeypatch.setattr(pytorch, "device_number", lambda *_: 0)
    return made


class TestPyTorchOnAStandIn(AnswerContract):
    cores = ()
    processor = "gpu0"

    @pytest.fixture
    def runtime(self, gpu: SimpleNamespace) -> Runtime:
        del gpu
        return pytorch.PyTorch()


def test_half_precision_is_tried_within_its_own_tolerance(gpu: SimpleNamespace) -> None:
    del gpu
    model = lower.halve(tiny.unet())
    (frame,) = tiny.frames(1, shape=(1, 2, 16, 16))

    session = pytorch.PyTorch().open(model, cores=(), processor="gpu0", precision="fp16")

    (found,), (right,) = answer(session, frame), trial.reference(tiny.unet(), frame)
    error = np.abs(found - right).max() / np.abs(right).max()
    assert 1e-4 < error < pytorch.TOLERANCES["fp16"]


def test_the_weights_live_as_long_as_the_session(gpu: SimpleNamespace) -> None:
    session = cuda_graph.open_on_gpu(tiny.dense(), 0, tolerance=1e-4)

    gc.collect()

    assert gpu.graphs[0].compute() is not None
    assert np.isfinite(answer(session, tiny.frames(1)[0])[0]).all()


def test_closing_gives_back_the_graph_and_its_memory(gpu: SimpleNamespace) -> None:
    session = cuda_graph.open_on_gpu(tiny.dense(), 0, tolerance=1e-4)
    answer(session, tiny.frames(1)[0])
    (graph,) = gpu.graphs
    weights = graph.compute().__self__
    assert (graph.kept, gpu.emptied) == (True, 0)

    session.close()
    session.close()

    assert (graph.kept, gpu.emptied) == (False, 1)
    assert {one.device.type for one in weights.buffers()} == {"meta"}


def test_answers_that_are_off_close_the_session(gpu: SimpleNamespace) -> None:
    with pytest.raises(RuntimeFailedError, match="'y' is .* and 1e-12 is allowed"):
        cuda_graph.open_on_gpu(tiny.unet(), 0, tolerance=1e-12)

    assert not gpu.graphs[0].kept


def test_what_cannot_be_captured_is_refused_with_the_reason(
    gpu: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    del gpu

    def captured(*_: object) -> None:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(cuda_graph, "_captured", captured)

    with pytest.raises(
        RuntimeFailedError, match="cannot capture the network as a CUDA graph: operation not"
    ):
        cuda_graph.open_on_gpu(tiny.dense(), 0, tolerance=1e-4)


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the calls that a capture is made of, and note their order."""
    noted: list[str] = []

    @contextmanager
    def within(name: str) -> Iterator[None]:
        noted.append(f"{name} begins")
        yield
        noted.append(f"{name} ends")

    monkeypatch.setattr(torch.cuda, "CUDAGraph", SimpleNamespace)
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: noted.append("all is done"))
    monkeypatch.setattr(torch.cuda, "stream", lambda _: within("stream"))
    monkeypatch.setattr(
        torch.cuda, "graph", lambda *_, **how: within(f"{how['capture_error_mode']} capture")
    )
    return noted


def test_a_capture_follows_warm_ups_on_the_same_stream(events: list[str]) -> None:
    chosen = torch.backends.cudnn.benchmark

    def compute(x: torch.Tensor) -> list[torch.Tensor]:
        assert torch.backends.cudnn.benchmark
        assert not torch.is_grad_enabled()
        events.append("computes")
        return [x + 1]

    stream = Stream(torch.device("cpu"))
    _, (result,) = cuda_graph._captured(compute, [torch.ones(2)], stream)  # type: ignore[arg-type] # a stand-in

    assert result.tolist() == [2, 2]
    assert events == [
        "all is done",
        "stream begins",
        *(["computes"] * 3),
        "stream ends",
        "thread_local capture begins",
        "computes",
        "thread_local capture ends",
    ]
    assert torch.backends.cudnn.benchmark == chosen


def test_a_failing_capture_leaves_the_settings_as_they_were(events: list[str]) -> None:
    def compute(_: torch.Tensor) -> list[torch.Tensor]:
        raise RuntimeError("no kernel")

    with pytest.raises(RuntimeError, match="no kernel"):
        cuda_graph._captured(compute, [torch.ones(2)], Stream(torch.device("cpu")))  # type: ignore[arg-type] # a stand-in

    assert events == ["all is done", "stream begins"]
    assert not torch.backends.cudnn.benchmark
    assert not cuda_graph._CAPTURING.locked()


def test_f32_is_computed_as_f32() -> None:
    cuda_graph.compute_f32_as_f32()

    assert not torch.backends.cuda.matmul.allow_tf32
    assert not torch.backends.cudnn.allow_tf32
