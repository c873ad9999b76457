"""Networks that several tests read, made once."""

import functools
from collections.abc import Callable

import pytest

from evener.network.model import Network, load_network


@pytest.fixture(scope="session")
def light_network() -> Callable[[str], Network]:
    """Return a loader of the light networks that makes each once; nobody may change them."""
    return functools.cache(load_network)
