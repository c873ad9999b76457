"""Keep what the networks of a search have learned, so that their children begin from it."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import Network
from evener.artifacts.search_state import SearchState
from evener.errors import InvalidFileError
from evener.workflow.weight_files import arrays_of, read_arrays, weights_from_arrays, write_arrays

if TYPE_CHECKING:
    from evener.train.population.weights import Weights

_NETWORK: Final = "network"
_SUFFIX: Final = ".npz"


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

    def clear(self, but: Collection[str] = ()) -> None:
        """Remove what networks learned, but for some by their ids, and a folder that is empty."""
        if not self._folder.is_dir():
            return
        kept = {self._path(id_) for id_ in but}
        for path in self._folder.glob(f"*{_SUFFIX}"):
            if path not in kept:
                path.unlink(missing_ok=True)
        if not any(self._folder.iterdir()):  # what is no file of ours stays
            self._folder.rmdir()

    def keep(self, learned: "Mapping[Network, Weights | None]") -> None:
        """Write what networks have learned; those that learned nothing leave no file of before."""
        for network, weights in learned.items():
            if weights is None or not isinstance(network, LayerGraph):
                self._path(network.id).unlink(missing_ok=True)
                continue
            arrays = arrays_of(weights)
            arrays[_NETWORK] = np.frombuffer(msgspec.json.encode(network), np.uint8)
            write_arrays(self._path(network.id), arrays)

    def _read(self, id_: str) -> "tuple[LayerGraph, Weights]":
        path = self._path(id_)
        try:
            arrays = read_arrays(path)
            network = msgspec.json.decode(arrays.pop(_NETWORK).tobytes(), type=LayerGraph)
            return network, weights_from_arrays(arrays)
        except (InvalidFileError, ValueError, KeyError, msgspec.MsgspecError) as error:
            raise InvalidFileError(
                f"{path} does not hold what a network learned ({error}): remove its folder, and "
                "the search begins anew",
                path=str(path),
            ) from error

    def _path(self, id_: str) -> Path:
        return self._folder / f"{id_}{_SUFFIX}"
