"""A network is opened with only the processors and runtimes that may be used."""

from collections.abc import Callable
from typing import Any

import pytest
from onnx import helper

from evener import runtime
from evener.artifacts.processors import Machine, Processor
from evener.errors import InputError
from evener.runtime.devices import Device, merge
from evener.testing import tiny
from evener.workflow import opened
from evener.workflow.opened import restrict
from evener.workflow.opening import open_network

MACHINE = Machine(
    host="board",
    system="Linux",
    processors=(
        Processor(name="cpu0", kind="cpu", cores=(4, 5)),
        Processor(name="cpu1", kind="cpu", cores=(0, 1)),
    ),
    runtimes={},
)


def test_named_processors_are_kept_in_the_order_of_the_machine() -> None:
    assert [one.name for one in restrict(MACHINE, ["cpu1", "cpu0"]).processors] == ["cpu0", "cpu1"]
    assert [one.name for one in restrict(MACHINE, ["cpu1"]).processors] == ["cpu1"]
    assert restrict(MACHINE, None) == MACHINE


@pytest.mark.parametrize("names", [["gpu7"], ["cpu0", "gpu7"], []])
def test_an_unknown_processor_is_refused_with_the_known_ones(names: list[str]) -> None:
    with pytest.raises(InputError, match="it has cpu0, cpu1: see evener processors"):
        restrict(MACHINE, names)


def test_only_runtimes_that_stay_equal_are_used_at_the_extended_level(net: str) -> None:
    found = open_network(net, optimisation="extended")

    assert list(found.runtimes) == ["onnxruntime"]
    assert {name for one in found.machine.processors for name in one.runtimes} == {"onnxruntime"}


def test_devices_round_in_their_own_way_and_are_left_out_at_the_extended_level(
    net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = Device("gpu", "NVIDIA A2")
    monkeypatch.setattr(runtime, "devices", lambda: merge({"onnxruntime": [gpu]}))

    def kinds(**how: Any) -> list[str]:  # noqa: ANN401 - keywords of open_network
        return [one.kind for one in open_network(net, **how).machine.processors]

    assert "gpu" in kinds()
    assert "gpu" not in kinds(optimisation="extended")
    assert "gpu" in kinds(optimisation="extended", runtimes=["onnxruntime"])


def test_what_is_not_used_is_told_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    software = merge({"ncnn": [Device("gpu", "llvmpipe", software=True)]})
    monkeypatch.setattr(opened, "devices", lambda: software)
    monkeypatch.setattr(opened, "missing", lambda: {"openvino": "install it"})

    absent = opened.find_absent()

    assert absent["openvino"] == "install it"
    assert "llvmpipe is software that computes on the CPU" in absent["gpu0"]
    monkeypatch.setenv("EVENER_SOFTWARE_GPU", "1")
    assert list(opened.find_absent()) == ["openvino"]


def test_a_named_runtime_is_used_alone(net: str) -> None:
    assert list(open_network(net, runtimes=["onnxruntime"]).runtimes) == ["onnxruntime"]


@pytest.mark.parametrize(
    ("names", "message"),
    [(["tensorflow"], "no runtime is called 'tensorflow'"), ([], "no runtime is named")],
)
def test_an_unknown_runtime_is_refused(net: str, names: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_network(net, runtimes=names)


def test_a_shape_beyond_the_memory_is_refused(write: Callable[[str, bytes], str]) -> None:
    relu = helper.make_node("Relu", ["x"], ["y"])
    net = write(
        "open.onnx",
        tiny.network(
            [relu],
            inputs=[tiny.floats("x", "n", 1024)],
            outputs=[tiny.floats("y", "n", 1024)],
        ),
    )

    with pytest.raises(InputError, match=r"one frame of open takes .* GB with its answer"):
        open_network(net, shapes={"x": (10**9, 1024)})
