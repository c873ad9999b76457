"""Which ONNX files the parts of a network were written to, and what they hand each other."""

from typing import ClassVar

import msgspec

from evener.artifacts.profile import Granularity
from evener.artifacts.tensor import Tensor


class Piece(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One part of a network, in a file of its own.

    Attributes:
        file: name of its file, beside the manifest.
        sha256: hash of the file.
        first_block: index of its first block, from 0.
        last_block: index of its last block, included.
        inputs: what it receives, in the order of its graph.
        outputs: what it hands on, in the order of its graph.
        states: by output what it reads as an input of the next frame; both come last in its graph,
            and the input is zero before the first frame.
    """

    file: str
    sha256: str
    first_block: int
    last_block: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    states: dict[str, str] = {}


class Split(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parts of a network in order: each reads what the one before it hands on.

    Attributes:
        network: name of the network.
        network_sha256: its hash.
        granularity: rule by which the blocks were made.
        parts: in order; the first reads the inputs of the network, the last answers its outputs.
    """

    kind: ClassVar[str] = "split"
    schema: ClassVar[int] = 1

    network: str
    network_sha256: str
    granularity: Granularity
    parts: tuple[Piece, ...]
