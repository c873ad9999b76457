"""What of a network file is refused, and what each refusal says."""

import contextlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from evener.errors import InputError, InvalidFileError, InvalidNetworkError
from evener.network import light
from evener.network.model import load_network, parse_network

CHAIN = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4] x) => (float[1,2] y) <float[4,2] w = {1,2,3,4,5,6,7,8}> {
    h = Relu(x)
    y = MatMul(h, w)
}"""


SMALL = onnx.parser.parse_model(CHAIN).SerializeToString()


def test_a_missing_file_is_refused_with_the_nearest_built_in_name() -> None:
    with pytest.raises(InvalidFileError, match="no file sqeezenet.*did you mean 'squeezenet'"):
        load_network("sqeezenet")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="cannot read .*directory; give an ONNX file"):
        load_network(tmp_path)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.onnx").touch()

    with pytest.raises(InvalidFileError, match="empty.onnx is empty"):
        load_network(tmp_path / "empty.onnx")


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9, 0.999])
def test_a_truncated_file_is_refused(share: float) -> None:
    content = light.light_file("squeezenet").read_bytes()

    with pytest.raises(InvalidFileError, match="cut short"):
        parse_network(content[: int(len(content) * share)], name="cut")


@pytest.mark.parametrize("content", [b"name,price\n1,2\n", b"PK\x03\x04zip", b"\x00" * 64])
def test_a_file_of_another_kind_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidFileError, match="no ONNX file"):
        parse_network(content, name="other")


def test_a_file_without_a_graph_is_refused() -> None:
    with pytest.raises(InvalidFileError, match="holds no graph"):
        parse_network(onnx.ModelProto(ir_version=8).SerializeToString(), name="bare")


def save_external(folder: Path, scale: int) -> Path:
    model = onnx.parser.parse_model(CHAIN)
    weights = numpy_helper.to_array(model.graph.initializer[0]) * scale
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(weights, "w"))
    path = folder / "outside.onnx"
    (folder / "weights.bin").unlink(missing_ok=True)
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path


def test_missing_external_weights_are_refused_by_name(tmp_path: Path) -> None:
    path = save_external(tmp_path, 1)
    (tmp_path / "weights.bin").unlink()

    with pytest.raises(InvalidFileError, match="weight 'w' in the file 'weights.bin'") as caught:
        load_network(path)
    assert caught.value.path == "weights.bin"


def test_truncated_external_weights_are_refused(tmp_path: Path) -> None:
    path = save_external(tmp_path, 1)
    (tmp_path / "weights.bin").write_bytes(b"1234")

    with pytest.raises(InvalidFileError, match="weight 'w'.*cannot be read"):
        load_network(path)


def test_external_weights_outside_the_folder_are_refused(tmp_path: Path) -> None:
    path = save_external(tmp_path, 1)
    model = onnx.load(path, load_external_data=False)
    model.graph.initializer[0].external_data[0].value = "../secret.bin"
    (tmp_path / "inner").mkdir()
    (tmp_path / "weights.bin").rename(tmp_path / "secret.bin")
    inner = tmp_path / "inner" / "net.onnx"
    inner.write_bytes(model.SerializeToString())

    with pytest.raises(InvalidFileError, match="secret.bin"):
        load_network(inner)


def test_bytes_with_weights_in_another_file_are_refused(tmp_path: Path) -> None:
    content = save_external(tmp_path, 1).read_bytes()

    with pytest.raises(InvalidFileError, match="give the path of the network instead"):
        parse_network(content, name="net")


def test_a_weight_of_too_few_bytes_is_refused() -> None:
    model = onnx.parser.parse_model(CHAIN)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones((4, 2), np.float32), "w"))
    model.graph.initializer[0].dims[0] = 5

    with pytest.raises(InvalidNetworkError, match=r"'w' of shape \(5, 2\) needs 40 .* has 32"):
        parse_network(model.SerializeToString(), name="net")


def test_a_weight_of_too_few_numbers_is_refused() -> None:
    model = onnx.parser.parse_model(CHAIN)
    model.graph.initializer[0].dims[0] = 5

    with pytest.raises(InvalidNetworkError, match="graph is invalid: cannot reshape"):
        parse_network(model.SerializeToString(), name="net")


def test_a_weight_of_no_type_is_refused() -> None:
    model = onnx.parser.parse_model(CHAIN)
    model.graph.initializer[0].data_type = TensorProto.UNDEFINED

    with pytest.raises(InvalidNetworkError, match="graph is invalid: .*UNDEFINED"):
        parse_network(model.SerializeToString(), name="net")


def test_a_name_that_is_no_text_is_refused() -> None:
    content = onnx.parser.parse_model(CHAIN).SerializeToString()

    with pytest.raises(InvalidNetworkError, match="the name b.* is no text"):
        parse_network(content.replace(b"MatMul", b"Mat\xfful"), name="net")


def test_a_constant_without_a_value_is_refused() -> None:
    model = onnx.parser.parse_model(CHAIN)
    constant = helper.make_node("Constant", [], ["c"], value_ints=[1])
    constant.attribute[0].name = "value_stones"
    model.graph.node.insert(0, constant)

    with pytest.raises(InvalidNetworkError, match="graph is invalid: .*value_stones"):
        parse_network(model.SerializeToString(), name="net")


def test_an_attribute_without_a_type_is_refused() -> None:
    model = onnx.parser.parse_model(CHAIN)
    model.graph.node[0].attribute.add(name="alpha")

    with pytest.raises(InvalidNetworkError, match="node that cannot be written"):
        parse_network(model.SerializeToString(), name="net")


@given(st.integers(0, len(SMALL) - 1), st.binary(min_size=0, max_size=2))
def test_damage_anywhere_is_refused_or_harmless(place: int, junk: bytes) -> None:
    damaged = SMALL[:place] + junk + SMALL[place + 1 :]

    with contextlib.suppress(InputError):  # any other exception fails
        assert parse_network(damaged, name="net").outputs
