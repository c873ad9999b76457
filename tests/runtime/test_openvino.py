"""Networks in OpenVINO, on one core or all."""

import pytest

from evener.artifacts.processors import Processor
from evener.errors import RuntimeFailedError
from evener.runtime import pinning
from evener.runtime.session import Runtime
from evener.testing import tiny
from evener.testing.session_contract import CORE, SessionContract

pytest.importorskip("openvino")
from evener.runtime.openvino import OpenVino


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
