"""Where the trained networks are that `make networks` fetches."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

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
