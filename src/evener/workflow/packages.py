"""The packages that training depends on: whether they are there, and in which versions."""

from importlib.metadata import version
from importlib.util import find_spec
from typing import Final

from evener.errors import MissingExtraError

_PACKAGES: Final = {  # import name: distribution
    "torch": "torch",
    "onnxscript": "onnxscript",
    "sklearn": "scikit-learn",
    "skl2onnx": "skl2onnx",
}


def package_versions() -> dict[str, str]:
    """Return the versions of the packages that training depends on."""
    return {name: version(name) for name in _PACKAGES.values()}


def check_packages() -> None:
    """Find out before any work that a package is missing.

    Raises:
        MissingExtraError: the extra "train" is not installed.
    """
    if any(find_spec(package) is None for package in _PACKAGES):
        raise MissingExtraError("evener build", extra="train")
