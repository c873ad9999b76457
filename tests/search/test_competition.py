"""Layers compete for their place in one network."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf

import numpy as np
import pytest

from evener.errors import InputError
from evener.search.competition import CREDITS, Credit, Net, compete, sweep

credit_modes = pytest.mark.parametrize("credit", CREDITS)
WANTED = (1.0, 2.0, 3.0, 4.0)


class Counted:
    """Errors of networks, and how they were asked for."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def __call__(self, batch: Sequence[Net[float]]) -> list[float]:
        self.batches.append(len(batch))
        return [self.error(network) for network in batch]

    def error(self, network: Net[float]) -> float:
        return sum(abs(layer - wanted) for layer, wanted in zip(network, WANTED, strict=True))


class Coupled(Counted):
    """A layer is only good beside its neighbour, so that no sweep need find the optimum."""

    def error(self, network: Net[float]) -> float:
        pairs = pairwise(network)
        return super().error(network) + 3 * sum(abs(b - a - 1) for a, b in pairs)


def drawn(count: int, seed: int) -> list[Net[float]]:
    rng = np.random.default_rng(seed)
    return [tuple(rng.uniform(0, 5, len(WANTED)).tolist()) for _ in range(count)]


@credit_modes
def test_where_layers_do_not_depend_on_each_other_one_sweep_finds_the_optimum(
    credit: Credit,
) -> None:
    networks = drawn(6, seed=1)

    found = compete(networks, Counted(), credit=credit)

    best = [
        min(one, key=lambda layer: abs(layer - wanted))
        for one, wanted in zip(zip(*networks, strict=True), WANTED, strict=True)
    ]
    assert found.champion == tuple(best)
    assert found.error == Counted().error(tuple(best))


@credit_modes
@pytest.mark.parametrize("seed", range(20))
def test_the_champion_is_never_worse_than_what_it_began_with(credit: Credit, seed: int) -> None:
    networks = drawn(5, seed)
    rng = np.random.default_rng(seed)

    def spoil(batch: Sequence[Net[float]], *, block: int) -> list[Net[float]]:  # noqa: ARG001
        return [tuple(layer + rng.normal(0, 1) for layer in network) for network in batch]

    found = compete(networks, Coupled(), train=spoil, blocks=4, credit=credit)

    assert found.error <= found.begun == min(map(Coupled().error, networks))
    assert found.error == pytest.approx(Coupled().error(found.champion))
    assert found.error == min(one.error for one in found.sweeps)


def test_a_sweep_takes_one_batch_a_layer_for_the_swaps_and_counts_what_it_evaluates() -> None:
    errors = Counted()

    found = compete(drawn(5, seed=0), errors)

    assert errors.batches == [5, 4, 4, 4, 4, 1]
    assert found.evaluations == sum(errors.batches)


def test_all_other_layers_stay_while_one_is_swapped() -> None:
    seen: list[Net[float]] = []

    def errors(batch: Sequence[Net[float]]) -> list[float]:
        seen.extend(batch)
        return [1.0] * len(batch)

    first, second = (1.0, 2.0), (3.0, 4.0)
    found = sweep([first, second], [0.5, 0.7], errors)

    assert seen[:2] == [(3.0, 2.0), (1.0, 4.0)]
    assert (found.champion, found.error, found.winners) == (first, 0.5, (0, 0))


def test_credit_is_best_mean_or_what_the_others_lack() -> None:
    networks = [(0.0,), (1.0,), (2.0,)]
    known = [4.0, 2.0, 7.0]

    def errors(batch: Sequence[Net[float]]) -> list[float]:
        return [{0.0: 4.0, 1.0: 2.0, 2.0: 6.0}[layer] for (layer,) in batch]

    def credits_(credit: Credit) -> list[list[float]]:
        found: list[list[float]] = sweep(networks, known, errors, credit=credit).credits.tolist()
        return found

    assert credits_("best") == [[4.0, 2.0, 6.0]]
    assert credits_("mean") == [[4.0, 2.0, 6.5]]
    assert credits_("leave-one-out") == [[0.0, -3.0, 3.0]]


@credit_modes
def test_an_instance_that_cannot_be_computed_wins_nothing(credit: Credit) -> None:
    networks = [(1.0, 9.0), (-1.0, 8.0), (2.0, 7.0)]

    def errors(batch: Sequence[Net[float]]) -> list[float]:
        return [inf if first < 0 else first + second for first, second in batch]

    found = compete(networks, errors, credit=credit)

    assert found.champion == (1.0, 7.0)
    assert np.isinf(found.sweeps[0].credits[0, 1])


def test_the_champion_goes_on_in_place_of_the_network_that_deserves_least() -> None:
    trained: list[list[Net[float]]] = []

    def watch(batch: Sequence[Net[float]], *, block: int) -> list[Net[float]]:
        assert block == len(trained)
        trained.append(list(batch))
        return list(batch)

    good, fair, bad = (1.0, 2.0, 3.0, 0.0), (0.0, 0.0, 0.0, 4.0), (9.0, 9.0, 9.0, 9.0)
    found = compete([good, bad, fair], Counted(), train=watch, blocks=3)

    assert trained[0] == [good, WANTED, fair]
    assert len(trained) == 2
    assert found.champion == WANTED


@pytest.mark.parametrize(
    ("networks", "blocks", "message"),
    [
        ([(1.0,)], 1, r"1 networks of \[1\] layers: give two or more"),
        ([(1.0,), (1.0, 2.0)], 1, r"2 networks of \[1, 2\] layers"),
        ([(), ()], 1, r"2 networks of \[0\] layers"),
        ([(1.0,), (2.0,)], 0, "0 sweeps: give 1 or more"),
    ],
)
def test_what_cannot_compete_is_refused(
    networks: list[Net[float]], blocks: int, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        compete(networks, lambda batch: [0.0] * len(batch), blocks=blocks)


def test_an_unknown_credit_is_refused() -> None:
    with pytest.raises(InputError, match="'worst' is no way to give credit; choose best, mean"):
        compete([(1.0,), (2.0,)], lambda batch: [0.0] * len(batch), credit="worst")  # type: ignore[arg-type] # what a caller without types may give
