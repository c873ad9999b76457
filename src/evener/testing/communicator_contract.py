"""What every communicator must do, as tests: override one fixture and let pytest collect the class.

from evener.testing.communicator_contract import CommunicatorContract

class TestMyCommunicator(CommunicatorContract):
    @pytest.fixture(params=[1, 2, 3, 5])
    def perform(self, request):
        return lambda check: run_on_all_ranks(request.param, check)
"""

from collections.abc import Callable

import pytest

from evener.testing.communicator_checks import CHECKS, Check

Perform = Callable[[Check], None]


class CommunicatorContract:
    """Contract of `evener.comm.communicator.Communicator`."""

    @pytest.fixture
    def perform(self) -> Perform:
        """Return what has every rank do a check, and raises what went wrong on any."""
        raise NotImplementedError("override the fixture `perform`")

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_on_every_rank(self, perform: Perform, check: Check) -> None:
        """It holds what the check's name says."""
        perform(check)
