"""Which runtimes there are."""

import subprocess
import sys

import pytest

from evener import runtime
from evener.artifacts.processors import Processor
from evener.errors import InputError, MissingExtraError
from evener.runtime.devices import Device, merge
from evener.runtime.pytorch import PyTorch


def test_the_default_comes_first() -> None:
    assert next(iter(runtime.installed())) == "onnxruntime"


def test_every_installed_runtime_goes_by_its_key() -> None:
    assert all(name == one.name for name, one in runtime.installed().items())


def test_an_unknown_name_is_refused_and_the_known_ones_named() -> None:
    with pytest.raises(InputError, match="'tvm'; known ones: onnxruntime, openvino, ncnn, pytorch"):
        runtime.get_runtime("tvm")


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "find_spec", lambda _: None)

    assert runtime.installed() == {}
    with pytest.raises(MissingExtraError, match=r"evener\[openvino\]'$"):
        runtime.get_runtime("openvino")
    with pytest.raises(MissingExtraError, match=r"ncnn\]', then pip install --no-deps pnnx"):
        runtime.get_runtime("ncnn")
    with pytest.raises(MissingExtraError, match=r"evener\[pytorch\]'$"):
        runtime.get_runtime("pytorch")
    assert list(runtime.missing()) == ["onnxruntime", "openvino", "ncnn", "pytorch"]


def test_a_runtime_with_half_of_its_packages_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "find_spec", lambda name: None if name == "pnnx" else object())

    assert "pip install --no-deps pnnx" in runtime.missing()["ncnn"]


def test_a_runtime_that_converts_for_seconds_has_to_be_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    everything = {name: runtime.get_runtime("onnxruntime") for name in ("onnxruntime", "ncnn", "x")}
    monkeypatch.setattr(runtime, "installed", lambda: everything)

    assert list(runtime.usable(None, "all")) == ["onnxruntime", "x"]
    assert list(runtime.usable(None, "extended")) == ["onnxruntime"]


def test_pytorch_takes_part_unnamed_on_gpus_that_it_sees_and_on_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    everything = {
        "onnxruntime": runtime.get_runtime("onnxruntime"),
        "pytorch": PyTorch(),
    }
    cpu, gpu = Processor(name="cpu0", kind="cpu"), Processor(name="gpu0", kind="gpu")
    monkeypatch.setattr(runtime, "installed", lambda: everything)
    monkeypatch.setattr(runtime, "devices", tuple)
    assert list(runtime.usable(None, "all")) == ["onnxruntime"]

    seen = merge({"pytorch": [Device("gpu", "NVIDIA A2")]})
    monkeypatch.setattr(runtime, "devices", lambda: seen)
    found = runtime.usable(None, "all")

    assert list(found) == ["onnxruntime", "pytorch"]
    assert not found["pytorch"].supports(cpu)
    assert found["pytorch"].supports(gpu)
    assert everything["pytorch"].supports(cpu)
    assert list(runtime.usable(None, "extended")) == ["onnxruntime"]


def test_looking_for_runtimes_imports_no_torch() -> None:
    script = (
        "import sys; from evener import runtime; runtime.usable(None, 'all'); "
        "print([name for name in ('torch', 'onnx2fx') if name in sys.modules])"
    )
    if PyTorch().devices():
        pytest.skip("a machine with an NVIDIA GPU asks PyTorch for it")

    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert ended.stdout == "[]\n"


def test_a_device_that_a_runtime_does_not_see_is_refused() -> None:
    with pytest.raises(InputError, match="openvino sees no device npu7 on this machine; it sees"):
        runtime.device_number("openvino", "npu7")
