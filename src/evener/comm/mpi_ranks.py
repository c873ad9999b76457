"""One rank of MPI among those that train a network together.

Exchanges are persistent requests on the arrays themselves. Waiting is looking again and again, for
MPI's own waits hang where a peer does. Neighbourhood collectives are not used: those of Open MPI 5
give wrong answers on rings of one and two ranks (open-mpi/ompi#14430).
"""

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NoReturn, Self
from weakref import WeakSet

from mpi4py import MPI  # noqa: TID251 - this is a module that speaks MPI

from evener.comm.collectives import Collectives
from evener.comm.communicator import Array, as_bytes
from evener.comm.started import outlive
from evener.errors import RankError, RankLostError, RankTimeoutError

PATIENCE_S: Final = 120.0
"""How long a rank waits for another, which may be busy elsewhere, as with a checkpoint."""

_COLLECTIVE_TAG: Final = 0
_SURE_TAGS: Final = 32_767  # that the standard promises
_SPINS: Final = 100  # looks before another process gets a turn: some 50 us
_SHORTEST_SLEEP_S: Final = 5e-5  # so much Linux adds to any sleep
_LONGEST_SLEEP_S: Final = 1e-3
_left_behind: list[object] = []  # what MPI may still read or write, after a wait that failed


@dataclass(frozen=True, slots=True)
class Machine:
    """What the ranks on this rank's machine share.

    Attributes:
        ranks: how many there are of all that were started.
        cores: how many cores they may use together.
    """

    ranks: int
    cores: int


@dataclass(frozen=True, slots=True)
class _Message:
    """What goes between this rank and another.

    Attributes:
        peer: the other.
        comes: whether it comes from there.
        data: the array's bytes.
        tag: what it is known by between the two.
    """

    peer: int
    comes: bool
    data: Array
    tag: int


class MpiRank:
    """One rank of MPI; see `evener.comm.communicator.Communicator`.

    Args:
        comm: the ranks, for this communicator alone, which frees it in the end.
        machine: what ranks share.
        timeout_s: how long another rank may take to answer, in seconds.

    Attributes:
        rank: number of this one, from 0.
        size: how many there are.
        machine: what ranks share.
    """

    def __init__(
        self, comm: MPI.Intracomm, machine: Machine, *, timeout_s: float = PATIENCE_S
    ) -> None:
        self._timeout_s = timeout_s
        self._take(comm, machine)

    def _take(self, comm: MPI.Intracomm, machine: Machine) -> None:
        self.rank = comm.rank
        self.size = comm.size
        self.machine = machine
        self._comm = comm
        self._waiting = _Waiting(comm, self._timeout_s, crowded=machine.ranks > machine.cores)
        self._tags = int(comm.Get_attr(MPI.TAG_UB) or _SURE_TAGS)
        self._opened: Counter[tuple[int, bool]] = Counter()
        self._exchanges: WeakSet[MpiExchange] = WeakSet()
        self._collectives = Collectives(self.rank, self.size, self._transfer)

    @classmethod
    def of_world(cls, *, timeout_s: float = PATIENCE_S) -> Self:
        """Be one of all ranks that were started, each of which must call it.

        Args:
            timeout_s: how long another rank may take to answer, in seconds.
        """
        return cls(MPI.COMM_WORLD.Dup(), _machine(MPI.COMM_WORLD), timeout_s=timeout_s)

    def open_exchange(
        self, name: str, sends: Mapping[int, Array], receives: Mapping[int, Array]
    ) -> "MpiExchange":
        """Prepare messages; see `Communicator.open_exchange`.

        Raises:
            ValueError: an array is not contiguous.
        """
        messages = [
            *(self._message(name, peer, array, comes=True) for peer, array in receives.items()),
            *(self._message(name, peer, array, comes=False) for peer, array in sends.items()),
        ]
        exchange = MpiExchange(self._comm, self._waiting, name, messages)
        self._exchanges.add(exchange)
        return exchange

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

    def split(self, colour: int) -> "MpiRank":
        """Divide the ranks; see `Communicator.split`."""
        self.barrier()  # what follows would wait for ever where a rank is missing
        comm = self._comm.Split(colour, self.rank)
        if not isinstance(comm, MPI.Intracomm):
            raise RankError(f"rank {self.rank}: splitting by colour {colour} gave no communicator")
        return MpiRank(comm, self.machine, timeout_s=self._timeout_s)

    def agree(self, *, well: bool) -> bool:
        """Return whether all is well on every rank and none has ended; each calls it.

        Args:
            well: whether it is here; if not, what others wait for ends by `RankLostError`.
        """
        if not well:
            self._comm.Revoke()
        try:
            return bool(self._comm.Agree(int(well)))
        except MPI.Exception:  # on all ranks alike: one ended
            return False

    def shrink(self) -> None:
        """Leave out the ranks that ended; numbers close up. Each that is left calls it."""
        left = MPI.Intracomm(self._comm.Shrink())
        self.close()
        self._take(left, self.machine)  # counting anew would hang if one more ended meanwhile

    def close(self) -> None:
        """Leave, and close what is still open."""
        for exchange in list(self._exchanges):
            exchange.close()
        self._comm.Free()

    def abort(self, code: int) -> NoReturn:
        """End all ranks that were started, at once.

        Args:
            code: the exit code.
        """
        MPI.COMM_WORLD.Abort(code)

    def _message(self, name: str, peer: int, array: Array, *, comes: bool) -> _Message:
        # Counted by peer and direction, for a rank does not open what it has no part in.
        number = self._opened[peer, comes]
        self._opened[peer, comes] += 1
        return _Message(peer, comes, as_bytes(array, name), 1 + number % self._tags)

    def _transfer(
        self, name: str, sends: Mapping[int, Array], receives: Mapping[int, Array]
    ) -> None:
        """Send and receive once."""
        messages = [
            _Message(peer, comes, as_bytes(array, name), _COLLECTIVE_TAG)
            for comes, arrays in ((True, receives), (False, sends))
            for peer, array in arrays.items()
        ]
        requests: list[MPI.Request] = []
        try:
            with self._waiting.translated(name):
                for one in messages:
                    begin = self._comm.Irecv if one.comes else self._comm.Isend
                    requests.append(begin([one.data, MPI.BYTE], one.peer, one.tag))
            self._waiting.end(name, requests, messages, [MPI.Status() for _ in messages])
        except RankError:
            _left_behind.append((requests, messages))
            raise


