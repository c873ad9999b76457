"""Run one network on one processor: what `profile` times here is what `run` runs.

`session.py` holds the protocols, `pinning.py` the cores, `devices.py` what is no core, and each
other module one runtime or what runtimes share. A runtime's package is imported when it is asked
for; other packages bring further ones (`plugins.py`).
"""

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Final

from evener.errors import InputError, MissingExtraError
from evener.runtime.devices import Named, merge
from evener.runtime.plugins import Plugins, load_plugins
from evener.runtime.session import DeviceRuntime, Optimisation, Runtime

# From its import on, ONNX Runtime keeps an id of the machine and events to send to its maker in the
# user's cache, unless told not to. Whoever wants that sets this to 0.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

# NVML counts GPUs by their place on the bus; CUDA by their speed, unless told so before it is used.
os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")

_LOG: Final = logging.getLogger(__name__)


def _onnxruntime() -> Runtime:
    from evener.runtime.onnxruntime import OnnxRuntime

    return OnnxRuntime()


def _openvino() -> Runtime:
    from evener.runtime.openvino import OpenVino

    return OpenVino()


def _ncnn() -> Runtime:
    from evener.runtime.ncnn import Ncnn

    return Ncnn()


def _pytorch() -> Runtime:
    from evener.runtime.pytorch import PyTorch

    return PyTorch()


def _pytorch_on_gpus() -> Runtime:
    from evener.runtime.pytorch import PyTorch

    return PyTorch(on_cores=False)


@dataclass(frozen=True, slots=True)
class _Known:
    """A runtime of Evener's own.

    Attributes:
        make: makes it.
        packages: what has to be installed.
        by_hand: how to install what its extra cannot bring.
        converts: whether it turns each segment into a form of its own, which takes time.
        on_devices: makes it for devices alone, where it takes part unnamed though it converts.
    """

    make: Callable[[], Runtime]
    packages: tuple[str, ...]
    by_hand: str = ""
    converts: bool = False
    on_devices: Callable[[], Runtime] | None = None

    @property
    def lacks(self) -> str:
        """The first package that is not installed, or ""."""
        return next((name for name in self.packages if find_spec(name) is None), "")


_KNOWN: Final[dict[str, _Known]] = {
    "onnxruntime": _Known(_onnxruntime, ("onnxruntime",)),
    "openvino": _Known(_openvino, ("openvino",)),
    # pnnx declares torch, which the program that it brings does not need.
    "ncnn": _Known(_ncnn, ("ncnn", "pnnx"), by_hand="pip install --no-deps pnnx", converts=True),
    "pytorch": _Known(_pytorch, ("torch", "onnx2fx"), converts=True, on_devices=_pytorch_on_gpus),
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
    found = {name: known.make() for name, known in _KNOWN.items() if not known.lacks}
    return found | dict(_plugins().runtimes)


def missing() -> dict[str, str]:
    """Return why a runtime cannot be used, or not on a device, and what to do, by its name."""
    found = {name: str(_refusal(name)) for name, known in _KNOWN.items() if known.lacks}
    if "onnxruntime" not in found:
        from evener.runtime import cuda

        why = cuda.missing()
        found |= {"onnxruntime": why} if why else {}
    return found | dict(_plugins().faults)


@cache
def devices() -> tuple[Named, ...]:
    """Return the devices of this machine that some installed runtime sees, software ones too."""
    return merge(
        {
            name: runtime.devices()
            for name, runtime in installed().items()
            if isinstance(runtime, DeviceRuntime)
        }
    )


def sees(runtime: str, processor: str) -> bool:
    """Whether a runtime sees the device of that name."""
    return any(one.name == processor and runtime in one.numbers for one in devices())


def device_number(runtime: str, processor: str) -> int:
    """Return the place of a device in a runtime's own list, for whoever implements `open`.

    Args:
        runtime: name of the runtime.
        processor: name of the device, such as "gpu0".

    Raises:
        InputError: the runtime sees no device of that name.
    """
    seen = {one.name: one.numbers[runtime] for one in devices() if runtime in one.numbers}
    if processor not in seen:
        raise InputError(
            f"{runtime} sees no device {processor} on this machine; it sees "
            f"{', '.join(seen) or 'none'}: see evener processors"
        )
    return seen[processor]


def usable(names: Sequence[str] | None, optimisation: Optimisation) -> dict[str, Runtime]:
    """Return the runtimes that may be used, by name, the default first.

    At the level "extended" a split network answers as the whole does, to the bit; only runtimes
    that keep this promise are returned unless some are named. Those that convert each segment would
    use up the time that a profile has for all others, and have to be named; on cores alone, where
    devices make up for it.

    Args:
        names: those to use; None for all others that are installed.
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
        if optimisation == "extended":
            return {name: found[name] for name in _EXACT}
        return {
            name: unnamed
            for name, one in found.items()
            if (unnamed := _unnamed(name, one)) is not None
        }
    if not names:
        raise InputError(f"no runtime is named; known ones: {_names()}")
    return {name: get_runtime(name) for name in names}


def _unnamed(name: str, runtime: Runtime) -> Runtime | None:
    """Return what takes part of a runtime that nobody named: all, its devices, or nothing."""
    known = _KNOWN.get(name)
    if known is None or not known.converts:
        return runtime
    seen = any(name in one.numbers for one in devices())
    return known.on_devices() if known.on_devices is not None and seen else None


def get_runtime(name: str) -> Runtime:
    """Return one runtime.

    Raises:
        InputError: no runtime has this name, or the package that brings it is broken.
        MissingExtraError: its package is not installed.

    Example:
        >>> get_runtime("onnxruntime").name
        'onnxruntime'
    """
    if name in _KNOWN:
        if _KNOWN[name].lacks:
            raise _refusal(name)
        return _KNOWN[name].make()
    plugins = _plugins()
    if name in plugins.faults:
        raise InputError(f"the runtime '{name}': {plugins.faults[name]}")
    if name not in plugins.runtimes:
        raise InputError(f"no runtime is called '{name}'; known ones: {_names()}")
    return plugins.runtimes[name]


def forget() -> None:
    """Look for devices and other packages' runtimes again, when next asked."""
    devices.cache_clear()
    _plugins.cache_clear()


def _refusal(name: str) -> MissingExtraError:
    return MissingExtraError(f"the runtime '{name}'", extra=name, then=_KNOWN[name].by_hand)


def _names() -> str:
    return ", ".join([*_KNOWN, *_plugins().runtimes])


@cache
def _plugins() -> Plugins:
    plugins = load_plugins(_KNOWN)
    for name, fault in plugins.faults.items():
        _LOG.warning("the runtime '%s' is left out: %s", name, fault)
    return plugins
