"""A service begins, is told to end, answers what is there, and ends."""

import os
import signal
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import httpx2
import pytest

from evener.errors import InputError
from evener.serve.predictor import Arrays
from evener.serve.server import bound, serve, url_of
from evener.testing.fake_predictor import FakePredictor, add_one

PATIENCE_S = 20.0
X = {"name": "x", "shape": [1, 3], "datatype": "FP32", "data": [1, 2, 3]}


def ask(url: str) -> int:
    url += "/v2/models/fake net/infer"
    status: int = httpx2.post(url, json={"inputs": [X]}, timeout=PATIENCE_S).status_code
    return status


def served(predictor: FakePredictor, meanwhile: Callable[[str], object]) -> Future[object]:
    """Serve until `meanwhile`, which another thread calls, has ended this; return its result."""
    with bound("127.0.0.1", 0) as listener, ThreadPoolExecutor(1) as other:
        begun: list[Future[object]] = []
        serve(
            predictor,
            listener,
            ready=lambda: begun.append(other.submit(meanwhile, url_of(listener))),
        )
        return begun[0]


def test_it_answers_until_sigterm_and_then_ends_in_peace() -> None:
    def meanwhile(url: str) -> int:
        status = ask(url)
        os.kill(os.getpid(), signal.SIGTERM)
        return status

    before = signal.getsignal(signal.SIGTERM)
    assert served(FakePredictor(), meanwhile).result(PATIENCE_S) == 200
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_request_that_is_there_is_answered_before_it_ends() -> None:
    computing, go_on = threading.Event(), threading.Event()

    def slowly(frame: Arrays) -> Arrays:
        computing.set()
        go_on.wait(PATIENCE_S)
        return add_one(frame)

    def meanwhile(url: str) -> int:
        with ThreadPoolExecutor(1) as client:
            status = client.submit(ask, url)
            assert computing.wait(PATIENCE_S)
            os.kill(os.getpid(), signal.SIGTERM)
            while True:  # until no new connection is taken
                try:
                    socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))).close()
                except OSError:
                    break
            assert not status.done()
            go_on.set()
            return status.result(PATIENCE_S)

    predictor = FakePredictor(slowly)
    with ThreadPoolExecutor(1) as predictor.pool:
        assert served(predictor, meanwhile).result(PATIENCE_S) == 200


def test_ctrl_c_ends_it_as_it_ends_any_command() -> None:
    def meanwhile(_: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        served(FakePredictor(), meanwhile)


def test_what_goes_wrong_when_it_is_ready_ends_it_and_comes_back() -> None:
    def ready() -> None:
        raise BrokenPipeError("nobody reads what I say")

    with bound("127.0.0.1", 0) as listener, pytest.raises(BrokenPipeError, match="nobody reads"):
        serve(FakePredictor(), listener, ready=ready)


def test_a_port_that_is_taken_is_refused_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = f"cannot listen at 127.0.0.1 port {port}: Address already in use; choose another"
        with pytest.raises(InputError, match=message):
            bound("127.0.0.1", port).__enter__()


def test_a_port_that_is_taken_meanwhile_is_refused_when_it_is_to_listen() -> None:
    with bound("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with (
            socket.create_server(("127.0.0.1", port)),
            pytest.raises(InputError, match=f"cannot listen at 127.0.0.1 port {port}: Address"),
        ):
            serve(FakePredictor(), listener, ready=lambda: None)


def test_a_host_that_is_not_here_is_refused() -> None:
    with pytest.raises(
        InputError, match="at 192.0.2.1 port 0: .*; give an address of this machine"
    ):
        bound("192.0.2.1", 0).__enter__()
    with pytest.raises(InputError, match="at no such host port 0: .*; give an address"):
        bound("no such host", 0).__enter__()


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_an_address_of_ipv6_has_brackets_in_its_url() -> None:
    try:
        with bound("::1", 0) as listener:
            assert url_of(listener) == f"http://[::1]:{listener.getsockname()[1]}"
    except InputError as error:
        pytest.skip(f"this machine has no address ::1: {error}")
