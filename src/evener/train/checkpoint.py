"""Keep a sharded training on disk so that it goes on after any end, on any number of ranks.

A checkpoint is a folder: a file for each rank with the weights of its shards and what its optimiser
remembers, and a manifest that says which neurons each holds. It gets its name once all of it is on
disk, so that a training which is killed while it saves leaves the one before. The ranks share the
file system.
"""

import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec
import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from evener.artifacts.files import PARTIAL_PREFIX, file_sha256, load, save, sweep, sync_folder
from evener.comm.share import share, together
from evener.errors import InvalidFileError
from evener.train.partial_sums import keep_own
from evener.train.pieces import Piece, Reader, StoredFile, damaged, pieces_of
from evener.train.ranked import RankedNetwork
from evener.train.recipe import Recipe
from evener.train.shape import Shape

MANIFEST: Final = "manifest.json"
VALUE: Final = "value"  # the weights and biases themselves, beside arrays of the optimiser
_NAME: Final = re.compile(r"step-(\d+)")
_KEPT: Final = 2


class Training(msgspec.Struct, frozen=True, kw_only=True):
    """What a training is, so that only the same one goes on from its checkpoint.

    Attributes:
        shape: the network.
        dtype: of weights and values.
        recipe: how it is trained.
        data: sha256 of the rows.
    """

    shape: Shape
    dtype: str
    recipe: Recipe
    data: str


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest of a checkpoint.

    Attributes:
        training: which it belongs to.
        step: steps taken.
        losses: sum and number of the losses of the epoch so far.
        arrays: what each piece has weights and biases of: their values, and what the optimiser
            remembers.
        files: one for each rank that saved.
        pieces: what they hold.
    """

    kind: ClassVar[str] = "checkpoint"
    schema: ClassVar[int] = 1

    training: Training
    step: int
    losses: tuple[float, int]
    arrays: list[str]
    files: list[StoredFile]
    pieces: list[Piece]


def save_checkpoint(
    folder: Path,
    training: Training,
    network: RankedNetwork,
    arrays: Mapping[str, Tensor],
    *,
    step: int,
    losses: tuple[float, int],
) -> Path:
    """Save a training; every rank of the network calls it.

    Args:
        folder: where checkpoints lie; the newest two stay.
        training: which it is.
        network: the rank's part.
        arrays: what its optimiser remembers, like its parameters.
        step: steps taken.
        losses: sum and number of the losses of the epoch so far.

    Returns:
        The checkpoint's folder.

    Raises:
        InvalidFileError: this rank could not write.
        RankError: another one could not.
    """
    communicator = network.communicator
    name = secrets.token_hex(8) if communicator.rank == 0 else ""
    partial = folder / f"{PARTIAL_PREFIX}{share(communicator, name.encode())[0].decode()}"
    if communicator.rank == 0:
        together(communicator, lambda: _begin(folder, partial))
    else:
        together(communicator, lambda: None)
    named = {VALUE: network.parameters.flat, **arrays}
    mine = together(communicator, lambda: _write(partial, network, named))
    told = [
        msgspec.json.decode(text, type=tuple[StoredFile, list[Piece]])
        for text in share(communicator, msgspec.json.encode(mine))
    ]
    whole = folder / f"step-{step:09}"
    manifest = Checkpoint(
        training=training,
        step=step,
        losses=losses,
        arrays=list(named),
        files=[file for file, _ in told],
        pieces=[piece for _, pieces in told for piece in pieces],
    )
    finish = (lambda: _finish(partial, whole, manifest)) if communicator.rank == 0 else _nothing
    together(communicator, finish)
    return whole


def load_checkpoint(
    folder: Path, training: Training, network: RankedNetwork
) -> tuple[Checkpoint, dict[str, Tensor]] | None:
    """Give a network the weights of the newest checkpoint; every rank calls it.

    Args:
        folder: where checkpoints lie.
        training: which it must belong to.
        network: changed.

    Returns:
        Its manifest and what the optimiser remembers; None if there is no checkpoint.

    Raises:
        InvalidFileError: the checkpoint is damaged, or of another training.
        RankError: it was on another rank.
    """
    return together(network.communicator, lambda: _load(folder, training, network))


def newest(folder: Path) -> Path | None:
    """Return the newest whole checkpoint of a folder; None if there is none."""
    found = [path for path in _whole(folder) if (path / MANIFEST).is_file()]
    return found[-1] if found else None


def steps_of(checkpoint: Path) -> int:
    """Return after how many steps a checkpoint was saved.

    Example:
        >>> steps_of(Path("kept/step-000000012"))
        12
    """
    return int(checkpoint.name.partition("-")[2])


def digest_rows(tables: Iterable[Tensor]) -> str:
    """Return the sha256 of rows, whatever rank asks."""
    import hashlib

    found = hashlib.sha256()
    for table in tables:
        found.update(f"{tuple(table.shape)} {table.dtype}".encode())
        found.update(np.ascontiguousarray(table.numpy()).data)
    return found.hexdigest()


def _nothing() -> None:
    """Leave it to the first rank."""


def _begin(folder: Path, partial: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        sweep(folder)
        partial.mkdir()
    except OSError as error:
        raise _not_written(folder, error) from error


def _write(
    partial: Path, network: RankedNetwork, arrays: Mapping[str, Tensor]
) -> tuple[StoredFile, list[Piece]]:
    """Write one rank's file."""
    path = partial / f"rank-{network.rank:05}.safetensors"
    pieces: list[Piece] = []
    tensors: dict[str, Tensor] = {}
    for array, flat in arrays.items():
        found = list(pieces_of(network, network.parameters.views_of(flat)))
        pieces = [piece for piece, _, _ in found]
        for piece, weight_NC, bias_N in found:
            tensors[piece.key(array, "weight")] = weight_NC
            tensors[piece.key(array, "bias")] = bias_N
    try:
        save_file(tensors, path)
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        size = path.stat().st_size
        return StoredFile(name=path.name, size_bytes=size, sha256=file_sha256(path)), pieces
    except (OSError, SafetensorError) as error:
        raise _not_written(path, error) from error


