"""Which runtimes there are."""

import pytest

from evener import runtime
from evener.errors import InputError, MissingExtraError


def test_the_default_comes_first() -> None:
    assert next(iter(runtime.installed())) == "onnxruntime"


def test_every_installed_runtime_goes_by_its_key() -> None:
    assert all(name == one.name for name, one in runtime.installed().items())


def test_an_unknown_name_is_refused_and_the_known_ones_named() -> None:
    with pytest.raises(InputError, match="'tvm'; known ones: onnxruntime, openvino, ncnn"):
        runtime.get_runtime("tvm")


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "find_spec", lambda _: None)

    assert runtime.installed() == {}
    with pytest.raises(MissingExtraError, match=r"evener\[openvino\]'$"):
        runtime.get_runtime("openvino")
    with pytest.raises(MissingExtraError, match=r"ncnn\]', then pip install --no-deps pnnx"):
        runtime.get_runtime("ncnn")
    assert list(runtime.missing()) == ["onnxruntime", "openvino", "ncnn"]


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


def test_a_device_that_a_runtime_does_not_see_is_refused() -> None:
    with pytest.raises(InputError, match="openvino sees no device npu7 on this machine; it sees"):
        runtime.device_number("openvino", "npu7")
