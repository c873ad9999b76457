"""Run one network on one processor: what `profile` times here is what `run` runs.

`session.py` holds the two protocols, `pinning.py` the cores, and each other module one runtime.
A runtime's package is imported when it is asked for.
"""

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Final

from evener.errors import InputError, MissingExtraError
from evener.runtime.session import Optimisation, Runtime

# From its import on, ONNX Runtime keeps an id of the machine and events to send to its maker in the
# user's cache, unless told not to. Whoever wants that sets this to 0.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def _onnxruntime() -> Runtime:
    from evener.runtime.onnxruntime import OnnxRuntime

    return OnnxRuntime()


def _openvino() -> Runtime:
    from evener.runtime.openvino import OpenVino

    return OpenVino()


_KNOWN: Final[dict[str, Callable[[], Runtime]]] = {
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
}


_EXACT: Final = ("onnxruntime",)  # compute a segment as they compute the whole


_AT_ONCE: Final = {"onnxruntime": 3}  # one core only waits
"""On how many cores a runtime can gain by computing branches at once, by its name."""


def can_gain_by_branches(name: str, cores: int) -> bool:
    """Whether a runtime may be quicker on some cores if it computes branches at once.

    Example:
        >>> can_gain_by_branches("onnxruntime", 4), can_gain_by_branches("openvino", 4)
        (True, False)
    """
    return name in _AT_ONCE and cores >= _AT_ONCE[name]


def installed() -> dict[str, Runtime]:
    """Return the runtimes whose packages are installed, by name, the default first.

    Example:
        >>> next(iter(installed()))
        'onnxruntime'
    """
    return {name: make() for name, make in _KNOWN.items() if find_spec(name) is not None}


def usable(names: Sequence[str] | None, optimisation: Optimisation) -> dict[str, Runtime]:
    """Return the runtimes that may be used, by name, the default first.

    At the level "extended" a split network answers as the whole does, to the bit; only runtimes
    that keep this promise are returned unless some are named.

    Args:
        names: those to use; None for all that are installed.
        optimisation: graph optimisation level.

    Raises:
        InputError: no name at all, or no runtime of that name.
        MissingExtraError: a named one is not installed.

    Example:
        >>> list(usable(None, "extended"))
        ['onnxruntime']
    """
    if names is None:
        found = installed()
        return found if optimisation == "all" else {name: found[name] for name in _EXACT}
    if not names:
        raise InputError(f"no runtime is named; known ones: {', '.join(_KNOWN)}")
    return {name: get_runtime(name) for name in names}


def get_runtime(name: str) -> Runtime:
    """Return one runtime.

    Raises:
        InputError: no runtime has this name.
        MissingExtraError: its package is not installed.

    Example:
        >>> get_runtime("onnxruntime").name
        'onnxruntime'
    """
    if name not in _KNOWN:
        raise InputError(f"no runtime is called '{name}'; known ones: {', '.join(_KNOWN)}")
    if find_spec(name) is None:
        raise MissingExtraError(f"the runtime '{name}'", extra=name)
    return _KNOWN[name]()