def _finish(partial: Path, whole: Path, manifest: Checkpoint) -> None:
    """Give the folder its name once all is on the disk, and remove what is older than two."""
    save(partial / MANIFEST, manifest)
    try:
        sync_folder(partial)
        if whole.exists():  # a training that went on from an older one came here again
            shutil.rmtree(whole)
        partial.rename(whole)
        sync_folder(whole.parent)
        for old in _whole(whole.parent)[:-_KEPT]:
            shutil.rmtree(old)
    except OSError as error:
        raise _not_written(whole, error) from error


def _whole(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    named = [(match, path) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))]
    return [path for _, path in sorted((int(match[1]), path) for match, path in named)]


def _load(
    folder: Path, training: Training, network: RankedNetwork
) -> tuple[Checkpoint, dict[str, Tensor]] | None:
    path = newest(folder)
    if path is None:
        return None
    try:
        manifest = load(path / MANIFEST, Checkpoint).value
    except InvalidFileError as error:
        raise damaged(path, path / MANIFEST, str(error)) from error
    _check_same(path, manifest.training, training)
    flats = {
        name: network.parameters.flat
        if name == VALUE
        else torch.zeros_like(network.parameters.flat)
        for name in manifest.arrays
    }
    reader = Reader(path, manifest.files, manifest.pieces)
    for name, flat in flats.items():
        for piece, weight_NC, bias_N in pieces_of(network, network.parameters.views_of(flat)):
            reader.read(name, piece, weight_NC, bias_N)
            if piece.columns is not None:
                keep_own(bias_N.view(1, -1, 1), network.neurons_of(piece.layer))
    del flats[VALUE]
    return manifest, flats


def _check_same(path: Path, found: Training, wanted: Training) -> None:
    """Check that a checkpoint is of a training.

    Raises:
        InvalidFileError: it is of another one; says in what they differ.
    """
    ours, theirs = map(_told, (wanted, found))
    differences = list(_differences("", theirs, ours))
    if differences:
        raise InvalidFileError(
            f"{path} is of another training: {'; '.join(differences)}. Name another folder for "
            "checkpoints, or train as it was trained",
            path=str(path),
        )


def _told(training: Training) -> Any:  # noqa: ANN401 - JSON
    """Return what makes a training; of a dense network, shards say nothing about its weights."""
    told = msgspec.to_builtins(training)
    if training.shape.topology.halo == "full":
        told["shape"]["topology"]["shards"] = 1
    return told


def _differences(name: str, found: Any, wanted: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in wanted:
            yield from _differences(f"{name}.{key}" if name else key, found.get(key), wanted[key])
    elif found != wanted:
        yield f"its {name} is {found}, not {wanted}" if name != "data" else "its rows are others"


def _not_written(path: Path, error: Exception) -> InvalidFileError:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InvalidFileError(
        f"cannot write the checkpoint {path}: {why}; choose a place you may write to",
        path=str(path),
    )
