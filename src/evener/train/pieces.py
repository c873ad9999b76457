"""What the files of a checkpoint hold, and how a rank reads its part of them.

A piece is some neighbouring neurons of a layer: with all of their weights, or, where ranks add up
sums, with those that read one rank's values. So pieces are rectangles of a matrix, and whoever
reads takes what his rectangle has in common with each.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from safetensors import SafetensorError, safe_open
from torch import Tensor

from evener.artifacts.files import file_sha256
from evener.errors import InvalidFileError
from evener.train.parameters import Views
from evener.train.ranked import RankedNetwork


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """Neighbouring neurons of a layer that lie in one file.

    Attributes:
        file: index of the file.
        layer: from 1.
        first: the first neuron.
        stop: the one behind the last.
        columns: which of their weights, the first one and the one behind the last, where a rank has
            a part of each neuron's, whose biases are 0 but on the neuron's rank; None for all.
    """

    file: int
    layer: int
    first: int
    stop: int
    columns: tuple[int, int] | None = None

    def key(self, array: str, part: str) -> str:
        """Return the name of its weights or biases in the file."""
        return f"{array}.layer{self.layer}.{self.first}-{self.stop}.{part}"


class StoredFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a checkpoint.

    Attributes:
        name: in the folder.
        size_bytes: how long it is.
        sha256: of its bytes.
    """

    name: str
    size_bytes: int
    sha256: str


def pieces_of(network: RankedNetwork, views: Views) -> Iterator[tuple[Piece, Tensor, Tensor]]:
    """Yield the neurons of each run, their weights (N, C) and biases (N,).

    Args:
        network: the rank's part.
        views: of its parameters, or of an array like them.
    """
    for layer, (layer_runs, of_layer) in enumerate(zip(network.layers, views, strict=True), 1):
        start = network.neurons_of(layer).start
        for run, (weight_SMC, bias_SM1) in zip(layer_runs.runs, of_layer, strict=True):
            piece = Piece(
                file=network.rank,
                layer=layer,
                first=start + run.rows.start,
                stop=start + run.rows.stop,
                columns=_columns(network, layer),
            )
            yield piece, weight_SMC.flatten(0, 1), bias_SM1.flatten()


def _columns(network: RankedNetwork, layer: int) -> tuple[int, int] | None:
    """Return which columns of a layer's weights its rank has; None for all."""
    if not network.summed[layer - 1]:
        return None
    before = network.neurons_of(layer - 1)
    return before.start, before.stop


class Reader:
    """Reads pieces of a checkpoint's files, each of which is checked against its hash once.

    Args:
        path: of the checkpoint.
        files: of it.
        pieces: what they hold.
    """

    def __init__(self, path: Path, files: Sequence[StoredFile], pieces: Sequence[Piece]) -> None:
        self._path = path
        self._files = files
        self._pieces = pieces
        self._checked: set[int] = set()

    def read(self, array: str, mine: Piece, weight_NC: Tensor, bias_N: Tensor) -> None:
        """Copy some neurons' weights from wherever they lie, and add up their biases.

        Args:
            array: which: the values, or what the optimiser remembers of them.
            mine: the neurons.
            weight_NC: written.
            bias_N: written, that of each neuron whichever rank has it.

        Raises:
            InvalidFileError: a file is damaged, or weights are in none.
        """
        left = weight_NC.numel()
        bias_N.zero_()
        for piece in self._pieces:
            first, stop = max(piece.first, mine.first), min(piece.stop, mine.stop)
            if piece.layer != mine.layer or first >= stop:
                continue
            here = slice(first - mine.first, stop - mine.first)
            there = slice(first - piece.first, stop - piece.first)
            path = self._file(piece.file)
            try:
                with safe_open(path, framework="pt") as file:
                    weight = file.get_slice(piece.key(array, "weight"))
                    mine_C, theirs_C = _shared(mine, piece, weight_NC.shape[1], weight.get_shape())
                    if mine_C.stop > mine_C.start:
                        weight_NC[here, mine_C] = weight[there, theirs_C]
                    bias_N[here] += file.get_slice(piece.key(array, "bias"))[there]
            except (OSError, SafetensorError, RuntimeError) as error:
                raise damaged(self._path, path, str(error)) from error
            left -= (stop - first) * (mine_C.stop - mine_C.start)
        if left:
            raise damaged(
                self._path,
                self._path,
                f"{left} weights of layer {mine.layer} are in none of its files",
            )

    def _file(self, index: int) -> Path:
        stored = self._files[index]
        path = self._path / stored.name
        if index in self._checked:
            return path
        try:
            size = path.stat().st_size
            if size != stored.size_bytes:
                raise damaged(self._path, path, f"it has {size} bytes of {stored.size_bytes}")
            if file_sha256(path) != stored.sha256:
                raise damaged(self._path, path, "it does not match its sha256")
        except OSError as error:
            raise damaged(self._path, path, error.strerror or str(error)) from error
        self._checked.add(index)
        return path


def _shared(mine: Piece, theirs: Piece, count: int, shape: Sequence[int]) -> tuple[slice, slice]:
    """Return the columns that two pieces have in common: as counted in either.

    Args:
        mine: one piece.
        theirs: the other.
        count: columns of the one.
        shape: of the weights of the other.
    """
    first, last = mine.columns or (0, count)
    begins, ends = theirs.columns or (0, shape[1])
    start, stop = max(first, begins), max(min(last, ends), first, begins)
    return slice(start - first, stop - first), slice(start - begins, stop - begins)


def damaged(checkpoint: Path, path: Path, why: str) -> InvalidFileError:
    """Return the error that says what of a checkpoint is damaged, and what to do.

    Args:
        checkpoint: its folder.
        path: the file.
        why: what is wrong.
    """
    return InvalidFileError(
        f"cannot go on from {path}: {why}. Remove {checkpoint}, and training goes on from the "
        "checkpoint before, or anew",
        path=str(path),
    )
