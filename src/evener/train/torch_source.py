"""Write a network as plain PyTorch source, which needs Evener no more.

Products and convolutions with weights become modules, other constants buffers, and each node is one
line of `forward`, in the order in which the network computes.
"""

import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from evener.errors import InputError
from evener.network.normalise import normalise
from evener.network.source import decode

Array = NDArray[np.generic]
_ROW: Final = "    "
_ELEMENTWISE: Final[Mapping[str, str]] = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}
_CALLS: Final[Mapping[str, str]] = {
    "Relu": "functional.relu",
    "Tanh": "torch.tanh",
    "Sigmoid": "torch.sigmoid",
}


@dataclass(frozen=True, slots=True, eq=False)
class TorchSource:
    """A network in PyTorch.

    Attributes:
        source: of a module with the class `Network` and the function `load`.
        state: what `Network.load_state_dict` takes, by name.
    """

    source: str
    state: Mapping[str, Array]


def torch_source(content: bytes, *, name: str) -> TorchSource:
    """Return a network as PyTorch source, and its weights.

    Args:
        content: the ONNX file; of one input, one output and operators that training here writes.
        name: what people call it.

    Raises:
        InvalidFileError: it is no ONNX file.
        InputError: an operator, or a use of one, that has no line here.
    """
    model = decode(content, name)
    normalise(model)
    graph = model.graph
    if len(graph.inputs) != 1 or len(graph.outputs) != 1:
        raise InputError(
            f"{name} has {len(graph.inputs)} inputs and {len(graph.outputs)} outputs: only "
            "networks of one input and one output are written as PyTorch"
        )
    writer = _Writer(name)
    writer.name_input(graph.inputs[0])
    for node in graph:
        writer.write(node)
    return writer.finish(graph.inputs[0], graph.outputs[0])


