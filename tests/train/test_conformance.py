"""The checks of sharded training hold where it is right, and tell where it is not."""

import numpy as np
import pytest
import torch
from torch import Tensor

from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.virtual import run_ranks
from evener.train.conformance import Check, check_training
from evener.train.ghosts import Ghosts
from evener.train.ranked import RankedNetwork


def names_of_failed(checks: list[Check]) -> set[str]:
    return {check.name for check in checks if not check.holds}


@pytest.mark.parametrize("ranks", [1, 3])
def test_all_hold_on_any_number_of_ranks_and_every_rank_is_told_the_same(ranks: int) -> None:
    found = [check_training(Alone())] if ranks == 1 else run_ranks(ranks, check_training)

    assert not names_of_failed(found[0])
    assert all(checks == found[0] for checks in found)
    assert {check.ranks for check in found[0]} == {ranks}
    assert len({check.name for check in found[0]}) == len(found[0]) == 15 + (ranks > 1)


def test_a_way_back_that_loses_the_ghosts_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ghosts, "take_back", lambda _: None)

    failed = names_of_failed(run_ranks(2, check_training)[0])

    assert "halo 1 = masked dense network, 64 bits" in failed
    assert "halo 7: back is the adjoint of forth" in failed
    assert "halo 1 = on one rank, every bit" in failed
    assert "full = plain network, 64 bits" not in failed  # by collectives
    assert "full by messages = plain network, 64 bits" in failed


def test_a_rounding_that_depends_on_the_rank_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    descend = RankedNetwork.descend

    def rounded(self: RankedNetwork, inputs: Tensor, wanted: Tensor, rate: float) -> None:
        descend(self, inputs, wanted, rate)
        if self.rank == 1 and inputs.dtype == torch.float32:
            self.layers[1].runs[0].weight *= 1 + 2**-22

    monkeypatch.setattr(RankedNetwork, "descend", rounded)

    failed = names_of_failed(run_ranks(2, check_training)[0])

    assert "halo 1 = on one rank, every bit" in failed
    assert "halo 1 = masked dense network, 32 bits" not in failed


def test_numbers_that_are_none_never_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: RankedNetwork, *_: object) -> None:
        for layer in self.layers:
            layer.runs[0].weight.fill_(torch.nan)

    monkeypatch.setattr(RankedNetwork, "descend", broken)

    first, *_ = check_training(Alone())

    assert np.isnan(first.error)
    assert not first.holds


def test_each_check_is_told_when_it_begins() -> None:
    told: list[tuple[str, int, int]] = []

    def listen(name: str, done: int, total: int) -> None:
        told.append((name, done, total))

    def program(communicator: Communicator) -> list[Check]:
        return check_training(communicator, on_check=listen)

    checks = program(Alone())

    assert told == [(check.name, place, len(checks)) for place, check in enumerate(checks)]
