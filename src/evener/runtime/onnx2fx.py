"""Turn an ONNX network into a row of PyTorch's operators with the package onnx2fx.

The module that the package makes works its shapes and axes out anew in each call, from constants
that would have to come back from a GPU for it. So it is traced once, with static shapes, and what
is left are operators alone. What depends on the values that it is given, such as the count of an
operator's results, cannot be traced, and is refused.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import onnx
import onnx2fx  # noqa: TID251 - this is the module that converts with it
import torch  # noqa: TID251 - as above
from torch.fx import GraphModule  # noqa: TID251 - as above
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: TID251 - as above

from evener.artifacts.tensor import Tensor
from evener.errors import RuntimeFailedError
from evener.network.frames import Frame, random_frames
from evener.runtime import refusal
from evener.runtime.onnxruntime import simplified
from evener.runtime.session import empty

RUNTIME: Final = "pytorch"
_DTYPES: Final = frozenset(
    {"float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"}
)
_TRACING: Final = threading.Lock()  # it replaces functions of PyTorch meanwhile

Compute = Callable[..., Sequence[torch.Tensor]]


@dataclass(frozen=True, slots=True)
class Traced:
    """A network as PyTorch computes it.

    Attributes:
        graph: its operators, and its weights on `device`.
        inputs: what the graph reads, in its order.
        outputs: what the graph answers, in its order.
        device: where it is computed.
    """

    graph: GraphModule
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    device: torch.device

    @property
    def compute(self) -> Compute:
        """What maps a tensor for each input to one for each output, all on `device`."""
        return self.graph.forward

    def release(self) -> None:
        """Give back the memory of its weights, which a cycle of references keeps for a while."""
        self.graph.to("meta")


def trial_frame(inputs: Sequence[Tensor]) -> Frame:
    """Draw the frame that a network is traced and tried with."""
    return random_frames(inputs, 1, seed=0)[0]


def host_tensor(tensor: Tensor) -> torch.Tensor:
    """Make an uninitialised tensor in the CPU's memory."""
    return torch.from_numpy(empty(tensor))


def traced(model: bytes, device: torch.device) -> Traced:
    """Convert a network, trace it and put it where it will be computed.

    Args:
        model: a serialised ONNX model with static shapes.
        device: where its weights are put.

    Raises:
        RuntimeFailedError: it is no network, exchanges what PyTorch has no tensors for, has open
            shapes, or cannot be converted or traced, or not as declared.
    """
    proto = onnx.load_from_string(simplified(model, runtime=RUNTIME))
    constants = {one.name for one in proto.graph.initializer}
    inputs = tuple(_tensor(one) for one in proto.graph.input if one.name not in constants)
    outputs = tuple(_tensor(one) for one in proto.graph.output)
    frame = trial_frame(inputs)
    try:
        with _TRACING:
            graph = moved(_trace(proto, frame, outputs), device)
    except RuntimeFailedError:
        raise
    except Exception as error:  # its handlers and the tracer raise whatever comes up
        what = str(error).partition("\n")[0] or type(error).__name__
        raise RuntimeFailedError(
            f"{RUNTIME} cannot open the network: {what}; run this part with another runtime",
            runtime=RUNTIME,
        ) from error
    return Traced(graph, inputs, outputs, device)


def _tensor(value: onnx.ValueInfoProto) -> Tensor:
    described = value.type.tensor_type
    shape = [one.dim_value or one.dim_param or "?" for one in described.shape.dim]
    refusal.check_fixed(RUNTIME, value.name, shape)
    kind = described.elem_type
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind).name if kind else "no tensor"
    if dtype not in _DTYPES:
        raise RuntimeFailedError(
            f"{RUNTIME} cannot open the network: '{value.name}' is {dtype} {shape}, and it "
            f"exchanges arrays of {', '.join(sorted(_DTYPES))}; run this part with another runtime",
            runtime=RUNTIME,
        )
    return Tensor(name=value.name, shape=tuple(map(int, shape)), dtype=dtype)


def _trace(proto: onnx.ModelProto, frame: Frame, outputs: Sequence[Tensor]) -> GraphModule:
    module = onnx2fx.convert(proto).eval()

    def answers(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = module(*inputs)
        results = found if isinstance(found, tuple) else (found,)
        _check_results(results, outputs)
        return results

    # With stand-ins for the inputs: a value that is asked for would be taken for a constant. On the
    # CPU, where the constants can be asked meanwhile; and before operators for it are chosen.
    with torch.no_grad():
        return make_fx(
            answers, tracing_mode="fake", _allow_non_fake_inputs=True, pre_dispatch=True
        )(*map(torch.from_numpy, frame))


def moved(graph: GraphModule, device: torch.device) -> GraphModule:
    """Move a traced network's constants to a device, and what its operators make anew."""
    for node in graph.graph.nodes:
        if "device" in node.kwargs:
            node.update_kwarg("device", device)
    graph.graph.eliminate_dead_code()  # what constants were asked for
    graph.recompile()
    return graph.to(device)


def _check_results(results: Sequence[torch.Tensor], outputs: Sequence[Tensor]) -> None:
    """Check that the results are the tensors that the graph declares."""
    for tensor, result in zip(outputs, results, strict=True):
        declared = host_tensor(tensor)
        if (result.shape, result.dtype) != (declared.shape, declared.dtype):
            raise RuntimeFailedError(
                f"{RUNTIME} cannot be used for the network: it makes '{tensor.name}' "
                f"{result.dtype} {list(result.shape)}, which is {tensor.dtype} "
                f"{list(tensor.shape)}; run this part with another runtime",
                runtime=RUNTIME,
            )
