"""A private line to another process: whole objects, and open files with them.

Both ends belong to one pipeline, so that objects travel pickled.
"""

import pickle
import socket
import struct
from collections.abc import Sequence
from threading import Lock
from typing import Any, Final

_HEAD: Final = struct.Struct("<QB")  # bytes of the object, number of files
_MOST_FILES: Final = 32


class LineEndedError(Exception):
    """The other end is gone."""


class Link:
    """One end of a line; `send` may be called by several threads, `receive` by one.

    Args:
        end: a connected stream socket of the Unix domain.

    Example:
        >>> here, there = map(Link, socket.socketpair())
        >>> here.send({"frames": 3})
        >>> there.receive()
        ({'frames': 3}, [])
        >>> here.close(), there.close()
        (None, None)
    """

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._sending = Lock()

    def send(self, thing: object, files: Sequence[int] = ()) -> None:
        """Send an object, and copies of some open files.

        Raises:
            LineEndedError: nobody is there to read it.
        """
        body = pickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL)
        try:
            with self._sending:
                socket.send_fds(self._end, [_HEAD.pack(len(body), len(files))], list(files))
                self._end.sendall(body)
        except OSError as error:
            raise LineEndedError from error

    def receive(self) -> tuple[Any, list[int]]:
        """Wait for the next object; return it with the file descriptors that came along.

        Raises:
            LineEndedError: there will be none.
        """
        try:
            head, files, _, _ = socket.recv_fds(self._end, _HEAD.size, _MOST_FILES)
            head += self._read(_HEAD.size - len(head))
            size, _ = _HEAD.unpack(head)
            body = self._read(size)
        except OSError as error:
            raise LineEndedError from error
        return pickle.loads(body), list(files)  # noqa: S301 - written by a process of this pipeline

    def close(self) -> None:
        """Hang up; a second call does nothing."""
        self._end.close()

    def _read(self, size: int) -> bytearray:
        read = bytearray(size)
        rest = memoryview(read)
        while rest:
            count = self._end.recv_into(rest)
            if count == 0:
                raise LineEndedError
            rest = rest[count:]
        return read