@dataclass(slots=True)
class _Writer:
    """Lines of the source so far, and the state that goes with them."""

    name: str
    made: list[str] = field(default_factory=list)  # of __init__
    computed: list[str] = field(default_factory=list)  # of forward
    state: dict[str, Array] = field(default_factory=dict)
    names: dict[ir.Value, str] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)
    variables: set[str] = field(default_factory=set)

    def name_input(self, value: ir.Value) -> None:
        self.names[value] = _new(value.name, self.variables)

    def write(self, node: ir.Node) -> None:
        write = _WRITERS.get(node.op_type) if not node.domain else None
        if write is None:
            raise self._refused(node, "which has no line of PyTorch here")
        expression = write(self, node)
        (value,) = node.outputs
        self.names[value] = _new(node.name, self.variables)
        self.computed.append(f"{self.names[value]} = {expression}")

    def finish(self, entered: ir.Value, answered: ir.Value) -> TorchSource:
        entry, answer = self.names[entered], self.names[answered]
        made, computed = (
            "\n".join(f"{2 * _ROW}{line}" for line in lines) for lines in (self.made, self.computed)
        )
        source = _TEMPLATE.format(
            name=re.sub(r'[\s"\\]+', " ", self.name).strip(),
            entry=entry,
            entered=_described(entered),
            answered=_described(answered),
            functional="from torch.nn import functional\n" * ("functional." in computed),
            made=made,
            computed=computed,
            answer=answer,
        )
        return TorchSource(source, self.state)

    # What follows returns the expression of a node.

    def elementwise(self, node: ir.Node) -> str:
        left, right = (self._argument(one) for one in node.inputs)
        return f"{left} {_ELEMENTWISE[node.op_type]} {right}"

    def call(self, node: ir.Node) -> str:
        return f"{_CALLS[node.op_type]}({self._only(node)})"

    def gelu(self, node: ir.Node) -> str:
        how = node.attributes.get_string("approximate", "none")
        return f'functional.gelu({self._only(node)}, approximate="{how}")'

    def softmax(self, node: ir.Node) -> str:
        return f"torch.softmax({self._only(node)}, {node.attributes.get_int('axis', -1)})"

    def concat(self, node: ir.Node) -> str:
        joined = ", ".join(self._argument(one) for one in node.inputs)
        return f"torch.cat([{joined}], {node.attributes.get_int('axis', 0)})"

    def flatten(self, node: ir.Node) -> str:
        if node.attributes.get_int("axis", 1) != 1:
            raise self._refused(node, "and only behind the first axis is it written")
        return f"{self._only(node)}.flatten(1)"

    def transpose(self, node: ir.Node) -> str:
        return f"{self._only(node)}.permute({_numbers(node.attributes.get_ints('perm', ()))})"

    def reshape(self, node: ir.Node) -> str:
        values = self._argument(node.inputs[0])
        shape = self._constant(node, 1).tolist()
        sizes = [
            f"{values}.shape[{axis}]" if size == 0 else str(size) for axis, size in enumerate(shape)
        ]
        return f"{values}.reshape({', '.join(sizes)})"

    def gather(self, node: ir.Node) -> str:
        if node.attributes.get_int("axis", 0) != 0:
            raise self._refused(node, "and only along the first axis is it written")
        return f"{self._argument(node.inputs[0])}[{self._argument(node.inputs[1])}]"

    def matmul(self, node: ir.Node) -> str:
        left, right = (self._argument(one) for one in node.inputs)
        return f"{left} @ {right}"

    def gemm(self, node: ir.Node) -> str:
        attributes = node.attributes
        plain = attributes.get_float("alpha", 1.0) == attributes.get_float("beta", 1.0) == 1.0
        if attributes.get_int("transA", 0) or not plain:
            raise self._refused(node, "and only plain products with weights are written")
        weight_OI = self._constant(node, 1)
        if not attributes.get_int("transB", 0):
            weight_OI = np.ascontiguousarray(weight_OI.T)
        module = self._module(node)
        outputs, inputs = weight_OI.shape
        bias = self._bias(node, outputs)
        without = ", bias=False" * (bias is None)
        self.made.append(f"self.{module} = nn.Linear({inputs}, {outputs}{without})")
        self._keep(module, weight_OI, bias)
        return f"self.{module}({self._argument(node.inputs[0])})"

    def conv(self, node: ir.Node) -> str:
        weight = self._constant(node, 1)
        module = self._module(node)
        groups = node.attributes.get_int("group", 1)
        bias = self._bias(node, len(weight))
        arguments = (
            f"{weight.shape[1] * groups}, {len(weight)}, ({_numbers(weight.shape[2:])}), "
            f"stride=({_numbers(self._ints(node, 'strides', 1))}), "
            f"padding=({_numbers(self._padding(node))}), "
            f"dilation=({_numbers(self._ints(node, 'dilations', 1))}), "
            f"groups={groups}{', bias=False' * (bias is None)}"
        )
        self.made.append(f"self.{module} = nn.Conv2d({arguments})")
        self._keep(module, weight, bias)
        return f"self.{module}({self._argument(node.inputs[0])})"

    def average(self, node: ir.Node) -> str:
        if node.attributes.get_int("ceil_mode", 0):
            raise self._refused(node, "and only with sizes rounded down is it written")
        included = bool(node.attributes.get_int("count_include_pad", 0))
        return (
            f"functional.avg_pool2d({self._only(node)}, "
            f"({_numbers(self._ints(node, 'kernel_shape', 1))}), "
            f"({_numbers(self._ints(node, 'strides', 1))}), ({_numbers(self._padding(node))}), "
            f"count_include_pad={included})"
        )

    def global_average(self, node: ir.Node) -> str:
        return f"{self._only(node)}.mean((2, 3), keepdim=True)"

    def mean(self, node: ir.Node) -> str:
        axes = (
            self._constant(node, 1).tolist()
            if len(node.inputs) > 1
            else node.attributes.get_ints("axes", ())
        )
        kept = bool(node.attributes.get_int("keepdims", 1))
        return f"{self._argument(node.inputs[0])}.mean(({_numbers(axes)}), keepdim={kept})"

    def same(self, node: ir.Node) -> str:
        return self._only(node)

    # What follows reads a node.

    def _only(self, node: ir.Node) -> str:
        return self._argument(node.inputs[0])

    def _argument(self, value: ir.Value | None) -> str:
        """Return the expression of a value; a constant becomes a buffer when it is first read."""
        if value is None:
            raise InputError(f"{self.name} leaves an input out that PyTorch needs; export it again")
        if value not in self.names:
            buffer = _new(value.name, self.attributes)
            array = self._array(value)
            kind = ", dtype=torch.int64" if array.dtype == np.int64 else ""
            shape = _numbers(array.shape)
            self.made.append(f'self.register_buffer("{buffer}", torch.zeros(({shape}){kind}))')
            self.state[buffer] = array
            self.names[value] = f"self.{buffer}"
        return self.names[value]

    def _constant(self, node: ir.Node, position: int) -> Array:
        value = node.inputs[position]
        if value is None or value.const_value is None:
            raise self._refused(node, f"whose input {position} is computed, and must be constant")
        return self._array(value)

    def _array(self, value: ir.Value) -> Array:
        if value.const_value is None:
            raise InputError(f"{self.name} reads '{value.name}' before it is made; export it again")
        array: Array = value.const_value.numpy()
        return array

    def _bias(self, node: ir.Node, outputs: int) -> Array | None:
        if len(node.inputs) < 3 or node.inputs[2] is None:
            return None
        return np.broadcast_to(self._constant(node, 2), (outputs,))

    def _keep(self, module: str, weight: Array, bias: Array | None) -> None:
        self.state[f"{module}.weight"] = weight
        if bias is not None:
            self.state[f"{module}.bias"] = bias

    def _ints(self, node: ir.Node, name: str, otherwise: int) -> Sequence[int]:
        return node.attributes.get_ints(name, (otherwise, otherwise))

    def _padding(self, node: ir.Node) -> Sequence[int]:
        pads = node.attributes.get_ints("pads", (0, 0, 0, 0))
        before, after = pads[: len(pads) // 2], pads[len(pads) // 2 :]
        alone = node.attributes.get_string("auto_pad", "NOTSET") == "NOTSET"
        if tuple(before) != tuple(after) or not alone or len(pads) != 4:
            raise self._refused(node, "and only with equal padding of pictures is it written")
        return before

    def _module(self, node: ir.Node) -> str:
        weight = node.inputs[1]
        named = None if weight is None or weight.name is None else weight.name
        return _new((named or "").removesuffix(".weight") or node.name, self.attributes)

    def _refused(self, node: ir.Node, why: str) -> InputError:
        return InputError(
            f"{self.name} has the node '{node.name}' ({node.op_type}), {why}; run its ONNX file "
            "instead"
        )


def _new(name: str | None, taken: set[str]) -> str:
    """Return a name that is not taken, and take it."""
    found = _identifier(name or "x")
    while found in taken:
        found += "_"
    taken.add(found)
    return found


def _identifier(name: str) -> str:
    """Return a name that Python takes.

    Example:
        >>> _identifier("layers.0.weight"), _identifier("Gemm_3"), _identifier("0")
        ('layers_0_weight', 'gemm_3', '_0')
    """
    plain = re.sub(r"\W", "_", name, flags=re.ASCII).lower()
    return f"_{plain}" if plain[:1].isdigit() or keyword.iskeyword(plain) else plain


def _numbers(numbers: Sequence[int]) -> str:
    """Return numbers as the inside of a tuple."""
    return ", ".join(map(str, numbers)) + "," * (len(numbers) == 1)


def _described(value: ir.Value) -> str:
    sizes = () if value.shape is None else tuple(map(str, value.shape))
    return f"({', '.join(sizes)})"


_WRITERS: Final[Mapping[str, Callable[[_Writer, ir.Node], str]]] = {
    **dict.fromkeys(_ELEMENTWISE, _Writer.elementwise),
    **dict.fromkeys(_CALLS, _Writer.call),
    "AveragePool": _Writer.average,
    "Concat": _Writer.concat,
    "Conv": _Writer.conv,
    "Flatten": _Writer.flatten,
    "Gather": _Writer.gather,
    "Gelu": _Writer.gelu,
    "Gemm": _Writer.gemm,
    "GlobalAveragePool": _Writer.global_average,
    "Identity": _Writer.same,
    "MatMul": _Writer.matmul,
    "ReduceMean": _Writer.mean,
    "Reshape": _Writer.reshape,
    "Softmax": _Writer.softmax,
    "Transpose": _Writer.transpose,
}

_TEMPLATE: Final = '''\
"""{name} in plain PyTorch; made by Evener, which it does not need.

    from network import load

    answers = load()(rows)
"""

from pathlib import Path

import torch
from torch import Tensor, nn
{functional}

class Network(nn.Module):
    """Takes {entry} {entered}, and answers {answered}."""

    def __init__(self) -> None:
        super().__init__()
{made}

    def forward(self, {entry}: Tensor) -> Tensor:
{computed}
        return {answer}


def load(weights: Path = Path(__file__).with_name("weights.pt")) -> Network:
    """Return the network with its weights, ready to answer."""
    network = Network()
    network.load_state_dict(torch.load(weights, weights_only=True))
    return network.eval()
'''
