"""A network of equal layers, and a runtime whose time is made up."""

from collections.abc import Callable, Sequence

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from evener.artifacts.processors import Machine, Processor
from evener.artifacts.profile import Execution
from evener.artifacts.tensor import Tensor
from evener.errors import RuntimeFailedError
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.model import Network, parse_network
from evener.runtime.pinning import PROCESS_CORES, thread_cores
from evener.runtime.session import Array, Optimisation, Session

CORE = min(PROCESS_CORES)
LAYER_S = 0.25
CUT_S = 0.0625  # what each end of a segment costs that is no end of the network


class FakeClock:
    """A clock that only `advance` moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def advance(self, seconds: float) -> None:
        self.now_s += seconds


class FakeSession:
    """Takes its time from a function and answers zeros."""

    def __init__(
        self, model: onnx.ModelProto, run_s: Callable[[], float], runtime: "FakeRuntime"
    ) -> None:
        self.inputs = tuple(_tensor(value) for value in model.graph.input)
        self.outputs = tuple(_tensor(value) for value in model.graph.output)
        self._run_s = run_s
        self._runtime = runtime

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        assert [array.shape for array in inputs] == [tensor.shape for tensor in self.inputs]
        for output in outputs:
            output[...] = 0
        self._runtime.runs += 1
        self._runtime.cores_seen.add(thread_cores())
        self._runtime.clock.advance(self._run_s())

    def close(self) -> None:
        self._runtime.open_sessions -= 1


class FakeRuntime:
    """A runtime that needs `layer_s` a layer and refuses what it is told to."""

    version = "1.0"

    def __init__(
        self,
        clock: FakeClock,
        *,
        name: str = "fake",
        layer_s: float = LAYER_S,
        refuses: Callable[[int], bool] = lambda layers: False,  # noqa: ARG005 -- refuses nothing
    ) -> None:
        self.name = name
        self.clock = clock
        self.layer_s = layer_s
        self.runs = 0
        self.open_sessions = 0
        self.most_open = 0
        self.cores_seen: set[frozenset[int]] = set()
        self._refuses = refuses
        self.slower_opens: dict[int, int] = {}  # how many times slower, by number of the session
        self.opens = 0

    def supports(self, processor: Processor) -> bool:
        return processor.kind == "cpu"

    def open(
        self,
        model: bytes,
        *,
        cores: tuple[int, ...],
        precision: str = "f32",
        optimisation: Optimisation = "all",
        execution: Execution = "sequential",
        processor: str = "",
    ) -> Session:
        assert (cores, precision, optimisation) == ((CORE,), "f32", "all")
        assert (execution, processor) == ("sequential", "cpu0")
        proto = onnx.load_from_string(model)
        layers = sum(node.op_type == "MatMul" for node in proto.graph.node)
        if self._refuses(layers):
            raise RuntimeFailedError(f"no {layers} layers here", runtime=self.name)
        ends = (proto.graph.input[0].name != "x") + (proto.graph.output[0].name != "y")
        slower = self.slower_opens.get(self.opens, 1)
        self.opens += 1
        self.open_sessions += 1
        self.most_open = max(self.most_open, self.open_sessions)
        return FakeSession(proto, lambda: slower * (self.layer_s * layers + CUT_S * ends), self)


def _tensor(value: onnx.ValueInfoProto) -> Tensor:
    shape = tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
    return Tensor(name=value.name, shape=shape, dtype="float32")


def make_network(layers: int) -> Network:
    """Make a chain of products with weights, one block each."""
    names = ["x", *(f"h{index}" for index in range(layers - 1)), "y"]
    weights = np.eye(4, dtype=np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", [names[index], f"w{index}"], [names[index + 1]], f"n{index}")
            for index in range(layers)
        ],
        "layers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [numpy_helper.from_array(weights + index, f"w{index}") for index in range(layers)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return parse_network(model.SerializeToString(), name=f"{layers} layers")


@pytest.fixture(scope="session")
def network() -> Network:
    return make_network(6)


@pytest.fixture(scope="session")
def blocks(network: Network) -> Blocks:
    found = cut_into_blocks(network, "strict")
    assert len(found.blocks) == 6
    return found


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def make_runtime(clock: FakeClock) -> Callable[..., FakeRuntime]:
    def make(**changes: object) -> FakeRuntime:
        return FakeRuntime(clock, **changes)  # type: ignore[arg-type] # a test names what differs

    return make


@pytest.fixture
def make_machine() -> Callable[..., Machine]:
    def make(*runtimes: str) -> Machine:
        processor = Processor(
            name="cpu0", kind="cpu", cores=(CORE,), core_sets=(1,), runtimes=runtimes
        )
        return Machine(host="board", system="Linux", processors=(processor,), runtimes={})

    return make
