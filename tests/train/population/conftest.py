"""One thread for what is too small for two."""

from collections.abc import Iterator

import pytest

from evener.train.loop import one_thread


@pytest.fixture(autouse=True)
def alone_on_a_core() -> Iterator[None]:
    with one_thread():
        yield
