"""Pack an exception so that it can be raised in another process.

Only processes of one pipeline read what is packed here, over private connections; pickle is safe
between them.
"""

import pickle
import traceback
from typing import Final

from evener.errors import ChannelError

MOST_BYTES: Final = 60_000
"""No parcel is longer, so that each is one message of a socket."""

_MOST_TRACEBACK: Final = 20_000  # characters, the last ones


def pack_error(error: BaseException) -> bytes:
    """Write an exception; its traceback and causes travel as text in a note.

    One that cannot be pickled, or is too long, travels as a ChannelError of the same text.

    Example:
        >>> unpack_error(pack_error(ValueError("frame 3 is bad")))
        ValueError('frame 3 is bad')
    """
    trace = ""
    if error.__traceback__ is not None or error.__cause__ is not None:
        trace = "".join(traceback.format_exception(error))[-_MOST_TRACEBACK:]
    try:
        body = pickle.dumps((error, trace))
        pickle.loads(body)  # noqa: S301 - our own bytes: some exceptions go in and do not come out
    except Exception:  # noqa: BLE001 - whatever a stranger's exception does when it is pickled
        body = b""
    if 0 < len(body) <= MOST_BYTES:
        return body
    text = f"{type(error).__name__}: {error}"[: MOST_BYTES // 8]
    return pickle.dumps((ChannelError(text), trace[-MOST_BYTES // 8 :]))


def unpack_error(parcel: bytes) -> BaseException:
    """Read an exception that `pack_error` wrote."""
    error: BaseException
    error, trace = pickle.loads(parcel)  # noqa: S301 - written by a process of this pipeline
    if trace:
        error.add_note(f"In the process where it was raised:\n{trace.rstrip()}")
    return error
