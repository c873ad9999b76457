"""Read the bytes of an ONNX file, and what it keeps in other files, into a graph."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import onnx
import onnx_ir as ir
from google.protobuf.message import DecodeError  # type: ignore[import-untyped] # ships no types

from evener.errors import InvalidFileError, InvalidNetworkError
from evener.hints import did_you_mean
from evener.network.light import FILES

# What onnx-ir raises of a graph that breaks the rules of ONNX; it asserts some of them.
_INVALID: Final = (
    ValueError,
    TypeError,
    KeyError,
    AssertionError,
    NotImplementedError,
    ir.serde.SerdeError,
)


def read_file(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        InvalidFileError: there is none, or it cannot be read.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        hint = did_you_mean(path.name, FILES)
        raise InvalidFileError(
            f"there is no file {path}, and no network of that name is built in; {hint}built in: "
            f"{', '.join(FILES)}",
            path=str(path),
        ) from error
    except OSError as error:
        raise InvalidFileError(
            f"cannot read {path}: {error.strerror or error}; give an ONNX file", path=str(path)
        ) from error
    return content


def decode(content: bytes, where: str) -> ir.Model:
    """Read a graph as the file has it; weights in other files are not loaded.

    Raises:
        InvalidFileError: the bytes are no ONNX file, or not all of one.
        InvalidNetworkError: the graph is invalid, or has sparse weights or dictionaries.
    """
    if not content:
        raise InvalidFileError(f"{where} is empty; export or copy it again", path=where)
    try:
        proto = onnx.ModelProto.FromString(content)
    except DecodeError as error:
        raise InvalidFileError(
            f"{where} is no ONNX file or is cut short ({len(content)} bytes); export or copy it "
            "again",
            path=where,
        ) from error
    if not proto.ir_version or not proto.HasField("graph"):
        raise InvalidFileError(
            f"{where} holds no graph ({len(content)} bytes): it is no ONNX file or is cut short; "
            "export or copy it again",
            path=where,
        )
    for info in proto.graph.output:
        if info.type.HasField("map_type") or info.type.sequence_type.elem_type.HasField("map_type"):
            raise InvalidNetworkError(
                f"{where}: the output '{info.name}' is a dictionary, and only tensors are handed "
                "over; export a scikit-learn classifier with the option zipmap=False"
            )
    if proto.graph.sparse_initializer:
        raise InvalidNetworkError(
            f"{where}: the weight '{proto.graph.sparse_initializer[0].values.name}' is sparse, "
            "which is not supported; export dense weights"
        )
    try:
        model = ir.serde.deserialize_model(proto)
        for graph in model.graphs():
            for value in graph.initializers.values():
                _check_weight(value.const_value, where)
    except _INVALID as error:
        cause = str(error.__cause__ or error).partition("\n")[0]
        raise InvalidNetworkError(
            f"{where}: the graph is invalid: {cause}; export it again"
        ) from error
    return model


def _check_weight(tensor: ir.TensorProtocol | None, where: str) -> None:
    if not isinstance(tensor, ir.serde.TensorProtoTensor):
        return  # it stands in another file, and is checked when it is loaded
    stored_bytes = len(tensor.raw.raw_data)
    if tensor.raw.HasField("raw_data") and stored_bytes != tensor.nbytes:
        raise InvalidNetworkError(
            f"{where}: the weight '{tensor.name}' of shape {tuple(tensor.shape.numpy())} needs "
            f"{tensor.nbytes} bytes and has {stored_bytes}; export the network again"
        )
    if not tensor.raw.HasField("raw_data"):
        tensor.numpy()  # raises a ValueError where its numbers are too few or of no type


def external_weights(model: ir.Model) -> Iterator[ir.ExternalTensor]:
    """List the weights that stand in other files."""
    for graph in model.graphs():
        for value in graph.initializers.values():
            if isinstance(value.const_value, ir.ExternalTensor):
                yield value.const_value


def load_external_weights(model: ir.Model, path: Path) -> Iterator[bytes]:
    """Load the weights that stand in files beside the network's, and list the bytes of each.

    Raises:
        InvalidFileError: one of the files is missing, too short, or outside the folder.
    """
    ir.external_data.set_base_dir(model.graph, path.parent)
    outside = list(external_weights(model))
    for tensor in outside:
        try:
            tensor.numpy()
        except (OSError, ValueError) as error:
            raise InvalidFileError(
                f"{path} keeps the weight '{tensor.name}' in the file '{tensor.location}' beside "
                f"it, which cannot be read: {error}; copy both files together",
                path=str(tensor.location),
            ) from error
    ir.external_data.load_to_model(model)
    return (tensor.tobytes() for tensor in outside)  # one at a time: together they are the network