class MpiExchange:
    """Messages of one rank of MPI; see `evener.comm.communicator.Exchange`.

    Args:
        comm: the ranks.
        waiting: how to wait for them.
        name: for errors.
        messages: those that come first.
    """

    def __init__(
        self, comm: MPI.Intracomm, waiting: "_Waiting", name: str, messages: Sequence[_Message]
    ) -> None:
        self._waiting = waiting
        self._name = name
        self._messages = messages
        self._requests = [
            (comm.Recv_init if one.comes else comm.Send_init)(
                [one.data, MPI.BYTE], one.peer, one.tag
            )
            for one in messages
        ]
        self._statuses: list[MPI.Status] | None = [MPI.Status() for _ in messages]
        self._pending = False

    def start(self) -> None:
        """Begin to receive, and send what the arrays hold now.

        Raises:
            RankLostError: a rank ended.
        """
        self._pending = True
        with self._waiting.translated(self._name):
            MPI.Prequest.Startall(self._requests)

    def wait(self) -> None:
        """Return once everything is sent and received; after an error it can be called again.

        Raises:
            RankTimeoutError: a peer did not answer in time.
            RankLostError: a rank ended.
            RankError: it sent something else.
        """
        self._waiting.end(self._name, self._requests, self._messages, self._statuses)
        self._pending = False
        self._statuses = None  # sizes never change

    def close(self) -> None:
        """Give back the requests; what is still on its way keeps its arrays."""
        if self._pending:
            _left_behind.append((self._requests, self._messages))
        else:
            for request in self._requests:
                request.Free()
        self._requests = []


