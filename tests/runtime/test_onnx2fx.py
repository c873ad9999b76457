"""Networks turned into PyTorch's operators."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from onnx import TensorProto, helper

from evener.errors import RuntimeFailedError
from evener.runtime import trial
from evener.testing import tiny

pytest.importorskip("torch", reason="the extra 'pytorch' is not installed")
pytest.importorskip("onnx2fx", reason="the extra 'pytorch' is not installed")
import onnx2fx
import torch

from evener.runtime.onnx2fx import moved, traced, trial_frame

CPU = torch.device("cpu")


def reshaped(*, by_input: bool) -> bytes:
    """Make `x` [2, 3] into `y` [3, 2], by a constant or by an input of two numbers."""
    shape = [helper.make_tensor_value_info("s", TensorProto.INT64, [2])]
    return tiny.network(
        [helper.make_node("Reshape", ["x", "s"], ["y"])],
        inputs=[tiny.floats("x", 2, 3), *(shape * by_input)],
        outputs=[tiny.floats("y", 3, 2)],
        weights={} if by_input else {"s": np.array([3, 2])},
    )


def test_a_network_is_a_row_of_operators_that_answers_as_onnx_runtime() -> None:
    model = tiny.unet()
    network = traced(model, CPU)
    frame = trial_frame(network.inputs)

    answers = network.compute(*map(torch.from_numpy, frame))

    for answer, right in zip(answers, trial.reference(model, frame), strict=True):
        np.testing.assert_allclose(answer.numpy(), right, rtol=0, atol=1e-4 * np.abs(right).max())
    assert [one.name for one in (*network.inputs, *network.outputs)] == ["x", "y"]


def test_shapes_are_worked_out_once() -> None:
    nodes = traced(reshaped(by_input=False), CPU).graph.graph.nodes

    calls = {str(node.target) for node in nodes if node.op == "call_function"}
    assert calls == {"aten.reshape.default"}


def test_a_moved_network_leaves_nothing_behind() -> None:
    """Neither weights, nor what operators make anew."""
    model = tiny.network(
        [
            helper.make_node("EyeLike", ["x"], ["i"]),
            helper.make_node("MatMul", ["x", "w"], ["m"]),
            helper.make_node("Add", ["m", "i"], ["y"]),
        ],
        inputs=[tiny.floats("x", 2, 2)],
        outputs=[tiny.floats("y", 2, 2)],
        weights={"w": np.ones((2, 2), np.float32)},
    )
    elsewhere = torch.device("meta")

    (result,) = moved(traced(model, CPU).graph, elsewhere)(torch.empty(2, 2, device=elsewhere))

    assert result.device == elsewhere


def test_what_depends_on_the_values_of_an_input_is_refused() -> None:
    with pytest.raises(
        RuntimeFailedError, match="cannot open the network: .*data-dependent.*; run this"
    ):
        traced(reshaped(by_input=True), CPU)


def test_an_operator_that_the_package_lacks_is_named() -> None:
    model = tiny.network(
        [helper.make_node("MaxRoiPool", ["x", "r"], ["y"], pooled_shape=[2, 2])],
        inputs=[tiny.floats("x", 1, 1, 4, 4), tiny.floats("r", 1, 5)],
        outputs=[tiny.floats("y", 1, 1, 2, 2)],
    )

    with pytest.raises(
        RuntimeFailedError, match=r"Unsupported .*: MaxRoiPool at .*; run this part"
    ):
        traced(model, CPU)


def test_what_pytorch_has_no_tensors_for_is_named() -> None:
    model = tiny.network(
        [helper.make_node("Identity", ["x"], ["y"])],
        inputs=[helper.make_tensor_value_info("x", TensorProto.STRING, [2])],
        outputs=[helper.make_tensor_value_info("y", TensorProto.STRING, [2])],
    )

    with pytest.raises(
        RuntimeFailedError, match=r"'x' is object \[2\], and it exchanges .* bool, "
    ):
        traced(model, CPU)


@pytest.mark.parametrize(
    ("made", "said"), [((2, 3), r"float64 \[2, 3\]"), ((3, 2), r"float64 \[3, 2\]")]
)
def test_results_that_are_not_as_declared_are_refused(
    made: tuple[int, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.double().reshape(made)

    monkeypatch.setattr(onnx2fx, "convert", lambda _: Other())

    with pytest.raises(RuntimeFailedError, match=rf"it makes 'y' torch.{said}, which is float32"):
        traced(reshaped(by_input=False), CPU)


def test_networks_are_traced_by_one_thread_at_a_time() -> None:
    """The tracer replaces functions of PyTorch meanwhile."""
    models = [tiny.dense(layers=layers) for layers in (1, 2, 3, 4)]

    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda model: traced(model, CPU), models))

    for model, network in zip(models, found, strict=True):
        frame = trial_frame(network.inputs)
        (answer,) = network.compute(*map(torch.from_numpy, frame))
        (right,) = trial.reference(model, frame)
        np.testing.assert_allclose(answer.numpy(), right, rtol=0, atol=1e-5)
