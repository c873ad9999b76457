"""Which runtimes there are."""

import pytest

from evener import runtime
from evener.errors import InputError, MissingExtraError


def test_the_default_comes_first() -> None:
    assert next(iter(runtime.installed())) == "onnxruntime"


def test_every_installed_runtime_goes_by_its_key() -> None:
    assert all(name == one.name for name, one in runtime.installed().items())


def test_an_unknown_name_is_refused_and_the_known_ones_named() -> None:
    with pytest.raises(InputError, match="'tvm'; known ones: onnxruntime, openvino"):
        runtime.get_runtime("tvm")


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "find_spec", lambda _: None)

    assert runtime.installed() == {}
    with pytest.raises(MissingExtraError, match=r"evener\[openvino\]"):
        runtime.get_runtime("openvino")
