"""A line to another process."""

import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from evener.comm.link import LineEndedError, Link


@pytest.fixture
def ends() -> Iterator[tuple[Link, Link]]:
    here, there = map(Link, socket.socketpair())
    yield here, there
    here.close()
    there.close()


def test_large_objects_and_open_files_arrive_in_order(ends: tuple[Link, Link]) -> None:
    here, there = ends
    source, sink = os.pipe()

    def send() -> None:
        here.send(b"x" * 10**7, [sink])
        here.send({"next": 1})

    with ThreadPoolExecutor(1) as sender:
        sent = sender.submit(send)
        first, (copy,) = there.receive()
        second, none = there.receive()
        sent.result(20)
    os.write(copy, b"through a copy")

    assert first == b"x" * 10**7
    assert (second, none) == ({"next": 1}, [])
    assert os.read(source, 100) == b"through a copy"
    for handle in (source, sink, copy):
        os.close(handle)


def test_the_end_of_the_other_side_is_an_error_in_both_directions(
    ends: tuple[Link, Link],
) -> None:
    here, there = ends
    there.close()

    with pytest.raises(LineEndedError):
        here.receive()
    with pytest.raises(LineEndedError):
        here.send(1)
    with pytest.raises(LineEndedError):
        there.receive()


def test_an_object_that_is_cut_off_is_the_end() -> None:
    raw, far = socket.socketpair()
    link = Link(far)
    raw.sendall(b"\x05\0\0\0\0\0\0\0\0ab")
    raw.close()

    with pytest.raises(LineEndedError):
        link.receive()
    link.close()
