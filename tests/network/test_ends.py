"""The names at both ends of a network are read without making it ready."""

from pathlib import Path

import onnx
import pytest
from onnx import helper

from evener.errors import InvalidFileError
from evener.network import light
from evener.network.ends import Ends, read_ends
from evener.network.model import load_network
from evener.testing import tiny


def test_weights_that_an_old_file_lists_as_inputs_are_none(tmp_path: Path) -> None:
    model = onnx.load_from_string(tiny.dense(layers=1))
    model.graph.input.append(tiny.floats("w0", 8, 8))
    path = tmp_path / "old.onnx"
    path.write_bytes(model.SerializeToString())

    assert read_ends(path) == Ends(("x",), ("y",))


def test_sizes_may_be_open(tmp_path: Path) -> None:
    path = tmp_path / "open.onnx"
    path.write_bytes(
        tiny.network(
            [helper.make_node("Relu", ["x"], ["y"])],
            inputs=[tiny.floats("x", "batch", "width")],
            outputs=[tiny.floats("y", "batch", "width")],
        )
    )

    assert read_ends(str(path)) == Ends(("x",), ("y",))


@pytest.mark.parametrize("name", ["alexnet", "shufflenet"])
def test_built_in_networks_have_the_ends_that_they_have_when_loaded(name: str) -> None:
    assert name in light.FILES
    network = load_network(name)

    found = read_ends(name)

    assert found.inputs == tuple(tensor.name for tensor in network.inputs)
    assert found.outputs == tuple(tensor.name for tensor in network.outputs)


def test_a_network_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidFileError, match="there is no file nowhere.onnx"):
        read_ends("nowhere.onnx")