class _Waiting:
    """Waits of one rank: first busily, then letting others run, and not for ever.

    Args:
        comm: the ranks.
        timeout_s: how long, in seconds.
        crowded: whether there are more ranks than cores.
    """

    def __init__(self, comm: MPI.Intracomm, timeout_s: float, *, crowded: bool) -> None:
        self._comm = comm
        self._rank = comm.rank
        self._timeout_s = timeout_s
        self._sleep_share = 0.25 if crowded else 0.005  # of the time waited, so long is one sleep
        self._last = "nothing"

    def end(
        self,
        name: str,
        requests: Sequence[MPI.Request],
        messages: Sequence[_Message],
        statuses: list[MPI.Status] | None,
    ) -> None:
        """Return once all requests are completed.

        Args:
            name: what they are for.
            requests: some.
            messages: what each carries.
            statuses: where MPI says what came, if sizes are to be checked.

        Raises:
            RankTimeoutError: a peer did not answer in time.
            RankLostError: a rank ended.
            RankError: it sent more or less than there is room for.
        """
        with self.translated(name):
            if not self._completed(requests, statuses):
                self._complain(name, requests, messages)
                MPI.Request.Waitall(requests, statuses)  # all came just now
        if statuses is not None:
            self._check_sizes(name, messages, statuses)
        self._last = name

    @contextmanager
    def translated(self, name: str) -> Iterator[None]:
        """Say in our own words what MPI raises.

        Args:
            name: what for.

        Raises:
            RankLostError: a rank ended.
            RankError: anything else.
        """
        try:
            yield
        except MPI.Exception as error:
            where = f"rank {self._rank}: '{name}', which follows '{self._last}',"
            if outlive() and (self._comm.Is_revoked() or self._comm.Get_failed().size):
                raise RankLostError(
                    f"{where} cannot be ended, for a rank has; see above what ended it"
                ) from error
            raise RankError(
                f"{where} failed: {error}; all ranks must make the same calls in the same order, "
                "with arrays of the same sizes"
            ) from error

    def _completed(
        self, requests: Sequence[MPI.Request], statuses: list[MPI.Status] | None
    ) -> bool:
        test = MPI.Request.Testall
        for _ in range(_SPINS):
            if test(requests, statuses):
                return True
        began = time.monotonic()
        waited_s = 0.0
        while waited_s < self._timeout_s:
            if test(requests, statuses):
                return True
            sleep_s = min(waited_s * self._sleep_share, _LONGEST_SLEEP_S)
            if sleep_s < _SHORTEST_SLEEP_S:
                os.sched_yield()
            else:
                time.sleep(sleep_s)
            waited_s = time.monotonic() - began
        return test(requests, statuses)

    def _complain(
        self, name: str, requests: Sequence[MPI.Request], messages: Sequence[_Message]
    ) -> None:
        """Name the peers that did not answer, if any."""
        late = [
            message
            for request, message in zip(requests, messages, strict=True)
            if not request.Get_status()
        ]
        if not late:
            return
        first = late[0]
        others = sorted({one.peer for one in late} - {first.peer})
        raise RankTimeoutError(
            f"rank {self._rank}: rank {first.peer} {'sent' if first.comes else 'took'} nothing "
            f"for {self._timeout_s:g} s in '{name}' (tag {first.tag}), which follows "
            f"'{self._last}'{f'; nor did ranks {others}' if others else ''}. See what rank "
            f"{first.peer} does; if it is only slow, give ranks more time to answer",
            rank=self._rank,
            peer=first.peer,
            name=name,
        )

    def _check_sizes(
        self, name: str, messages: Sequence[_Message], statuses: Sequence[MPI.Status]
    ) -> None:
        for message, status in zip(messages, statuses, strict=True):
            if message.comes and status.Get_count(MPI.BYTE) != message.data.nbytes:
                raise RankError(
                    f"rank {self._rank}: rank {message.peer} sent {status.Get_count(MPI.BYTE)} "
                    f"bytes in '{name}' (tag {message.tag}) where {message.data.nbytes} were "
                    "expected; all ranks must open the same exchanges in the same order"
                )


def _machine(comm: MPI.Intracomm) -> Machine:
    near = comm.Split_type(MPI.COMM_TYPE_SHARED)
    # Each rank may be bound to cores of its own.
    cores = set[int]().union(*near.allgather(os.sched_getaffinity(0)))
    machine = Machine(near.size, len(cores))
    near.Free()
    return machine


def library() -> str:
    """Return the name and version of the MPI library in use."""
    name, version = MPI.get_vendor()
    return f"{name} {'.'.join(map(str, version))}"
