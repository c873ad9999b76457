"""One rank of torch.distributed among those that train a network together.

For whoever starts processes by torchrun. On CPUs MPI is many times quicker; by nccl, which sends
between GPUs only, every array is copied there and back.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final, Literal, NoReturn, Self

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from evener.comm.collectives import Collectives
from evener.comm.communicator import Array, as_bytes
from evener.errors import RankError, RankTimeoutError

PATIENCE_S: Final = 120.0
"""How long a rank waits for another, which may be busy elsewhere, as with a checkpoint."""

_COLLECTIVE_TAG: Final = 0
_LOOK_S: Final = 2e-5


class TorchRank:
    """One rank of torch.distributed; see `evener.comm.communicator.Communicator`.

    Args:
        group: the ranks, for this communicator alone, which ends it.
        staging: where each array has a copy that is sent or received; None to use the array.
        timeout_s: how long another rank may take to answer, in seconds.

    Attributes:
        rank: number of this one, from 0.
        size: how many there are.
    """

    def __init__(
        self,
        group: dist.ProcessGroup,
        *,
        staging: torch.device | None = None,
        timeout_s: float = PATIENCE_S,
    ) -> None:
        self.rank = dist.get_rank(group)
        self.size = dist.get_world_size(group)
        self._group = group
        self._staging = staging
        self._timeout_s = timeout_s
        self._opened: Counter[tuple[int, bool]] = Counter()
        self._collectives = Collectives(self.rank, self.size, self._transfer)

    @classmethod
    def of_world(
        cls, *, backend: Literal["gloo", "nccl"] = "gloo", timeout_s: float = PATIENCE_S
    ) -> Self:
        """Be one of all processes that were started, each of which must call it.

        Args:
            backend: what carries messages; nccl wants a GPU for each process.
            timeout_s: how long another rank may take to answer, in seconds.
        """
        staging = None
        if backend == "nccl":
            staging = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
            torch.cuda.set_device(staging)
        dist.init_process_group(backend, timeout=timedelta(seconds=timeout_s))
        world = dist.group.WORLD
        if world is None:
            raise RankError("torch.distributed made no group of all processes")
        return cls(world, staging=staging, timeout_s=timeout_s)

    def open_exchange(
        self, name: str, sends: Mapping[int, Array], receives: Mapping[int, Array]
    ) -> "TorchExchange":
        """Prepare messages; see `Communicator.open_exchange`.

        Raises:
            ValueError: an array is not contiguous.
        """
        messages = [
            *(self._message(name, peer, array, comes=True) for peer, array in receives.items()),
            *(self._message(name, peer, array, comes=False) for peer, array in sends.items()),
        ]
        return TorchExchange(self.rank, self._timeout_s, name, messages)

    def all_gather(self, part: Array, parts: Sequence[Array]) -> None:
        """Give every rank what each has; see `Communicator.all_gather`."""
        self._collectives.all_gather(part, parts)

    def reduce_scatter(self, parts: Sequence[Array], total: Array) -> None:
        """Add what all ranks have for each; see `Communicator.reduce_scatter`."""
        self._collectives.reduce_scatter(parts, total)

    def broadcast(self, array: Array, *, root: int) -> None:
        """Give every rank what one has; see `Communicator.broadcast`."""
        self._collectives.broadcast(array, root=root)

    def barrier(self) -> None:
        """Return once every rank has called it."""
        self._collectives.barrier()

    def split(self, colour: int) -> "TorchRank":
        """Divide the ranks; see `Communicator.split`."""
        colours = np.zeros((self.size, 1), np.int64)
        self.all_gather(np.array([colour]), list(colours))
        alike = np.flatnonzero(colours[:, 0] == colour).tolist()
        group = dist.new_group(
            [dist.get_global_rank(self._group, rank) for rank in alike],
            timeout=timedelta(seconds=self._timeout_s),
            use_local_synchronization=True,
        )
        return TorchRank(group, staging=self._staging, timeout_s=self._timeout_s)

    def close(self) -> None:
        """Leave."""
        dist.destroy_process_group(self._group)

    def abort(self, code: int) -> NoReturn:
        """End this process at once; torchrun then ends the others.

        Args:
            code: the exit code.
        """
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    def _message(
        self, name: str, peer: int, array: Array, *, comes: bool, tag: int | None = None
    ) -> "_Message":
        if tag is None:
            # Counted by peer and direction, for a rank does not open what it has no part in.
            self._opened[peer, comes] += 1
            tag = self._opened[peer, comes]
        data = torch.from_numpy(as_bytes(array, name))
        return _Message(self._group, peer, data, self._staging, comes=comes, tag=tag)

    def _transfer(
        self, name: str, sends: Mapping[int, Array], receives: Mapping[int, Array]
    ) -> None:
        """Send and receive once."""
        messages = [
            self._message(name, peer, array, comes=comes, tag=_COLLECTIVE_TAG)
            for comes, arrays in ((True, receives), (False, sends))
            for peer, array in arrays.items()
        ]
        exchange = TorchExchange(self.rank, self._timeout_s, name, messages)
        exchange.start()
        exchange.wait()


class _Message:
    """What goes between this rank and another.

    Args:
        group: the ranks.
        peer: the other.
        data: the array's bytes.
        staging: where they have a copy that is sent or received, if they do.
        comes: whether it comes from there.
        tag: what it is known by between the two.
    """

    def __init__(
        self,
        group: dist.ProcessGroup,
        peer: int,
        data: Tensor,
        staging: torch.device | None,
        *,
        comes: bool,
        tag: int,
    ) -> None:
        self.peer = peer
        self.comes = comes
        self.tag = tag
        self.data = data
        self._copy = data if staging is None else data.to(staging, copy=True)
        self.operation = dist.P2POp(
            dist.irecv if comes else dist.isend, self._copy, group=group, tag=tag, group_peer=peer
        )
        self.on_gpu = self._copy.is_cuda

    def prepare(self) -> None:
        """Copy what is to be sent."""
        if not self.comes and self._copy is not self.data:
            self._copy.copy_(self.data)

    def finish(self) -> None:
        """Copy what came."""
        if self.comes and self._copy is not self.data:
            self.data.copy_(self._copy)


class TorchExchange:
    """Messages of one rank of torch.distributed; see `evener.comm.communicator.Exchange`.

    Args:
        rank: which.
        timeout_s: how long another may take to answer, in seconds.
        name: for errors.
        messages: those that come first.
    """

    def __init__(
        self, rank: int, timeout_s: float, name: str, messages: Sequence[_Message]
    ) -> None:
        self._rank = rank
        self._timeout_s = timeout_s
        self._name = name
        # gloo does not send nothing.
        self._messages = [message for message in messages if message.data.numel()]
        self._works: list[dist.Work] = []

    def start(self) -> None:
        """Begin to receive, and send what the arrays hold now."""
        for message in self._messages:
            message.prepare()
        if self._messages:
            self._works = dist.batch_isend_irecv([one.operation for one in self._messages])

    def wait(self) -> None:
        """Return once everything is sent and received; see `Exchange.wait`.

        Raises:
            RankTimeoutError: a peer did not answer in time.
            RankError: it sent something else, or is gone.
        """
        until = time.monotonic() + self._timeout_s
        # Where a backend carries all messages as one, any of them may be what is late.
        for work, message in zip(self._works, self._messages, strict=False):
            try:
                self._end(work, until, on_gpu=message.on_gpu)
            except (RuntimeError, TimeoutError) as error:
                raise self._explained(error, message) from error
        self._works = []
        for message in self._messages:
            message.finish()

    def close(self) -> None:
        """Hold nothing."""
        self._messages = []

    @staticmethod
    def _end(work: dist.Work, until: float, *, on_gpu: bool) -> None:
        if on_gpu:  # where to wait only puts it in line
            while not work.is_completed():
                if time.monotonic() > until:
                    raise TimeoutError("it did not end in time")
                time.sleep(_LOOK_S)
        work.wait(timedelta(seconds=max(until - time.monotonic(), 1e-3)))

    def _explained(self, error: Exception, message: _Message) -> RankError:
        late = "imed out" in str(error) or isinstance(error, TimeoutError)
        if not late:
            return RankError(
                f"rank {self._rank}: '{self._name}' with rank {message.peer} failed: {error}; "
                "either that rank is gone, or it does not make the same calls in the same order "
                "with arrays of the same sizes"
            )
        return RankTimeoutError(
            f"rank {self._rank}: rank {message.peer} {'sent' if message.comes else 'took'} nothing "
            f"for {self._timeout_s:g} s in '{self._name}' (tag {message.tag}). See what rank "
            f"{message.peer} does; if it is only slow, give ranks more time to answer",
            rank=self._rank,
            peer=message.peer,
            name=self._name,
        )
