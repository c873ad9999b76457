"""Pruning link by link."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from evener.errors import InputError
from evener.search.markov import fate
from evener.search.pruning.dead import remove_dead
from evener.search.pruning.layers import Layer, Net, answer, dense
from evener.search.pruning.toggling import Link, Pruned, Terms, Unit, links_of, prune_links

Train = Callable[[Net, np.ndarray, np.ndarray, int, float], Net]
NOISE = 0.7


def population(count: int, seed: int = 0) -> list[Net]:
    """Make networks that add up three inputs, of which the last is noise."""
    rng = np.random.default_rng(seed)
    return [
        Net(
            (
                Layer(np.zeros(3)),
                dense(
                    [(0, np.array([[1.0], [-2.0], [NOISE]]) + 0.01 * rng.normal(size=(3, 1)))],
                    np.zeros(1),
                ),
            )
        )
        for _ in range(count)
    ]


ROWS = np.random.default_rng(9).normal(size=(200, 3))
WANTED = ROWS[:, :1] - 2 * ROWS[:, 1:2]


def errors_of(batch: Sequence[Net]) -> list[float]:
    return [float(((answer(one, ROWS) - WANTED) ** 2).mean()) for one in batch]


def run(count: int, train: Train, terms: Terms) -> Pruned:
    return prune_links(
        population(count), errors_of, lambda net: train(net, ROWS, WANTED, 3, 0.05), terms
    )


def test_links_to_noise_go_and_the_others_stay(train: Train) -> None:
    found = run(4, train, Terms(temperature=0.05))

    assert [links_of(net) for net in found.networks] == [[Link(1, 0, 0, 0), Link(1, 0, 1, 0)]] * 4
    assert all(one.outcome == "pruned" for one in found.trials)
    assert all(one.trained < one.toggled < one.before for one in found.trials)
    assert max(found.errors) < 0.01
    assert not found.reached


def test_a_row_goes_as_a_whole_and_its_neuron_with_it(train: Train) -> None:
    rng = np.random.default_rng(3)

    def net() -> Net:
        weights = np.array([[1.0, 0.0], [-2.0, 0.0], [0.0, NOISE]])
        first = dense([(0, weights + 0.01 * rng.normal(size=(3, 2)))], np.zeros(2))
        last = dense([(1, np.ones((2, 1)))], np.zeros(1))
        return Net((Layer(np.zeros(3)), replace(first, masks=(weights != 0,)), last))

    found = prune_links(
        [net() for _ in range(3)],
        errors_of,
        lambda one: train(one, ROWS, WANTED, 3, 0.05),
        Terms(temperature=0.02, unit="row", most=1),
    )

    # Noise feeds a neuron of its own, which is dead once the row before or behind it is gone.
    assert all(one.outcome == "pruned" and one.link.to is None for one in found.trials)
    assert all(remove_dead(one).weights < net().weights for one in found.networks)
    assert max(found.errors) < 0.05


@pytest.mark.parametrize("unit", ["row", "column"])
def test_rows_and_columns_are_those_with_a_link(unit: Unit) -> None:
    mask = np.array([[True, False, True], [False, False, False]])
    layer = replace(dense([(0, np.ones((2, 3)))], np.zeros(3)), masks=(mask,))
    links = links_of(Net((Layer(np.zeros(2)), layer)), unit)

    assert (
        links
        == {
            "row": [Link(1, 0, 0, None)],
            "column": [Link(1, 0, None, 0), Link(1, 0, None, 2)],
        }[unit]
    )
    assert [one.of(mask).sum() for one in links] == {"row": [2], "column": [1, 1]}[unit]


def test_the_chain_counts_networks_that_have_any_link_of_a_row(train: Train) -> None:
    nets = population(4)
    gone = replace(nets[0].layers[1], masks=(np.array([[True], [True], [False]]),))
    nets[0] = Net((nets[0].layers[0], gone))

    found = prune_links(
        nets,
        errors_of,
        lambda net: train(net, ROWS, WANTED, 3, 0.05),
        Terms(temperature=50.0, unit="row"),
    )

    trial = found.trials[0]
    assert (trial.network, trial.link) == (1, Link(1, 0, 2, None))
    advantage = np.exp((trial.trained - trial.before) / 50.0)
    assert trial.lost == pytest.approx(fate(4, advantage).lost[2])


def test_chance_has_a_say(train: Train) -> None:
    found = run(4, train, Terms(temperature=50.0))

    trial = found.trials[0]
    advantage = np.exp((trial.trained - trial.before) / 50.0)
    assert trial.lost == pytest.approx(fate(4, advantage).lost[3])
    assert trial.outcome == "chance"
    assert all(len(links_of(net)) == 3 for net in found.networks)


def test_what_training_makes_worse_is_put_back() -> None:
    nets = population(1)

    def spoil(net: Net) -> Net:
        return Net((net.layers[0], replace(net.layers[1], biases=np.array([9.0]))))

    found = prune_links(nets, errors_of, spoil, Terms(temperature=0.05))

    assert found.networks == tuple(nets)
    assert [one.outcome for one in found.trials] == ["training"]


def test_it_ends_when_an_error_is_below_the_threshold(train: Train) -> None:
    found = run(4, train, Terms(temperature=0.05, threshold=0.02))

    assert found.reached
    assert len(found.trials) == 1


def test_no_network_loses_more_links_than_it_may(train: Train) -> None:
    found = run(2, train, Terms(temperature=0.05, most=0))

    assert found.trials == ()


def test_all_links_are_tried_in_one_batch(train: Train) -> None:
    sizes: list[int] = []

    def counted(batch: Sequence[Net]) -> list[float]:
        sizes.append(len(batch))
        return errors_of(batch)

    prune_links(
        population(2),
        counted,
        lambda net: train(net, ROWS, WANTED, 3, 0.05),
        Terms(temperature=0.05),
    )

    # The population; then per network its three links, the trained one, and its last two.
    assert sizes == [2, 3, 1, 2, 3, 1, 2]


def test_networks_of_other_shapes_have_other_links() -> None:
    other = Net((Layer(np.zeros(2)), dense([(0, np.ones((2, 1)))], np.zeros(1))))

    with pytest.raises(InputError, match="2 networks to prune: give at least one, all of one"):
        prune_links([*population(1), other], errors_of, lambda net: net, Terms(temperature=1.0))


def test_terms_are_in_range() -> None:
    with pytest.raises(InputError, match="pruning at a temperature of 0 with certainty 0.95"):
        Terms(temperature=0.0)
