"""Which individuals are one stack."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.train.population.buckets import PADDING, node_in, plan_buckets
from evener.train.population.individual import Individual


@st.composite
def individuals(draw: st.DrawFn) -> Individual:
    widths = (8, *draw(st.lists(st.integers(1, 70), max_size=4)), 4)
    pairs = list(combinations(range(len(widths)), 2))
    links = draw(st.sets(st.sampled_from(pairs), max_size=6)) | {(0, len(widths) - 1)}
    return Individual(
        widths=widths,
        links=tuple(links),
        activation=draw(st.sampled_from(["relu", "tanh"])),
        seed=draw(st.integers(0, 2**16)),
        optimiser=draw(st.sampled_from(["sgd", "adam"])),
    )


@given(st.lists(individuals(), max_size=12))
def test_every_individual_fits_into_one_stack_and_little_is_padding(
    population: list[Individual],
) -> None:
    buckets = plan_buckets(population)

    assert sorted(one for bucket in buckets for one in bucket.members) == list(
        range(len(population))
    )
    for bucket in buckets:
        members = [population[index] for index in bucket.members]
        nodes = len(bucket.widths)
        assert len({one.optimiser for one in members}) == 1
        activations = [one.activation for one in members]
        assert activations == sorted(activations)
        for one in members:
            for node, width in enumerate(one.widths):
                assert width <= bucket.widths[node_in(one, nodes, node)]
            for start, end in one.edges:
                assert (node_in(one, nodes, start), node_in(one, nodes, end)) in bucket.links
        cost = sum(bucket.widths[start] * bucket.widths[end] for start, end in bucket.links)
        padding = 1 - sum(one.macs for one in members) / (len(members) * cost)
        assert bucket.padding == pytest.approx(padding, abs=1e-12)
        assert padding < PADDING


@given(st.lists(individuals(), max_size=8), st.randoms(use_true_random=False))
def test_stacks_do_not_depend_on_the_order(population: list[Individual], random: object) -> None:
    shuffled = sorted(population, key=lambda _: random.random())  # type: ignore[attr-defined] # a Random

    found, again = plan_buckets(population), plan_buckets(shuffled)

    assert [[population[one] for one in bucket.members] for bucket in found] == [
        [shuffled[one] for one in bucket.members] for bucket in again
    ]


def test_like_individuals_share_a_stack_whatever_their_rates() -> None:
    population = [
        Individual(widths=(784, 64, 32, 10), learning_rate=rate, seed=seed)
        for seed, rate in enumerate([0.1, 0.01, 0.2])
    ]

    [bucket] = plan_buckets(population)

    assert bucket.padding == 0
    assert bucket.widths == (784, 64, 32, 10)


def test_a_shallow_network_skips_the_nodes_it_has_not() -> None:
    deep = Individual(widths=(100, 64, 8, 10))
    shallow = Individual(widths=(100, 64, 10))

    [bucket] = plan_buckets([deep, shallow])

    assert bucket.links == ((0, 1), (1, 2), (1, 3), (2, 3))


def test_a_population_of_nobody_has_no_stacks() -> None:
    assert plan_buckets([]) == []
