"""Keep what the networks of a search have learned, so that their children begin from it."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from evener.artifacts.files import write_whole
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import Network
from evener.artifacts.search_state import SearchState

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
        """Whether there is a file of each network of a search that has a quality."""
        scores = [one.score for one in state.scored]
        return all(self._path(one.id).is_file() for one in scores if one.quality is not None)

    def of(self, ids: Sequence[str]) -> "tuple[tuple[LayerGraph, Weights], ...]":
        """Return the networks of some ids and what they learned, those that learned something."""
        return tuple(self._read(id_) for id_ in ids if self._path(id_).is_file())

    def keep(self, learned: "Mapping[Network, Weights | None]") -> None:
        """Write what networks have learned; nothing of those that learned nothing."""
        for network, weights in learned.items():
            if weights is None or not isinstance(network, LayerGraph):
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
        from evener.train.population.weights import Weights

        with np.load(self._path(id_), allow_pickle=False) as kept:
            network = msgspec.json.decode(kept[_NETWORK].tobytes(), type=LayerGraph)
            links = {
                (int(start), int(end)): kept[f"link {start} {end}"]
                for start, end in (
                    name.split()[1:] for name in kept.files if name.startswith("link ")
                )
            }
            count = sum(name.startswith("bias ") for name in kept.files)
            biases = tuple(kept[f"bias {number}"] for number in range(count))
        return network, Weights(links, biases)

    def _path(self, id_: str) -> Path:
        return self._folder / f"{id_}.npz"
