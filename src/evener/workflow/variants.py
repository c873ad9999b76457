"""The same network in lower precisions, what they may cost in accuracy, and where they are kept."""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.files import digest, write_whole
from evener.artifacts.lowering import Deviation, Lowering, LowerPrecision
from evener.errors import InvalidFileError, InvalidNetworkError
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.frames import Frame
from evener.network.mixture import mix
from evener.network.model import Network, parse_network
from evener.network.precision import (
    closing_nodes,
    converted,
    crossing_tensors,
    for_conversion,
)
from evener.network.split import whole_model
from evener.run.accuracy import Allowed
from evener.runtime import get_runtime
from evener.runtime.session import Array
from evener.workflow.cache import cache_folder

CONVERTER: Final = "onnxruntime"
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Judge:
    """What answers in lower precision are held against.

    Attributes:
        frames: frames that no quantisation was fitted to.
        expected: the answers in f32.
        labels: [frames] the right classes, where they are known.
        allowed: how far off answers may be.
    """

    frames: Sequence[Frame]
    expected: Sequence[tuple[Array, ...]]
    labels: NDArray[np.int64] | None
    allowed: Allowed


@dataclass(frozen=True)
class Variants:
    """A network in lower precisions.

    Attributes:
        networks: those that may be used, by precision; cut at the same tensors as in f32.
        keys: a name of each that says how it was made; see `evener.artifacts.lowering.Lowering`.
        offered: how far off each that was tried is, whether or not it may be used.
        judge: what plans are held against; None where a plan was judged before.
    """

    networks: Mapping[str, Network] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    offered: tuple[Deviation, ...] = ()
    judge: Judge | None = None

    @property
    def lowering(self) -> Lowering | None:
        """What is known before there is a plan; None where no lower precision was asked for."""
        if self.judge is None:
            return None
        allowed = self.judge.allowed
        return Lowering(
            max_error=allowed.max_error, min_accuracy=allowed.min_accuracy, offered=self.offered
        )


def make_variant(
    network: Network,
    blocks: Blocks,
    precision: LowerPrecision,
    frames: Sequence[Frame],
    in_f32: Sequence[int] = (),
) -> tuple[str, Network]:
    """Convert a network to a lower precision, or read what was kept of it.

    Args:
        network: in f32.
        blocks: how it is cut.
        precision: "int8" or "fp16".
        frames: what the ranges of 8 bits are taken from.
        in_f32: numbers of the blocks that stay in f32, see `coarse`.

    Returns:
        Its key and the network.

    Raises:
        InputError: it keeps states, or is of an opset that cannot be raised.
        InvalidNetworkError: what came back is another network.
        RuntimeFailedError: it cannot be converted.
    """
    from evener.runtime import lower

    quantised = precision == "int8"
    plain = closing_nodes(network) if quantised else ()
    key = digest(
        {
            "network": network.sha256,
            "cuts": [tensor.name for tensor in crossing_tensors(network, blocks)],
            "precision": precision,
            "converter": [CONVERTER, get_runtime(CONVERTER).version],
            "settings": lower.SETTINGS if quantised else {},
            "plain": plain,
            "frames": _hash(frames) if quantised else "",
        }
        | ({"in f32": sorted(in_f32)} if in_f32 else {})
    )
    kept = recall_variant(network, precision, key)
    if kept is not None:
        return key, kept
    if in_f32:
        _, whole = make_variant(network, blocks, precision, frames)
        made = mix(network, whole, coarse(network, blocks), in_f32)
    else:
        model = for_conversion(network, blocks)
        content = (
            lower.quantise(model, frames, inputs=network.inputs, plain=plain)
            if quantised
            else lower.halve(model)
        )
        made = converted(network, blocks, content, precision)
    path = _place(network, precision, key)
    try:
        write_whole(path, whole_model(made))
    except InvalidFileError as error:
        _LOG.warning("not kept for the next time: %s (XDG_CACHE_HOME names the folder)", error)
    return key, made


def coarse(network: Network, blocks: Blocks) -> Blocks:
    """Return the blocks of which some may stay in f32: by the rule "node" those that it opened."""
    return cut_into_blocks(network, "paper") if blocks.granularity == "node" else blocks


def recall_variant(network: Network, precision: str, key: str) -> Network | None:
    """Read a converted network that was kept; None if there is none that can be read."""
    path = _place(network, precision, key)
    try:
        return parse_network(path.read_bytes(), name=f"{network.name} in {precision}")
    except (OSError, InvalidFileError, InvalidNetworkError):
        return None  # none yet, or damaged: it is made again


def _place(network: Network, precision: str, key: str) -> Path:
    stem = f"{network.sha256[:16]}-{precision}-{key[:32]}"
    return cache_folder() / "variant" / f"{stem}.onnx"


def _hash(frames: Sequence[Frame]) -> str:
    sha256 = hashlib.sha256()
    for frame in frames:
        for array in frame:
            sha256.update(f"{array.dtype}{array.shape}".encode())
            sha256.update(np.ascontiguousarray(array).tobytes())
    return sha256.hexdigest()
