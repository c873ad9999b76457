"""Run one network on one processor: what `profile` times here is what `run` runs.

`session.py` holds the two protocols, `pinning.py` the cores, and each other module one runtime.
A runtime's package is imported when it is asked for.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Final

from evener.errors import InputError, MissingExtraError
from evener.runtime.session import Runtime


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


def installed() -> dict[str, Runtime]:
    """Return the runtimes whose packages are installed, by name, the default first.

    Example:
        >>> next(iter(installed()))
        'onnxruntime'
    """
    return {name: make() for name, make in _KNOWN.items() if find_spec(name) is not None}


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
