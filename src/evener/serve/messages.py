"""Inference requests and responses, as bytes of HTTP bodies.

A body is a JSON object; with the extension for binary data, the bytes of some tensors follow it, in
the order in which the object names them, and a header says where the object ends.

Source: the REST specification of the Open Inference Protocol, and Triton's "binary tensor data"
extension of it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from evener.artifacts.tensor import Tensor
from evener.errors import InputError
from evener.serve.predictor import Arrays
from evener.serve.tensors import Array, datatype, from_bytes, from_json, to_bytes, to_json

JSON_LENGTH: Final = "Inference-Header-Content-Length"
"""Header with the length of the JSON object before binary data."""


class Wanted(msgspec.Struct, frozen=True):
    """An output that a client asks for.

    Attributes:
        index: which one.
        binary: whether it is to come as bytes.
    """

    index: int
    binary: bool


class Inference(msgspec.Struct, frozen=True, kw_only=True):
    """A request, checked.

    Attributes:
        id: what the client calls it; None if nothing.
        frame: one array per input.
        wanted: the outputs, in the order in which they are to come.
    """

    id: str | None
    frame: Arrays
    wanted: Sequence[Wanted]


class _Input(msgspec.Struct):
    name: str
    shape: list[int]
    datatype: str
    data: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    parameters: dict[str, Any] = {}


class _Output(msgspec.Struct):
    name: str
    parameters: dict[str, Any] = {}


class _Request(msgspec.Struct):
    inputs: list[_Input]
    outputs: list[_Output] = []
    id: str | None = None
    parameters: dict[str, Any] = {}


_REQUEST: Final = msgspec.json.Decoder(_Request)


def read_request(
    body: bytes, json_length: str | None, *, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
) -> Inference:
    """Read and check an inference request.

    Args:
        body: of the HTTP request.
        json_length: its header `JSON_LENGTH`; None if there is none.
        inputs: what the model reads.
        outputs: what it answers.

    Raises:
        InputError: what is wrong with it, and what is expected.
    """
    text, binary = _parted(memoryview(body), json_length)
    try:
        request = _REQUEST.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:  # the latter: nested very deep
        raise InputError(f"the body is no inference request: {error}") from error
    frame = _read_inputs(request.inputs, binary, inputs)
    return Inference(id=request.id, frame=frame, wanted=_wanted(request, outputs))


def write_response(
    asked: Inference, answer: Arrays, *, name: str, version: str, outputs: Sequence[Tensor]
) -> tuple[bytes, Mapping[str, str]]:
    """Return the body of the response to a request, and its headers.

    Args:
        asked: the request.
        answer: one array per output.
        name: of the model.
        version: of the model.
        outputs: what the model answers.

    Raises:
        InputError: the answer holds what JSON cannot say, and was not asked for as bytes.
    """
    written: list[dict[str, object]] = []
    chunks: list[bytes] = []
    for wanted in asked.wanted:
        tensor, array = outputs[wanted.index], answer[wanted.index]
        about = describe(tensor)
        if wanted.binary:
            chunks.append(to_bytes(array))
            about["parameters"] = {"binary_data_size": len(chunks[-1])}
        else:
            about["data"] = to_json(array, tensor)
        written.append(about)
    response: dict[str, object] = {"model_name": name, "model_version": version}
    if asked.id is not None:
        response["id"] = asked.id
    text = msgspec.json.encode(response | {"outputs": written})
    if not chunks:
        return text, {"Content-Type": "application/json"}
    headers = {"Content-Type": "application/octet-stream", JSON_LENGTH: str(len(text))}
    return b"".join([text, *chunks]), headers


def describe(tensor: Tensor) -> dict[str, object]:
    """Return name, datatype and shape of a tensor, as the protocol writes them."""
    return {"name": tensor.name, "datatype": datatype(tensor), "shape": tensor.shape}


def _parted(body: memoryview, json_length: str | None) -> tuple[memoryview, memoryview]:
    if json_length is None:
        return body, body[len(body) :]
    # As digits only: int() would also read "-1", " 1_0 " and numerals of other scripts.
    length = int(json_length) if json_length.isascii() and json_length.isdigit() else -1
    if not 0 < length <= len(body):
        raise InputError(
            f"the header {JSON_LENGTH} is '{json_length}'; it must be the length of the JSON "
            f"object with which the body of {len(body)} bytes begins"
        )
    return body[:length], body[length:]


def _read_inputs(
    given: Sequence[_Input], binary: memoryview, inputs: Sequence[Tensor]
) -> tuple[Array, ...]:
    known = {tensor.name: tensor for tensor in inputs}
    arrays: dict[str, Array] = {}
    for one in given:
        tensor = known.get(one.name)
        if tensor is None or one.name in arrays:
            wrong = "is no input of the model" if tensor is None else "is given twice"
            raise InputError(f"'{one.name}' {wrong}; its inputs are {', '.join(known)}")
        if (one.datatype, tuple(one.shape)) != (datatype(tensor), tensor.shape):
            raise InputError(
                f"'{one.name}' is given as {one.datatype} {one.shape}; the model takes "
                f"{datatype(tensor)} {list(tensor.shape)}"
            )
        size = one.parameters.get("binary_data_size")
        if size is None:
            if isinstance(one.data, msgspec.UnsetType):
                raise InputError(
                    f"'{one.name}' comes without data: give its elements as \"data\", or as bytes "
                    'with the parameter "binary_data_size"'
                )
            arrays[one.name] = from_json(one.data, tensor)
            continue
        if not isinstance(size, int) or not 0 <= size <= len(binary):
            raise InputError(
                f"'{one.name}' has the \"binary_data_size\" {size!r}, and {len(binary)} bytes "
                "of binary data are left for it"
            )
        arrays[one.name] = from_bytes(binary[:size], tensor)
        binary = binary[size:]
    missing = [name for name in known if name not in arrays]
    if missing:
        raise InputError(
            f"the input '{missing[0]}' is missing: {datatype(known[missing[0]])} "
            f"{list(known[missing[0]].shape)}"
        )
    if len(binary):
        raise InputError(f"{len(binary)} bytes of binary data belong to no input")
    return tuple(arrays[name] for name in known)


def _wanted(request: _Request, outputs: Sequence[Tensor]) -> list[Wanted]:
    all_binary = _flag(request.parameters, "binary_data_output", default=False)
    names = [tensor.name for tensor in outputs]
    if not request.outputs:
        return [Wanted(index, all_binary) for index in range(len(names))]
    wanted: dict[str, Wanted] = {}
    for one in request.outputs:
        if one.name not in names or one.name in wanted:
            wrong = "is asked for twice" if one.name in wanted else "is no output of the model"
            raise InputError(f"'{one.name}' {wrong}; its outputs are {', '.join(names)}")
        binary = _flag(one.parameters, "binary_data", default=all_binary)
        wanted[one.name] = Wanted(names.index(one.name), binary)
    return list(wanted.values())


def _flag(parameters: Mapping[str, object], name: str, *, default: bool) -> bool:
    value = parameters.get(name, default)
    if not isinstance(value, bool):
        raise InputError(f'the parameter "{name}" is {value!r}; it must be true or false')
    return value
