"""Networks that answer several frames at once, and those that cannot."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto, helper

from evener.errors import InvalidNetworkError
from evener.network.batch import load_batched
from evener.testing import tiny

Write = Callable[[bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: bytes) -> Path:
        (tmp_path / "net.onnx").write_bytes(content)
        return tmp_path / "net.onnx"

    return write


def reshaping(batch: int | str, shape: list[int], *, after: list[NodeProto] | None = None) -> bytes:
    """Make `x` [batch, 2, 3] to `y`, reshaped to a shape and perhaps computed further."""
    return tiny.network(
        [
            helper.make_node("Relu", ["x"], ["r"], name="first"),
            helper.make_node(
                "Reshape", ["r", "shape"], ["y" if after is None else "h"], name="flat"
            ),
            *(after or []),
        ],
        inputs=[tiny.floats("x", batch, 2, 3)],
        outputs=[tiny.floats("y", *[f"d{n}" for n in range(len(shape))])],
        weights={"shape": np.array(shape, np.int64), "w": np.ones((6, 2), np.float32)},
    )


def test_a_network_for_one_image_takes_batches() -> None:
    single, batched = load_batched("squeezenet", 3)

    assert [tensor.shape for tensor in batched.inputs] == [(3, 3, 224, 224)]
    assert batched.outputs[0].shape == (3, *single.outputs[0].shape[1:])
    assert single.sha256 != batched.sha256


@pytest.mark.parametrize("batch", [1, "N"])
def test_a_dimension_that_is_one_or_open_grows(write: Write, batch: int | str) -> None:
    path = write(reshaping(batch, [-1, 6]))

    single, batched = load_batched(path, 4, shapes={} if batch == 1 else {"x": (1, 2, 3)})

    assert (single.inputs[0].shape, single.outputs[0].shape) == ((1, 2, 3), (1, 6))
    assert (batched.inputs[0].shape, batched.outputs[0].shape) == ((4, 2, 3), (4, 6))


def test_a_reshape_that_swallows_the_batch_is_named(write: Write) -> None:
    with pytest.raises(
        InvalidNetworkError,
        match=r"net cannot take batches of 4: the output 'y' would be \[1, 24\], since the batch "
        r"is fixed at node 'flat' \(Reshape\); run it without --batch",
    ) as caught:
        load_batched(write(reshaping(1, [1, -1])), 4)

    assert caught.value.node == "flat"


@pytest.mark.parametrize("after", [None, [helper.make_node("MatMul", ["h", "w"], ["y"])]])
def test_a_reshape_that_fits_one_frame_only_is_named(
    write: Write, after: list[NodeProto] | None
) -> None:
    with pytest.raises(InvalidNetworkError, match=r"at node 'flat' \(Reshape\)") as caught:
        load_batched(write(reshaping(1, [1, 6], after=after)), 4)

    assert caught.value.node == "flat"


def test_a_network_that_contradicts_itself_with_a_batch_is_refused(write: Write) -> None:
    product = helper.make_node("MatMul", ["h", "w"], ["y"], name="product")
    with pytest.raises(
        InvalidNetworkError,
        match="net cannot take batches of 4: net: the network contradicts itself.*without --batch",
    ) as caught:
        load_batched(write(reshaping(1, [1, -1], after=[product])), 4)

    assert caught.value.node == "product"


def test_what_follows_a_swallowed_batch_does_not_hide_its_cause(write: Write) -> None:
    reduce = helper.make_node("ReduceMean", ["h"], ["y"], axes=[1], keepdims=0)
    with pytest.raises(InvalidNetworkError, match=r"at node 'flat' \(Reshape\)"):
        load_batched(write(reshaping(1, [1, -1], after=[reduce])), 4)


def test_a_first_dimension_that_is_no_batch_is_refused(write: Write) -> None:
    with pytest.raises(
        InvalidNetworkError,
        match=r"net cannot take batches: the input 'x' is \[2, 8\] for one frame, and its first",
    ):
        load_batched(write(tiny.dense()), 4)


def test_an_output_without_a_batch_is_refused(write: Write) -> None:
    total = tiny.network(
        [helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)],
        inputs=[tiny.floats("x", 1, 3)],
        outputs=[tiny.floats("y")],
    )
    with pytest.raises(InvalidNetworkError, match="the output 'y' is"):
        load_batched(write(total), 4)
