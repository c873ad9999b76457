"""Where the process of a lane begins: `python -P -m evener.run.child HANDLE`.

It lives as long as the line to its maker: when that breaks, it ends at once, whatever it does.
"""

import os
import socket
import sys
import time

from evener.comm.link import LineEndedError, Link


def main(handle: int) -> None:
    """Be a lane, as the pipeline at the other end of a socket says.

    Args:
        handle: file descriptor of the socket.
    """
    link = Link(socket.socket(fileno=handle))
    try:
        host, (memory,) = link.receive()
        os.sched_setaffinity(0, host.cores)
        sys.path[:] = host.path
        ended = _serve(link, memory)
    except LineEndedError:
        ended = False  # the pipeline's process is gone: nobody wants the frame in work
    if not ended:
        os._exit(1)


def _serve(link: Link, memory: int) -> bool:
    # Only now: what these import reads where the process may run, and from where modules come.
    from evener.comm.processes import ProcessChannel
    from evener.run.process import shared_gauge
    from evener.run.serve_lane import serve_lane

    return serve_lane(link, ProcessChannel, clock=time.perf_counter, gauge=shared_gauge(memory))


if __name__ == "__main__":
    main(int(sys.argv[1]))
