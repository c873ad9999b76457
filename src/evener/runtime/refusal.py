"""What the runtimes refuse alike, in the same words."""

import threading
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

from evener.errors import RuntimeFailedError
from evener.runtime.pinning import show_cores

ResultT = TypeVar("ResultT")


def check_precision(runtime: str, precision: str, known: Sequence[str]) -> None:
    """Check that a runtime computes in a precision.

    Raises:
        RuntimeFailedError: it does not.
    """
    if precision not in known:
        raise RuntimeFailedError(
            f"{runtime} computes in {', '.join(known)}, not in '{precision}'; "
            "plan with one of those",
            runtime=runtime,
        )


def check_sequential(runtime: str, execution: str) -> None:
    """Check that a runtime that computes one node after the other is asked for nothing else.

    Raises:
        RuntimeFailedError: it is.
    """
    if execution != "sequential":
        raise RuntimeFailedError(
            f"{runtime} computes branches one after the other and knows no {execution} execution; "
            "plan with another runtime, or sequential",
            runtime=runtime,
        )


def misplaced(
    runtime: str, cores: tuple[int, ...], confirmed: AbstractSet[int]
) -> RuntimeFailedError:
    """Make the error for threads that the kernel does not keep where they should be."""
    return RuntimeFailedError(
        f"{runtime} was to keep threads on cores {show_cores(cores)}, the kernel confirms only "
        f"{show_cores(confirmed)}; see whether another program limits this process's cores",
        runtime=runtime,
    )


def check_usable(runtime: str, native: object, thread: int) -> None:
    """Check that a session is open and is run by the thread that it belongs to.

    Args:
        runtime: its name.
        native: what the session runs; None once it is closed.
        thread: identifier of the thread that opened it.

    Raises:
        RuntimeFailedError: it is closed, or another thread runs it.
    """
    if native is None or threading.get_ident() != thread:
        raise unusable(runtime, closed=native is None)


def unusable(runtime: str, *, closed: bool) -> RuntimeFailedError:
    """Make the error for a session that is closed, or is run in a thread that did not open it."""
    state = "is closed" if closed else "was opened in another thread"
    return RuntimeFailedError(
        f"this {runtime} session {state}; open one and run it in one thread", runtime=runtime
    )


def check_fixed(runtime: str, name: str, shape: Sequence[object]) -> None:
    """Check that every size of a tensor is a positive number.

    Raises:
        RuntimeFailedError: one is not.
    """
    if not all(isinstance(size, int) and size > 0 for size in shape):
        raise RuntimeFailedError(
            f"'{name}' has the shape {list(shape)}, which is not fixed; give the network static "
            "shapes before it is opened",
            runtime=runtime,
        )


def translated(runtime: str, what: str, act: Callable[[], ResultT]) -> ResultT:
    """Do something with a runtime's package and turn what it raises into our error.

    The exceptions of ONNX Runtime and OpenVINO share no base but Exception.

    Args:
        runtime: its name.
        what: what did not work then, such as "cannot open the network".
        act: does it.

    Raises:
        RuntimeFailedError: whatever `act` raised is its cause.
    """
    try:
        return act()
    except Exception as error:
        raise RuntimeFailedError(f"{runtime} {what}: {error}", runtime=runtime) from error
