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
        timeout_s: how long another rank may take to answer, in seconds.

    Attributes:
        rank: number of this one, from 0.
        size: how many there are.
    """

    def __init__(self, group: dist.ProcessGroup, *, timeout_s: float = PATIENCE_S) -> None:
        self.rank = dist.get_rank(group)
        self.size = dist.get_world_size(group)
        self._group = group
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
        if backend == "nccl":
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        dist.init_process_group(backend, timeout=timedelta(seconds=timeout_s))
        world = dist.group.WORLD
        if world is None:
            raise RankError("torch.distributed made no group of all processes")
        return cls(world, timeout_s=timeout_s)

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
        return TorchRank(group, timeout_s=self._timeout_s)

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
        return _Message(self._group, peer, as_bytes(array, name), comes=comes, tag=tag)

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
        comes: whether it comes from there.
        tag: what it is known by between the two.
    """

    def __init__(
        self, group: dist.ProcessGroup, peer: int, data: Array, *, comes: bool, tag: int
    ) -> None:
        self.peer = peer
        self.comes = comes
        self.tag = tag
        self.here = torch.from_numpy(data)
        self.sent = self.here.cuda() if dist.get_backend(group) == "nccl" else self.here
        self.operation = dist.P2POp(
            dist.irecv if comes else dist.isend, self.sent, group=group, tag=tag, group_peer=peer
        )

    def stage(self, source: Tensor, target: Tensor) -> None:
        """Copy between the host and a GPU, if there is one."""
        if source is not target:
            target.copy_(source)


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
        self._messages = [message for message in messages if message.here.numel()]
        self._works: list[dist.Work] = []

    def start(self) -> None:
        """Begin to receive, and send what the arrays hold now."""
        for message in self._messages:
            if not message.comes:
                message.stage(message.here, message.sent)
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
                self._end(work, until)
            except (RuntimeError, TimeoutError) as error:
                raise self._explained(error, message) from error
        self._works = []
        for message in self._messages:
            if message.comes:
                message.stage(message.sent, message.here)

    def close(self) -> None:
        """Hold nothing."""
        self._messages = []

    def _end(self, work: dist.Work, until: float) -> None:
        if self._messages[0].sent.is_cuda:  # to wait would only put it in line
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
