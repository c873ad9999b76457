"""Networks in OpenVINO, on one core or all."""

import subprocess
import sys
from typing import ClassVar

import pytest

from evener.artifacts.processors import Processor
from evener.errors import RuntimeFailedError
from evener.runtime import pinning
from evener.runtime.devices import Device
from evener.runtime.session import Runtime
from evener.testing import tiny
from evener.testing.session_contract import CORE, AnswerContract, SessionContract

pytest.importorskip("openvino")

from evener.runtime import openvino as module
from evener.runtime.openvino import OpenVino, shared_core


class TestOpenVino(SessionContract):
    @pytest.fixture
    def runtime(self) -> Runtime:
        return OpenVino()


def test_it_runs_on_cpus_only() -> None:
    assert OpenVino().supports(Processor(name="cpu0", kind="cpu"))
    assert not OpenVino().supports(Processor(name="npu0", kind="npu"))


def test_a_caller_that_is_not_pinned_is_told_to_pin_itself() -> None:
    if len(pinning.PROCESS_CORES) < 2:
        pytest.skip("on one core every thread is pinned")

    with pytest.raises(RuntimeFailedError, match=r"inside evener.runtime.pinning.pinned"):
        OpenVino().open(tiny.dense(), cores=(CORE,))


def test_some_cores_of_many_are_refused_because_it_cannot_be_kept_on_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pinning, "PROCESS_CORES", frozenset({0, 1, 2, 3}))

    with pytest.raises(RuntimeFailedError, match=r"cannot be kept on cores 0, 1: .*all of this"):
        OpenVino().open(tiny.dense(), cores=(0, 1))


class FakeCore:
    """OpenVINO with two GPUs and an NPU; what is compiled for those runs on the CPU."""

    available_devices = ("CPU", "GPU.0", "GPU.1", "NPU")
    asked: ClassVar[list[tuple[str, dict[str, object]]]] = []

    def __init__(self) -> None:
        self._real = shared_core()

    def get_property(self, device: str, name: str) -> str:
        return f"{name} of {device}"

    def read_model(self, model: bytes) -> object:
        return self._real.read_model(model)

    def compile_model(self, model: object, device: str, settings: dict[str, object]) -> object:
        self.asked.append((device, settings))
        return self._real.compile_model(model, "CPU", settings)


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "shared_core", FakeCore)
    monkeypatch.setattr(module, "device_number", lambda _, name: ("gpu0", "gpu1").index(name))
    FakeCore.asked.clear()


@pytest.mark.usefixtures("gpus")
def test_gpus_are_seen_and_npus_are_not() -> None:
    assert OpenVino().devices() == (
        Device("gpu", "FULL_DEVICE_NAME of GPU.0"),
        Device("gpu", "FULL_DEVICE_NAME of GPU.1"),
    )


@pytest.mark.usefixtures("gpus")
def test_a_gpu_is_told_to_compute_in_f32() -> None:
    OpenVino().open(tiny.dense(), cores=(), processor="gpu1").close()

    assert FakeCore.asked == [("GPU.1", {"INFERENCE_PRECISION_HINT": "f32"})]


@pytest.mark.usefixtures("gpus")
class TestOpenVinoOnAGpu(AnswerContract):
    cores = ()
    processor = "gpu0"

    @pytest.fixture
    def runtime(self) -> Runtime:
        return OpenVino()


def test_ctrl_c_is_survived_after_it_ran() -> None:
    program = (
        "import os, signal\n"
        "from evener.runtime.openvino import OpenVino\n"
        "from evener.runtime.pinning import pinned\n"
        "from evener.testing import tiny\n"
        f"with pinned(({CORE},)):\n"
        f"    sessions = [OpenVino().open(tiny.dense(), cores=({CORE},)) for _ in range(3)]\n"
        "while sessions:\n"
        "    sessions.pop(0).close()\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )

    ended = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ended.returncode, ended.stdout) == (0, "interrupted\n"), ended.stderr


def test_openvino_is_not_asked_for_fewer_bits() -> None:
    with pinning.pinned((CORE,)), pytest.raises(RuntimeFailedError, match="int8"):
        OpenVino().open(tiny.dense(), cores=(CORE,), precision="int8")
