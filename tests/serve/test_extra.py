"""Serving without the packages that it needs."""

import importlib
import importlib.util

import pytest

import evener.serve
from evener.errors import MissingExtraError


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "uvicorn" else find(name)
    )

    with pytest.raises(MissingExtraError, match=r"serving needs the extra 'serve': pip install"):
        importlib.reload(evener.serve)
