"""The section [train] of a project: how the chosen network is trained, and on how many ranks."""

from collections.abc import Sequence
from math import ceil
from typing import Literal

import msgspec

from evener.artifacts.dataset import SplitName
from evener.artifacts.topology import Topology, halo_of
from evener.errors import InvalidProjectError

ClassWeight = Literal["none", "balanced"]
Deliver = Literal["network", "recommended"]


class TrainSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the chosen architecture is trained.

    Attributes:
        epochs: passes over the training split.
        batch: rows per step.
        learning_rate: of Adam, at its peak.
        class_weight: "balanced" if rare classes, or labels, are to count as much as common ones.
        dropout: probability with which a step leaves a hidden unit of layers out; blocks of
            convolutions leave none out.
        shift: by how many places pictures are moved at random, at most; 0 for none.
        mirror: whether left and right of a picture change places at random.
        prune: share of the hidden units, or of the channels of blocks, that is taken out of a
            network after its epochs; a third as many epochs follow. 0 for none.
        refit: whether the network that is delivered learns from the validation rows too, once it
            was chosen by them.
        deliver: "network", or "recommended" for the simple model that answers the validation rows
            better, where there is one.
        seed: what the randomness is drawn from.
        ranks: processes that train it together.
        replicas: copies of it that divide the ranks among them, and the rows of a step.
        shards: into how many the neurons of a layer are divided; one for each rank of a replica if
            None.
        halo: neurons of either neighbour that a shard sees, "boundary" for 1, or "full" for all.
    """

    epochs: int = 60
    batch: int = 32
    learning_rate: float = 0.003
    class_weight: ClassWeight = "none"
    dropout: float = 0.0
    shift: int = 0
    mirror: bool = False
    prune: float = 0.0
    refit: bool = True
    deliver: Deliver = "network"
    seed: int = 0
    ranks: int = 1
    replicas: int = 1
    shards: int | None = None
    halo: int | Literal["full", "boundary"] = "full"

    @property
    def topology(self) -> Topology:
        """Which neurons of the network see which.

        Example:
            >>> str(TrainSection(ranks=2, shards=4, halo="boundary").topology)
            '4 shards, halo 1, input replicated'
        """
        shards = self.shards or self.ranks // self.replicas
        return Topology(shards=shards, halo=halo_of(self.halo))

    @property
    def plain(self) -> "TrainSection":
        """The same for one process and a network that is not divided."""
        return msgspec.structs.replace(self, ranks=1, replicas=1, shards=None, halo="full")

    @property
    def sharded(self) -> bool:
        """Whether shards of a network are trained, on one rank or more."""
        return self != self.plain

    def of(self, topology: Topology | None) -> "TrainSection":
        """Return the same for a network that is divided into shards already; itself for None.

        Args:
            topology: shards and halo of the network.
        """
        if topology is None:
            return self
        return msgspec.structs.replace(self, shards=topology.shards, halo=topology.halo)

    @property
    def chooses(self) -> "TrainSection":
        """The same for networks of which one is to be chosen by the validation rows."""
        return msgspec.structs.replace(self, refit=False, deliver="network")

    @property
    def passes(self) -> int:
        """All passes over the rows, those after units were taken out included.

        Example:
            >>> TrainSection(epochs=20).passes, TrainSection(epochs=20, prune=0.5).passes
            (20, 27)
        """
        return self.epochs + (ceil(self.epochs / 3) if self.prune else 0)

    @property
    def learned_from(self) -> tuple[SplitName, ...]:
        """The parts of the split whose rows are learned from.

        Example:
            >>> TrainSection().learned_from, TrainSection().chooses.learned_from
            (('train', 'validation'), ('train',))
        """
        return ("train", "validation") if self.refit else ("train",)

    @property
    def network(self) -> "TrainSection":
        """What of it a network depends on: not who computes, nor shards that see everything."""
        halo = self.topology.halo
        shards = None if halo == "full" else self.shards
        return msgspec.structs.replace(
            self, ranks=1, replicas=1, shards=shards, halo=halo, deliver="network"
        )


def check_train(train: TrainSection) -> None:
    """Check what no type says.

    Raises:
        InvalidProjectError: ranks, shards or views that do not go together, a dropout that is no
            probability, or a share of units that leaves none.
    """
    if not 0 <= train.dropout < 1:
        raise InvalidProjectError(
            f"train.dropout = {train.dropout} must be at least 0 and below 1, such as 0.3",
            key="train.dropout",
        )
    if not 0 <= train.prune < 1:
        raise InvalidProjectError(
            f"train.prune = {train.prune} must be at least 0 and below 1, such as 0.5",
            key="train.prune",
        )
    _check_ranks(train)
    if train.sharded:
        _check_plain(train, "train.ranks and train.shards", "one rank")


def _check_ranks(train: TrainSection) -> None:
    ranks, replicas, shards = train.ranks, train.replicas, train.shards
    if ranks % replicas:
        raise InvalidProjectError(
            f"train.ranks = {ranks} and train.replicas = {replicas}: each replica has as many "
            f"ranks; give {replicas} ranks or a multiple of it",
            key="train.replicas",
        )
    if train.batch < replicas:
        raise InvalidProjectError(
            f"train.batch = {train.batch} and train.replicas = {replicas}: each replica takes a "
            f"part of a batch; give a batch of {replicas} or more",
            key="train.batch",
        )
    if shards is not None and shards < ranks // replicas:
        raise InvalidProjectError(
            f"train.shards = {shards} and {ranks // replicas} ranks for each replica: a rank has "
            f"one shard or more; give {ranks // replicas} shards or more, or fewer ranks",
            key="train.shards",
        )
    if shards is None and train.halo != "full":
        raise InvalidProjectError(
            f"train.halo = {train.halo} without train.shards: shards say which weights exist, on "
            f"any number of ranks; write shards = {max(ranks // replicas, 2)}, or more",
            key="train.shards",
        )


def check_search_of_shards(train: TrainSection, shards: Sequence[int]) -> None:
    """Check what no type says where the search decides how a network is divided.

    Args:
        train: how it is trained.
        shards: into how many it may be divided; none if it is not.

    Raises:
        InvalidProjectError: both sections say how, or the training is for networks that are not
            divided, or for more ranks than there may be shards.
    """
    divided = [one for one in shards if one > 1]
    if not divided:
        return
    for key, is_set in (("shards", train.shards is not None), ("halo", train.halo != "full")):
        if is_set:
            value = msgspec.json.encode(getattr(train, key)).decode()
            raise InvalidProjectError(
                f"train.{key} = {value} divides the network that search.shards = {list(shards)} "
                "would divide: leave out train.shards and train.halo for what the search finds, or "
                "search.shards and search.halos",
                key=f"train.{key}",
            )
    _check_plain(train, "search.shards and search.halos", "networks that are not divided")
    each = train.ranks // train.replicas
    if divided[0] < each:
        raise InvalidProjectError(
            f"train.ranks = {train.ranks} has {each} ranks for each replica, and search.shards = "
            f"{list(shards)} may divide a network into {divided[0]}: a rank has one shard or more; "
            f"give {each} shards or more, or fewer ranks",
            key="train.ranks",
        )


def _check_plain(train: TrainSection, others: str, what: str) -> None:
    """Refuse what divided networks are not trained by."""
    for key, is_set in (
        ("class_weight", train.class_weight != "none"),
        ("dropout", train.dropout > 0),
        ("prune", train.prune > 0),
        ("shift", train.shift > 0),
        ("mirror", train.mirror),
    ):
        if is_set:
            value = msgspec.json.encode(getattr(train, key)).decode()
            raise InvalidProjectError(
                f"train.{key} = {value} is for {what}: leave it out, or {others}",
                key=f"train.{key}",
            )
