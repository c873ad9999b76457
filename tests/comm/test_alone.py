"""A rank by itself."""

from collections.abc import Callable

import numpy as np
import pytest

from evener.comm.alone import Alone
from evener.testing.communicator_checks import Check
from evener.testing.communicator_contract import CommunicatorContract


class TestAlone(CommunicatorContract):
    @pytest.fixture
    def perform(self) -> Callable[[Check], None]:
        return lambda check: check(Alone())


def test_there_is_nobody_to_send_to() -> None:
    with pytest.raises(ValueError, match=r"rank 0 is alone, and is to reach \[1, 2\]"):
        Alone().open_exchange("layer 1", {1: np.ones(1)}, {2: np.ones(1)})
