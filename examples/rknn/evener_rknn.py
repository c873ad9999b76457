"""Run stages on the NPU of a Rockchip board: an example of a runtime in a package of its own.

It was never run on a board. The tests of Evener run it against a stand-in for Rockchip's packages.
"""

from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from rknn.api import RKNN
from rknnlite.api import RKNNLite

from evener.artifacts.processors import Processor
from evener.artifacts.tensor import Tensor
from evener.errors import RuntimeFailedError
from evener.runtime import device_number, kept, refusal, sees
from evener.runtime.binding import Signature
from evener.runtime.devices import Device
from evener.runtime.session import Array, Session

NAME = "rknn"
PRECISIONS = ("f16",)  # what the NPU computes in if it is not told to quantise
CACHE_BYTES = 2**30
CORES = {"rk3562": 1, "rk3566": 1, "rk3568": 1, "rk3576": 2, "rk3588": 3}  # of the NPU
BOARD = Path("/proc/device-tree/compatible")  # such as "radxa,rock-5b", NUL, "rockchip,rk3588", NUL


def chip() -> str:
    """Return the chip of this board, "" if it has no NPU that this module knows."""
    names = BOARD.read_text().split("\0") if BOARD.is_file() else []
    found = (name.removeprefix("rockchip,") for name in names)
    return next((name for name in found if name in CORES), "")


class Rknn:
    """Rockchip's NPU, each of its cores a device of its own."""

    name = NAME

    @property
    def version(self) -> str:
        """Version of the package that runs networks."""
        return version("rknn-toolkit-lite2")

    def supports(self, processor: Processor) -> bool:
        """Whether it is a core of the NPU."""
        return sees(NAME, processor.name)

    def devices(self) -> tuple[Device, ...]:
        """Return the NPU's cores."""
        found = chip()
        return (Device("npu", f"{found.upper()} NPU core"),) * CORES.get(found, 0)

    def open(
        self,
        model: bytes,
        *,
        cores: tuple[int, ...],  # noqa: ARG002 - a device has none
        precision: str = "f32",
        optimisation: str = "all",  # noqa: ARG002 - there is one level
        execution: str = "sequential",
        processor: str = "",
    ) -> Session:
        """Open a network on a core of the NPU; see `evener.runtime.session.Runtime.open`."""
        refusal.check_sequential(NAME, execution)
        refusal.check_precision(NAME, precision, PRECISIONS)
        number = device_number(NAME, processor)
        proto = refusal.translated(
            NAME, "cannot open the network", lambda: onnx.load_from_string(model)
        )
        constants = {one.name for one in proto.graph.initializer}
        inputs = [tensor(one) for one in proto.graph.input if one.name not in constants]
        outputs = [tensor(one) for one in proto.graph.output]
        key = sha256(chip().encode() + version("rknn-toolkit2").encode() + model).hexdigest()
        with kept.folder(
            NAME, key, lambda folder: convert(model, folder), most_bytes=CACHE_BYTES
        ) as folder:
            return RknnSession(folder / "network.rknn", number, inputs, outputs)


class RknnSession:
    """A network on a core of the NPU."""

    def __init__(
        self, file: Path, number: int, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
    ) -> None:
        self._signature = Signature(tuple(inputs), tuple(outputs), runtime=NAME)
        self.inputs, self.outputs = self._signature.inputs, self._signature.outputs
        self._native: Any = RKNNLite()
        mask = (RKNNLite.NPU_CORE_0, RKNNLite.NPU_CORE_1, RKNNLite.NPU_CORE_2)[number]
        check("load the network", self._native.load_rknn(str(file)))
        single = CORES[chip()] == 1  # such a chip wants no mask
        check(
            "open the network",
            self._native.init_runtime(**({} if single else {"core_mask": mask})),
        )

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute one frame; see `evener.runtime.session.Session.run`."""
        if self._native is None:
            raise refusal.unusable(NAME, closed=True)
        self._signature.pointers(inputs, outputs)
        layouts = ["nchw" if array.ndim == 4 else "nhwc" for array in inputs]
        answers = refusal.translated(
            NAME,
            "failed in the network",
            lambda: self._native.inference(inputs=list(inputs), data_format=layouts),
        )
        if answers is None:
            raise RuntimeFailedError(f"{NAME} failed in the network; see its log", runtime=NAME)
        made = [one for one in self.outputs if not self._signature.passes(one)]
        for one, answer in zip(made, answers, strict=True):
            target = outputs[self.outputs.index(one)]
            np.copyto(target, answer.reshape(target.shape))
        self._signature.pass_on(inputs, outputs)

    def close(self) -> None:
        """Give the NPU's memory back; a second call does nothing."""
        if self._native is not None:
            self._native.release()
            self._native = None


def tensor(value: onnx.ValueInfoProto) -> Tensor:
    """Describe what a graph reads or answers; the NPU exchanges floats."""
    described = value.type.tensor_type
    shape = [one.dim_value or one.dim_param for one in described.shape.dim]
    refusal.check_fixed(NAME, value.name, shape)
    if described.elem_type != onnx.TensorProto.FLOAT:
        raise RuntimeFailedError(
            f"'{value.name}' is no float tensor, and {NAME} exchanges no other", runtime=NAME
        )
    return Tensor(name=value.name, shape=tuple(map(int, shape)), dtype="float32")


def convert(model: bytes, folder: Path) -> None:
    """Write a network in the form of the NPU into a folder."""
    proto = onnx.load_from_string(model)
    read = {one.name for one in proto.graph.input}
    made = [one for one in proto.graph.output if one.name not in read]
    del proto.graph.output[:]
    proto.graph.output.extend(made)
    source = folder / "network.onnx"
    source.write_bytes(proto.SerializeToString())
    converter = RKNN(verbose=False)
    try:
        check("set its options", converter.config(target_platform=chip()))
        check("read the network", converter.load_onnx(model=str(source)))
        check("convert the network", converter.build(do_quantization=False))
        check("write the network", converter.export_rknn(str(folder / "network.rknn")))
    finally:
        converter.release()
        source.unlink()


def check(what: str, ended: int | None) -> None:
    """Refuse what Rockchip's packages report as failed."""
    if ended not in (0, None):
        raise RuntimeFailedError(f"{NAME} could not {what}: it ended with {ended}", runtime=NAME)
