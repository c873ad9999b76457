"""How the neurons of a network are divided into shards, and which of them see which.

Shards belong to the network: they say which weights exist. Ranks belong to a run: they say who
computes which shards. So one network trains on any number of ranks, and comes out the same.
"""

from typing import Literal

import msgspec

from evener.errors import InputError

Halo = int | Literal["full"]
InputLayout = Literal["replicated", "sharded"]


class Topology(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which neurons of a layer each shard of the next one sees.

    A shard sees its own neurons of the layer before, and `halo` more on either side; the layer is a
    ring, so that the first neuron follows the last. See `evener.train.sharding` for the lists.

    Attributes:
        shards: how many; a layer of fewer neurons has as many shards as neurons.
        halo: neurons of either neighbour, 1 being those on the boundary; "full" for all neurons,
            which makes the network dense.
        shuffle: whether hidden neurons are dealt out anew to the shards before each layer, as
            channels are by ShuffleNet (Zhang et al., 2017).
        coarse: how many means of its neurons each shard shows to all others.
        input: whether every shard sees the whole input, or only its part like that of a layer.
    """

    shards: int = 1
    halo: Halo = "full"
    shuffle: bool = False
    coarse: int = 0
    input: InputLayout = "replicated"

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: fewer than one shard, or a halo or a coarse width below 0.
        """
        if self.shards < 1:
            raise InputError(f"{self.shards} shards: a network has 1 or more")
        if self.halo != "full" and self.halo < 0:
            raise InputError(f"a halo of {self.halo}: give 0 or more neurons, or full")
        if self.coarse < 0:
            raise InputError(f"{self.coarse} coarse values: give 0 or more")

    @property
    def dense(self) -> bool:
        """Whether every neuron sees every neuron of the layer before."""
        return self.halo == "full" or (self.shards == 1 and self.coarse == 0)

    @property
    def pools_input(self) -> bool:
        """Whether shards see means of one another's features, which then need one scaling."""
        return self.coarse > 0 and self.input == "sharded"

    def __str__(self) -> str:
        """Say it in a few words.

        Example:
            >>> str(Topology(shards=8, halo=1, coarse=2, input="sharded"))
            '8 shards, halo 1, 2 coarse values, input sharded'
        """
        parts = [f"{self.shards} shard{'s' * (self.shards > 1)}", f"halo {self.halo}"]
        if self.shuffle:
            parts.append("shuffled")
        if self.coarse:
            parts.append(f"{self.coarse} coarse value{'s' * (self.coarse > 1)}")
        return ", ".join([*parts, f"input {self.input}"])


def halo_of(name: int | Literal["full", "boundary"]) -> Halo:
    """Return the halo that a number or a name stands for.

    Example:
        >>> halo_of("boundary"), halo_of(16), halo_of("full")
        (1, 16, 'full')
    """
    return 1 if name == "boundary" else name


def parse_halo(text: str) -> Halo:
    """Read a halo: a number, "boundary" for 1, or "full".

    Raises:
        InputError: anything else.

    Example:
        >>> parse_halo("boundary"), parse_halo("16"), parse_halo("full")
        (1, 16, 'full')
    """
    if text == "full":
        return "full"
    if text == "boundary":
        return halo_of("boundary")
    if text.isascii() and text.isdigit():
        return int(text)
    raise InputError(f"'{text}' is no halo: give a number of neurons, boundary (1) or full")
