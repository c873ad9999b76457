"""What is left of a run when a test is over: nothing."""

import threading
from collections.abc import Callable, Iterator

import pytest

PATIENCE_S = 20.0


@pytest.fixture
def lane_threads() -> Callable[[], list[threading.Thread]]:
    """Return a finder of the threads of lanes that there are."""
    return lambda: [one for one in threading.enumerate() if one.name.startswith("stage ")]


@pytest.fixture
def every_thread_ends(lane_threads: Callable[[], list[threading.Thread]]) -> Iterator[None]:
    """Fail a test whose pipelines leave threads behind."""
    yield
    for thread in lane_threads():
        thread.join(PATIENCE_S)
    assert lane_threads() == []
