"""NVIDIA GPUs, seen with stand-ins for the driver's library and ONNX Runtime's provider list."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import onnxruntime
import pytest

from evener.errors import RuntimeFailedError
from evener.runtime import cuda
from evener.runtime import onnxruntime as module
from evener.runtime.devices import Device
from evener.runtime.onnxruntime import OnnxRuntime
from evener.testing import tiny


class FakeNvml(ModuleType):
    """The library of a driver that knows two GPUs."""

    class NVMLError(Exception):
        """Its error."""

    def __init__(self, *, driver: bool = True) -> None:
        super().__init__("pynvml")
        self.driver = driver
        self.open = 0

    def nvmlInit(self) -> None:  # noqa: N802 - its name
        if not self.driver:
            raise self.NVMLError("driver not loaded")
        self.open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802 - its name
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802 - its name
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802 - its name
        return index

    def nvmlDeviceGetUUID(self, handle: int) -> str:  # noqa: N802 - its name
        return f"GPU-{handle}f"

    def nvmlDeviceGetName(self, handle: int) -> str:  # noqa: N802 - its name
        return ("NVIDIA A2", "NVIDIA H100 80GB HBM3")[handle]

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> SimpleNamespace:  # noqa: N802 - its name
        return SimpleNamespace(total=(16, 80)[handle] * 2**30)


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    library = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", library)
    monkeypatch.setattr(cuda, "find_spec", lambda _: True)
    monkeypatch.setattr(
        onnxruntime, "get_available_providers", lambda: [cuda.PROVIDER, "CPUExecutionProvider"]
    )
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return library


def test_gpus_have_their_name_and_memory(nvml: FakeNvml) -> None:
    assert OnnxRuntime().devices() == (
        Device("gpu", "NVIDIA A2", memory_bytes=16 * 2**30),
        Device("gpu", "NVIDIA H100 80GB HBM3", memory_bytes=80 * 2**30),
    )
    assert nvml.open == 0


def test_gpus_that_the_environment_hides_are_not_there(
    nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-1f")

    assert [gpu.model for gpu in cuda.gpus()] == ["NVIDIA H100 80GB HBM3"]
    assert nvml.open == 0


def test_without_driver_provider_or_package_there_is_none(
    nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvml.driver = False
    assert cuda.gpus() == ()

    nvml.driver = True
    with monkeypatch.context() as patch:
        patch.setattr(cuda, "find_spec", lambda _: None)
        assert cuda.gpus() == ()

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    assert cuda.gpus() == ()


@pytest.mark.parametrize(
    ("setting", "left"),
    [(None, (0, 1, 2)), ("", ()), ("2,0", (2, 0)), ("0,7,1", (0,)), ("GPU-a", ()), ("GPU-b", (2,))],
)
def test_the_setting_is_read_as_cuda_reads_it(setting: str | None, left: tuple[int, ...]) -> None:
    assert cuda.visible(["GPU-aa", "GPU-ab", "GPU-bb"], setting) == left


def test_a_gpu_that_cannot_be_used_is_pointed_out(tmp_path: Path, nvml: FakeNvml) -> None:
    assert cuda.missing(tmp_path / "none") == ""
    (tmp_path / "0000:01:00.0").mkdir()
    assert cuda.missing(tmp_path) == ""

    nvml.driver = False
    assert "sees 1 NVIDIA GPU, but this ONNX Runtime cannot list them; see" in cuda.missing(
        tmp_path
    )


def test_a_build_without_the_provider_is_pointed_out(tmp_path: Path) -> None:
    (tmp_path / "0000:01:00.0").mkdir()
    (tmp_path / "0000:02:00.0").mkdir()

    assert cuda.missing(tmp_path) == (
        "the driver sees 2 NVIDIA GPUs, but this ONNX Runtime has no CUDA provider; replace it: "
        "pip uninstall onnxruntime, then pip install 'evener[gpu]'"
    )


def test_a_session_without_the_provider_is_refused() -> None:
    native = SimpleNamespace(get_providers=lambda: ["CPUExecutionProvider"])

    with pytest.raises(
        RuntimeFailedError, match="CUDAExecutionProvider and would compute with CPUEx"
    ):
        cuda.check_used(native, runtime="onnxruntime")


def test_f32_is_computed_as_f32_on_one_gpu_and_nowhere_else() -> None:
    options = cuda.options(onnxruntime.SessionOptions())

    assert options.get_session_config_entry("session.disable_cpu_ep_fallback") == "1"
    assert cuda.provider(1) == (cuda.PROVIDER, {"device_id": "1", "use_tf32": "0"})


@pytest.mark.skipif(
    cuda.PROVIDER in onnxruntime.get_available_providers(), reason="this build has the provider"
)
def test_a_build_without_the_provider_opens_no_session_on_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "device_number", lambda *_: 0)

    with (
        pytest.warns(UserWarning, match="not in available provider names"),
        pytest.raises(RuntimeFailedError, match="fallback to CPU EP has been explicitly disabled"),
    ):
        OnnxRuntime().open(tiny.dense(), cores=(), processor="gpu0")


def test_cuda_and_cudnn_are_loaded_once_before_the_first_session(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    events = []

    def preload_dlls(*, directory: str) -> None:
        events.append(f"preload '{directory}'")
        print("Failed to load libcudart.so.13: no such file")  # noqa: T201 - as it does

    def native(*_: object) -> SimpleNamespace:
        events.append("session")
        return SimpleNamespace(get_providers=lambda: ["Other"])

    monkeypatch.setattr(onnxruntime, "preload_dlls", preload_dlls)
    monkeypatch.setattr(module, "device_number", lambda *_: 0)
    monkeypatch.setattr(module, "_native", native)
    cuda.preload.cache_clear()

    with caplog.at_level("INFO"):
        for _ in range(2):
            with pytest.raises(RuntimeFailedError, match="would compute with Other"):
                OnnxRuntime().open(tiny.dense(), cores=(), processor="gpu0")
    cuda.preload.cache_clear()

    assert events == ["preload ''", "session", "session"]
    assert "libcudart.so.13" in caplog.text
    assert capsys.readouterr().out == ""


def test_preloading_is_harmless_where_there_is_no_cuda() -> None:
    cuda.preload.cache_clear()
    cuda.preload(runtime="onnxruntime")


def test_an_onnx_runtime_that_cannot_preload_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(onnxruntime, "preload_dlls")
    cuda.preload.cache_clear()

    with pytest.raises(RuntimeFailedError, match="cannot load CUDA and cuDNN: .*preload_dlls"):
        cuda.preload(runtime="onnxruntime")


def test_branches_at_once_are_for_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "device_number", lambda *_: 0)

    with pytest.raises(RuntimeFailedError, match="on cores only; plan gpu0 with sequential"):
        OnnxRuntime().open(tiny.dense(), cores=(), processor="gpu0", execution="parallel")
