"""The example of a runtime for Rockchip's NPU, against a stand-in for Rockchip's packages."""

import importlib
import importlib.metadata
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import onnxruntime
import pytest

from evener.errors import RuntimeFailedError
from evener.runtime.devices import Device
from evener.runtime.session import Array, Runtime
from evener.testing import tiny
from evener.testing.session_contract import AnswerContract

FOLDER = Path(__file__).parents[2] / "examples/rknn"


class Converter:
    """Converts an ONNX file into itself, and ends as it is told to."""

    ends: ClassVar[dict[str, int]] = {}
    asked: ClassVar[list[str]] = []

    def __init__(self, *, verbose: bool) -> None:
        assert not verbose
        self.model = ""

    def config(self, *, target_platform: str) -> int:
        self.asked.append(target_platform)
        return self.ends.get("config", 0)

    def load_onnx(self, *, model: str) -> int:
        self.model = model
        return self.ends.get("load_onnx", 0)

    def build(self, *, do_quantization: bool) -> int:
        assert not do_quantization
        return self.ends.get("build", 0)

    def export_rknn(self, path: str) -> int:
        shutil.copy(self.model, path)
        return 0

    def release(self) -> None:
        self.asked.append("released")


class Npu:
    """Runs a converted network, on the CPU."""

    NPU_CORE_0, NPU_CORE_1, NPU_CORE_2 = 1, 2, 4
    masks: ClassVar[list[int | None]] = []

    def load_rknn(self, path: str) -> int:
        self.session: Any = onnxruntime.InferenceSession(path)
        return 0

    def init_runtime(self, core_mask: int | None = None) -> int:
        self.masks.append(core_mask)
        return 0

    def inference(self, *, inputs: list[Array], data_format: list[str]) -> list[Array]:
        assert len(data_format) == len(inputs)
        names = [one.name for one in self.session.get_inputs()]
        found: list[Array] = self.session.run(None, dict(zip(names, inputs, strict=True)))
        return found

    def release(self) -> None:
        self.session = None


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    for package, name, what in (("rknn", "RKNN", Converter), ("rknnlite", "RKNNLite", Npu)):
        api = ModuleType(f"{package}.api")
        setattr(api, name, what)
        monkeypatch.setitem(sys.modules, package, ModuleType(package))
        monkeypatch.setitem(sys.modules, f"{package}.api", api)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(FOLDER)
    evener_rknn = importlib.import_module("evener_rknn")

    board = tmp_path / "compatible"
    board.write_text("radxa,rock-5b\0rockchip,rk3588\0")
    monkeypatch.setattr(evener_rknn, "BOARD", board)
    monkeypatch.setattr(evener_rknn, "version", lambda _: "2.3.2")
    monkeypatch.setattr(evener_rknn, "device_number", lambda _, name: int(name[-1]))
    monkeypatch.setattr(Converter, "ends", {})
    Npu.masks.clear()
    Converter.asked.clear()
    yield evener_rknn
    del sys.modules["evener_rknn"]


class TestRknn(AnswerContract):
    cores = ()
    processor = "npu0"
    precision = "f16"
    booleans = False

    @pytest.fixture
    def runtime(self, module: ModuleType) -> Runtime:
        made: Runtime = module.Rknn()
        return made


def test_each_core_of_the_npu_is_a_device(module: ModuleType) -> None:
    assert module.Rknn().devices() == (Device("npu", "RK3588 NPU core"),) * 3


def test_a_machine_without_the_chip_has_no_npu(module: ModuleType) -> None:
    module.BOARD.write_text("brcm,bcm2712\0")
    assert module.Rknn().devices() == ()

    module.BOARD.unlink()
    assert module.Rknn().devices() == ()


def test_a_session_keeps_to_its_core_and_is_converted_for_its_chip_once(module: ModuleType) -> None:
    for name in ("npu2", "npu1"):
        module.Rknn().open(tiny.dense(), cores=(), precision="f16", processor=name).close()

    assert Npu.masks == [Npu.NPU_CORE_2, Npu.NPU_CORE_1]
    assert Converter.asked == ["rk3588", "released"]


def test_a_chip_with_one_core_gets_no_mask(module: ModuleType) -> None:
    module.BOARD.write_text("rockchip,rk3566\0")

    module.Rknn().open(tiny.dense(), cores=(), precision="f16", processor="npu0")

    assert Npu.masks == [None]


@pytest.mark.parametrize(
    ("step", "message"),
    [("load_onnx", "could not read the network: it ended with -1"), ("build", "could not convert")],
)
def test_a_step_that_fails_is_named(module: ModuleType, step: str, message: str) -> None:
    Converter.ends[step] = -1

    with pytest.raises(RuntimeFailedError, match=message):
        module.Rknn().open(tiny.dense(), cores=(), precision="f16", processor="npu0")


def test_it_computes_in_no_other_precision_than_f16(module: ModuleType) -> None:
    with pytest.raises(RuntimeFailedError, match="rknn computes in f16, not in 'f32'"):
        module.Rknn().open(tiny.dense(), cores=(), processor="npu0")


def test_its_package_names_it_to_evener(module: ModuleType) -> None:
    settings = tomllib.loads((FOLDER / "pyproject.toml").read_text())
    (entry,) = settings["project"]["entry-points"]["evener.runtimes"].items()
    point = importlib.metadata.EntryPoint(entry[0], entry[1], "evener.runtimes")

    assert point.load() is module.Rknn
    assert point.name == module.Rknn.name
