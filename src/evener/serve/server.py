"""Listen on a port until the process is told to end, then answer what has come, and end."""

import errno
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import uvicorn  # noqa: TID251 - the web server lives here

from evener.errors import EvenerError, InputError
from evener.serve.app import make_app
from evener.serve.predictor import Predictor

_BACKLOG: Final = 2048  # connections that the kernel may hold until they are taken
_DRAIN_S: Final = 30  # for the requests that are there when it is to end


@contextmanager
def bound(host: str, port: int) -> Iterator[socket.socket]:
    """Take a port, so that what comes before serving is not done in vain.

    Args:
        host: name or address to listen at.
        port: number of the port; 0 for any that is free.

    Yields:
        The socket, which does not listen yet.

    Raises:
        InputError: the port is taken, or the host is none of this machine's.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        taken = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InputError(_cannot(host, port, error)) from error
    with taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(address)
        except OSError as error:
            raise InputError(_cannot(host, port, error)) from error
        yield taken


def url_of(listener: socket.socket) -> str:
    """Return the URL that a socket is reached at.

    Example:
        >>> with bound("127.0.0.1", 0) as listener:
        ...     url_of(listener)
        'http://127.0.0.1:...'
    """
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(predictor: Predictor, listener: socket.socket, *, ready: Callable[[], None]) -> None:
    """Serve a model until SIGTERM or Ctrl-C.

    Then no connection is taken any more; requests that are there are answered, for at most 30 s.

    Args:
        predictor: answers the requests.
        listener: as `bound` makes it.
        ready: called once requests are taken. What it raises ends the service, and is raised again.

    Raises:
        KeyboardInterrupt: it was Ctrl-C.
        InputError: someone else has come to listen at the port since it was bound.
        EvenerError: the server did not start.
    """
    # Before the server has it: that one goes on to listen itself, whatever failed while it started.
    _listen(listener)
    failures: list[BaseException] = []

    def started() -> None:
        try:
            ready()
        except BaseException as error:  # noqa: BLE001 - raised again where serving was asked for
            failures.append(error)
            server.should_exit = True

    config = uvicorn.Config(
        make_app(predictor, started=started),
        log_config=None,  # the program's own logging
        access_log=False,
        lifespan="on",
        ws="none",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_DRAIN_S,
    )
    server = uvicorn.Server(config)
    try:
        with _ended_by_sigterm():
            server.run(sockets=[listener])
    except SystemExit as error:
        raise EvenerError("the web server did not start; its log says why") from error
    if failures:
        raise failures[0]


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the server and nothing else: once done, the server raises it again."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return

    def ignore(_: int, __: FrameType | None) -> None:
        """Be done already."""

    before = signal.signal(signal.SIGTERM, ignore)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _listen(listener: socket.socket) -> None:
    """Let the kernel take connections from here on; they wait until the server is there."""
    try:
        listener.listen(_BACKLOG)
    except OSError as error:
        host, port = listener.getsockname()[:2]
        raise InputError(_cannot(host, port, error)) from error


def _cannot(host: str, port: int, error: OSError) -> str:
    taken = error.errno in (errno.EADDRINUSE, errno.EACCES)
    remedy = (
        "choose another --port, such as 0 for any that is free"
        if taken
        else "give an address of this machine as --host, such as 127.0.0.1"
    )
    return f"cannot listen at {host} port {port}: {error.strerror or error}; {remedy}"
