"""Turn an ONNX network into ncnn's form with the program of the package pnnx, once for each user.

The program takes seconds, so what it made is kept in the user's cache. It reports what it cannot
turn, or skips it with a warning, or makes something else of it: so a converted network is used only
if it answers a frame as ONNX Runtime does, and the answers are kept beside it for whoever opens it.
"""

import hashlib
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import onnx

from evener.artifacts.tensor import Tensor
from evener.errors import RuntimeFailedError
from evener.network.frames import Frame, random_frames
from evener.runtime import kept, refusal, trial
from evener.runtime.session import Array

RUNTIME: Final = "ncnn"
_FORM: Final = 1  # counts up when what is kept changes
_MOST_BYTES: Final = 2 * 2**30
_LIMIT_S: Final = 1800.0  # the largest network tried took 21 s
_AXIS_FROM: Final = 13  # from this opset on Softmax works along one axis
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_READS: Final = re.compile(r"ex\.input\(\"in(\d+)\", .*batch_index=(\d+)\)")
_WRITES: Final = re.compile(r"out\.append\(.*\bout(\d+)\.numpy\(batch_index=(\d+)\)")


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    """How the tensors of a graph map to those of the converted network.

    Attributes:
        inputs: what the graph reads, in its order.
        outputs: what the graph answers, in its order.
        reads: index among the inputs of ncnn's `in0`, `in1` and so on, and the batch axis.
        writes: index among the outputs of ncnn's `out0`, `out1` and so on, and the batch axis.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    reads: tuple[tuple[int, int], ...]
    writes: tuple[tuple[int, int], ...]


class Converted(msgspec.Struct, frozen=True):
    """A network in ncnn's form.

    Attributes:
        folder: holds its files while it is opened.
        ports: its tensors.
    """

    folder: Path
    ports: Ports

    @property
    def param(self) -> Path:
        """The file of its layers."""
        return self.folder / "network.param"

    @property
    def weights(self) -> Path:
        """The file of its weights."""
        return self.folder / "network.bin"

    @property
    def layers(self) -> frozenset[str]:
        """Kinds of its layers."""
        lines = self.param.read_text().splitlines()[2:]
        return frozenset(line.split(maxsplit=1)[0] for line in lines if line)

    @property
    def trial(self) -> Frame:
        """The frame that it is tried with."""
        return random_frames(self.ports.inputs, 1, seed=0)[0]

    @property
    def expected(self) -> list[Array]:
        """What ONNX Runtime answers to that frame."""
        with np.load(self.folder / "expected.npz") as file:
            return [file[name] for name in file.files]


@contextmanager
def converted(model: bytes) -> Iterator[Converted]:
    """Yield a network in ncnn's form, from the cache or newly made.

    Args:
        model: a serialised ONNX model with static shapes.

    Raises:
        RuntimeFailedError: it is no network, exchanges something else than f32, has open shapes, or
            cannot be turned.
    """
    key = hashlib.sha256(f"{_FORM} {version('pnnx')} ".encode() + model).hexdigest()
    with kept.folder(RUNTIME, key, lambda to: _make(model, to), most_bytes=_MOST_BYTES) as folder:
        ports = msgspec.json.decode((folder / "ports.json").read_bytes(), type=Ports)
        yield Converted(folder, ports)


def program() -> Path | None:
    """Return the program that the package pnnx brings; None where it is not installed."""
    found = find_spec("pnnx")
    path = Path(found.origin).parent / "pnnx" if found is not None and found.origin else None
    return path if path is not None and path.is_file() else None


def _make(model: bytes, folder: Path) -> None:
    proto = refusal.translated(
        RUNTIME, "cannot open the network", lambda: onnx.load_from_string(model)
    )
    if not proto.graph.node:
        raise _refused("it computes nothing")
    constants = {one.name for one in proto.graph.initializer}
    inputs = [_tensor(one) for one in proto.graph.input if one.name not in constants]
    outputs = [_tensor(one) for one in proto.graph.output]
    names = [one.name for one in inputs]
    made = [index for index, tensor in enumerate(outputs) if tensor.name not in names]
    if not made:
        raise _refused("it hands on its inputs and computes nothing")
    _keep_outputs(proto, made)
    _name_axes(proto)
    with tempfile.TemporaryDirectory(prefix="evener-pnnx-") as scratch:
        work = Path(scratch)
        (work / "network.onnx").write_bytes(proto.SerializeToString())
        said = _run(work)
        axes = _axes(work / "network_ncnn.py", len(inputs), len(made), said)
        for ending in ("param", "bin"):
            (folder / f"network.{ending}").write_bytes(
                (work / f"network.ncnn.{ending}").read_bytes()
            )
    ports = Ports(
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        reads=tuple(enumerate(axes[0])),
        writes=tuple(zip(made, axes[1], strict=True)),
    )
    (folder / "ports.json").write_bytes(msgspec.json.encode(ports))
    answers = trial.reference(model, random_frames(ports.inputs, 1, seed=0)[0])
    np.savez(folder / "expected.npz", *answers)


def _tensor(value: onnx.ValueInfoProto) -> Tensor:
    described = value.type.tensor_type
    shape = [one.dim_value or one.dim_param or "?" for one in described.shape.dim]
    refusal.check_fixed(RUNTIME, value.name, shape)
    dtype = onnx.TensorProto.DataType.Name(described.elem_type) if described.elem_type else "none"
    if described.elem_type != onnx.TensorProto.FLOAT or not shape:
        raise _refused(f"'{value.name}' is {dtype} {shape}, and it exchanges arrays of FLOAT only")
    return Tensor(name=value.name, shape=tuple(map(int, shape)), dtype="float32")


def _keep_outputs(proto: onnx.ModelProto, made: Sequence[int]) -> None:
    """Drop the outputs that are inputs: pnnx breaks down on them, and sessions pass them on."""
    outputs = [proto.graph.output[index] for index in made]
    del proto.graph.output[:]
    proto.graph.output.extend(outputs)


def _name_axes(proto: onnx.ModelProto) -> None:
    """Name the axis of each old Softmax that works along one, which pnnx takes for the last.

    Before opset 13 it works over all axes from its own on, which is 1 where none is named: along
    one axis if all behind it have the size 1.
    """
    opset = next(one.version for one in proto.opset_import if not one.domain)
    old = [node for node in proto.graph.node if node.op_type in ("Softmax", "LogSoftmax")]
    if opset >= _AXIS_FROM or not old:
        return
    inferred = onnx.shape_inference.infer_shapes(proto).graph
    shapes = {
        one.name: [size.dim_value for size in one.type.tensor_type.shape.dim]
        for one in (*inferred.value_info, *inferred.input, *inferred.output)
    }
    for node in old:
        shape = shapes.get(node.input[0], [])
        named = {one.name: one.i for one in node.attribute}
        axis = named.get("axis", 1) % max(1, len(shape))
        if all(size == 1 for size in shape[axis + 1 :]):
            del node.attribute[:]
            node.attribute.append(onnx.helper.make_attribute("axis", axis))


def _run(work: Path) -> str:
    """Convert `network.onnx` and return what the program said of what it could not turn."""
    path = program()
    if path is None:
        raise _refused("the package pnnx is not installed; pip install --no-deps pnnx")
    try:
        ended = subprocess.run(  # noqa: S603 - the program that the package pnnx brings
            [path, "network.onnx", "fp16=0"],
            cwd=work,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _refused(f"{path} did not end well: {error}") from error
    lines = [_COLOUR.sub("", line).strip() for line in ended.stderr.splitlines()]
    if ended.returncode or not (work / "network.ncnn.param").is_file():
        last = next((line for line in reversed(lines) if line), "it said nothing")
        raise _refused(f"pnnx ended with {ended.returncode}: {last}")
    start = max((i for i, line in enumerate(lines) if line.endswith("pass_ncnn")), default=0)
    facts = ("model inputshape", "FLOPS", "memory OPS")
    return "; ".join(line for line in lines[start + 1 :] if line and not line.startswith(facts))


def _axes(script: Path, inputs: int, outputs: int, said: str) -> tuple[list[int], list[int]]:
    """Read from the example that pnnx writes where the batch axis of each tensor is."""
    text = script.read_text()
    found = [
        [axis for _, axis in sorted((int(n), int(axis)) for n, axis in pattern.findall(text))]
        for pattern in (_READS, _WRITES)
    ]
    if (len(found[0]), len(found[1])) != (inputs, outputs):
        raise _refused(
            f"pnnx made a network of {len(found[0])} inputs and {len(found[1])} outputs from one "
            f"of {inputs} and {outputs} ({said or 'it said nothing'})"
        )
    return found[0], found[1]


def _refused(why: str) -> RuntimeFailedError:
    return RuntimeFailedError(
        f"{RUNTIME} cannot open the network: {why}; run this part with another runtime",
        runtime=RUNTIME,
    )
