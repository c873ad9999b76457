"""Where the trained networks are that `make networks` fetches, and no clock for properties."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# However slow the machine is just now, a property holds.
settings.register_profile("evener", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("evener")

FETCHED = Path(__file__).parents[1] / ".cache" / "networks"


@pytest.fixture(scope="session")
def trained() -> Callable[[str], Path]:
    """Return a finder of a trained network's file; it skips the test where there is none."""
    folder = Path(os.environ.get("EVENER_TEST_NETWORKS", FETCHED))

    def find(file: str) -> Path:
        path = folder / file
        if not path.is_file():
            pytest.skip(f"no {path}: `make networks` fetches it; EVENER_TEST_NETWORKS names others")
        return path

    return find
