"""Keep what the networks of a search have learned, so that their children begin from it."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zipfile import BadZipFile

import msgspec
import numpy as np

from evener.artifacts.files import write_whole
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import Network
from evener.artifacts.search_state import SearchState
from evener.errors import InvalidFileError

if TYPE_CHECKING:
    from evener.train.population.weights import Weights

_NETWORK: Final = "network"


class Learned:
    """The weights that networks of layers ended their trials with, a file for each.

    Args:
        folder: where the files lie; made when the first is written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def holds(self, state: SearchState) -> bool:
        """Whether there is a file, and a whole one, of each network of a search with a quality."""
        try:
            for one in state.scored:
                if one.score.quality is not None:
                    self._read(one.score.id)
        except InvalidFileError:
            return False
        return True

    def of(self, ids: Sequence[str]) -> "tuple[tuple[LayerGraph, Weights], ...]":
        """Return the networks of some ids and what they learned, those that learned something.

        Raises:
            InvalidFileError: a file is damaged.
        """
        return tuple(self._read(id_) for id_ in ids if self._path(id_).is_file())

    def keep(self, learned: "Mapping[Network, Weights | None]") -> None:
        """Write what networks have learned; those that learned nothing leave no file of before."""
        for network, weights in learned.items():
            if weights is None or not isinstance(network, LayerGraph):
                self._path(network.id).unlink(missing_ok=True)
                continue
            arrays: dict[str, Any] = {
                f"link {start} {end}": one for (start, end), one in weights.links.items()
            }
            arrays |= {f"bias {number}": one for number, one in enumerate(weights.biases)}
            content = io.BytesIO()
            arrays[_NETWORK] = np.frombuffer(msgspec.json.encode(network), np.uint8)
            np.savez(content, **arrays)
            self._folder.mkdir(exist_ok=True)
            write_whole(self._path(network.id), content.getvalue())

    def _read(self, id_: str) -> "tuple[LayerGraph, Weights]":
        path = self._path(id_)
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as kept:
                return _unpacked(dict(kept))
        except (OSError, EOFError, ValueError, KeyError, BadZipFile, msgspec.MsgspecError) as error:
            raise InvalidFileError(
                f"{path} does not hold what a network learned ({error}): remove its folder, and "
                "the search begins anew",
                path=str(path),
            ) from error

    def _path(self, id_: str) -> Path:
        return self._folder / f"{id_}.npz"


def _unpacked(arrays: dict[str, Any]) -> "tuple[LayerGraph, Weights]":
    from evener.train.population.weights import Weights

    network = msgspec.json.decode(arrays.pop(_NETWORK).tobytes(), type=LayerGraph)
    links = {}
    for name, array in arrays.items():
        kind, *nodes = name.split()
        if kind == "link":
            start, end = map(int, nodes)
            links[start, end] = array
    biases = tuple(arrays[f"bias {number}"] for number in range(len(arrays) - len(links)))
    return network, Weights(links, biases)
