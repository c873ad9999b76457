"""What a child begins from."""

from itertools import combinations

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.homology import Homology
from evener.artifacts.topology import Topology
from evener.errors import InputError
from evener.train.population.answers import answer_population
from evener.train.population.course import Course, Rows
from evener.train.population.divided import draw_divided, masks_of
from evener.train.population.individual import Individual, Link
from evener.train.population.inherit import inherit
from evener.train.population.resize import narrow, resize, widen
from evener.train.population.training import Place, train_population
from evener.train.population.weights import Weights, draw_weights

SKIPPING = Individual(
    widths=(4, 6, 5, 3),
    links=((0, 1), (1, 2), (0, 2), (1, 3), (2, 3)),
    activation="gelu",
    bias_variance=0.3,
)
ROWS = torch.randn(20, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def answers(individual: Individual, weights: Weights) -> torch.Tensor:
    return answer_population([individual], [weights], ROWS, "squared")[0]


def with_widths(individual: Individual, *widths: int) -> Individual:
    return msgspec.structs.replace(individual, widths=widths)


@st.composite
def individuals(draw: st.DrawFn) -> Individual:
    widths = (4, *draw(st.lists(st.integers(1, 8), min_size=1, max_size=3)), 3)
    pairs = list(combinations(range(len(widths)), 2))
    links = draw(st.sets(st.sampled_from(pairs))) | {(len(widths) - 2, len(widths) - 1)}
    return Individual(
        widths=widths,
        links=tuple(links),
        activation=draw(st.sampled_from(["relu", "tanh", "gelu", "sigmoid"])),
        seed=draw(st.integers(0, 2**32)),
        bias_variance=0.2,
    )


@given(individuals(), st.data())
@settings(max_examples=30, deadline=None)
def test_a_wider_network_has_the_same_function(individual: Individual, data: st.DataObject) -> None:
    weights = draw_weights(individual)
    extra = data.draw(
        st.lists(
            st.integers(0, 9), min_size=len(individual.widths), max_size=len(individual.widths)
        )
    )
    widths = tuple(
        width + more if 0 < node < len(individual.widths) - 1 else width
        for node, (width, more) in enumerate(zip(individual.widths, extra, strict=True))
    )

    wider = resize(individual, weights, widths, np.random.default_rng(0))

    expected = answers(individual, weights)
    torch.testing.assert_close(
        answers(with_widths(individual, *widths), wider), expected, rtol=1e-10, atol=1e-10
    )


def test_copies_of_a_neuron_move_apart() -> None:
    one, wide = Individual(widths=(4, 1, 3), activation="tanh"), Individual(widths=(4, 3, 3))
    wide = msgspec.structs.replace(wide, activation="tanh")
    begun = widen(one, draw_weights(one), 1, 3, np.random.default_rng(0))
    assert len(np.unique(begun.links[0, 1], axis=1).T) == 1

    [state] = train_population(
        [wide],
        Rows(ROWS, ROWS[:, :3]),
        Course(batch=5, loss="squared"),
        starts=[begun],
        place=Place(dtype=torch.float64),
    )

    assert len(np.unique(state.weights.links[0, 1], axis=1).T) == 3


def test_the_neurons_that_weigh_most_stay_in_order() -> None:
    one = Individual(widths=(1, 4, 1))
    weights = Weights(
        {(0, 1): np.array([[3.0, 0.1, 2.0, 9.0]]), (1, 2): np.array([[1.0], [9.0], [2.0], [0.0]])},
        (np.array([0.0, 0.0, 0.0, 5.0]), np.array([1.0])),
        {(1, 2): np.array([[True], [True], [True], [False]])},
    )

    few = narrow(one, weights, 1, 2)

    assert few.links[0, 1].tolist() == [[3.0, 2.0]]
    assert few.links[1, 2].tolist() == [[1.0], [2.0]]
    assert few.biases[0].tolist() == [0.0, 0.0]
    assert few.masks[1, 2].tolist() == [[True], [True]]


def test_a_neuron_that_leads_nowhere_is_the_first_to_go_and_changes_nothing() -> None:
    weights = draw_weights(SKIPPING)
    weights.links[1, 2][3] = 0
    weights.links[1, 3][3] = 0

    few = narrow(SKIPPING, weights, 1, 5)

    expected = answers(SKIPPING, weights)
    torch.testing.assert_close(answers(with_widths(SKIPPING, 4, 5, 5, 3), few), expected)


def test_a_child_of_the_same_shape_is_its_parent_whatever_its_rates() -> None:
    learned = draw_weights(SKIPPING, {(0, 1): np.random.default_rng(0).random((4, 6)) < 0.5})
    child = msgspec.structs.replace(SKIPPING, seed=5, learning_rate=1e-3)

    begun = inherit(child, [(SKIPPING, learned)])

    for link in child.edges:
        np.testing.assert_array_equal(begun.links[link], learned.links[link])
    for one, other in zip(begun.biases, learned.biases, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(begun.masks[0, 1], learned.masks[0, 1])
    assert not np.shares_memory(begun.links[0, 1], learned.links[0, 1])


def test_a_child_with_more_of_everything_has_its_parent_s_function() -> None:
    child = Individual(
        widths=(4, 9, 5, 7, 3),
        links=((0, 1), (0, 2), (0, 4), (1, 2), (1, 4), (2, 3), (2, 4), (3, 4)),
        activation="gelu",
        seed=3,
    )
    learned = draw_weights(SKIPPING)

    begun = inherit(child, [(SKIPPING, learned)])

    torch.testing.assert_close(answers(child, begun), answers(SKIPPING, learned))
    assert begun.links[2, 3].any()  # into a new node
    assert not begun.links[3, 4].any()  # from it into an old one, where it is learned


def filled(individual: Individual, value: float) -> tuple[Individual, Weights]:
    """Return a parent all of whose weights and biases are one number."""
    drawn = draw_weights(individual)
    return individual, Weights(
        {link: np.full_like(array, value) for link, array in drawn.links.items()},
        tuple(np.full_like(bias, value) for bias in drawn.biases),
    )


def same(individual: Individual, *links: Link) -> Homology:
    """Return that all nodes are the same."""
    nodes = tuple((node, node) for node in range(len(individual.widths)))
    return Homology(nodes=nodes, links=links)


def test_links_come_from_the_parent_that_gave_them() -> None:
    parents = [filled(SKIPPING, 1), filled(SKIPPING, 2)]
    gave = [same(SKIPPING, (0, 1), (1, 3)), same(SKIPPING, (1, 2), (0, 2))]

    begun = inherit(SKIPPING, parents, gave)

    values = {link: set(array.ravel().tolist()) for link, array in begun.links.items()}
    # Nobody gave the last: the first parent has it.
    assert values == {(0, 1): {1}, (0, 2): {2}, (1, 2): {2}, (1, 3): {1}, (2, 3): {1}}
    assert [set(bias.tolist()) for bias in begun.biases] == [{1}, {2}, {1}]


def test_a_parent_s_layers_are_brought_to_the_child_s_numbers_and_widths() -> None:
    one = filled(Individual(widths=(4, 6, 3)), 1)
    two = filled(Individual(widths=(4, 2, 5, 3)), 2)
    # The child's layers are the last of the second parent, then that of the first.
    child = Individual(widths=(4, 5, 9, 3), links=((0, 1), (0, 2), (1, 2), (2, 3)))
    gave = [
        Homology(nodes=((0, 0), (1, 2), (2, 3)), links=((0, 2), (2, 3))),
        Homology(nodes=((0, 0), (2, 1), (3, 3)), links=()),
    ]

    begun = inherit(child, [one, two], gave)

    assert set(begun.links[0, 2].ravel().tolist()) == {1}
    assert begun.links[2, 3].sum(axis=0) == pytest.approx([6, 6, 6])  # shared by the copies
    assert not begun.links[1, 2].any()  # nobody has it: silent, as its node inherits another
    assert np.ptp(begun.links[0, 1]) > 0  # nor this, into a node that inherits none
    assert [set(bias.tolist()) for bias in begun.biases[1:]] == [{1}, {1}]


def test_what_cannot_be_inherited_is_refused() -> None:
    weights, rng = draw_weights(SKIPPING), np.random.default_rng(0)
    more = msgspec.structs.replace(SKIPPING, links=(*SKIPPING.edges, (0, 3)))
    with pytest.raises(InputError, match="parent 0 has 4 inputs and 3 outputs, the child 4 and 2"):
        inherit(Individual(widths=(4, 2)), [(SKIPPING, weights)])
    with pytest.raises(InputError, match=r"parent 0 has no link \(0, 3\) of the child"):
        inherit(more, [(SKIPPING, weights)], [same(SKIPPING, (0, 3))])
    with pytest.raises(InputError, match="2 homologies of 1 parents: give one of each"):
        inherit(SKIPPING, [(SKIPPING, weights)], [same(SKIPPING)] * 2)
    with pytest.raises(InputError, match="5 neurons for node 1, which has 6: widening takes none"):
        widen(SKIPPING, weights, 1, 5, rng)
    with pytest.raises(InputError, match="0 neurons for node 1, which has 6: narrowing leaves"):
        narrow(SKIPPING, weights, 1, 0)
    with pytest.raises(InputError, match="node 3 of nodes 0 to 3 is not hidden"):
        narrow(SKIPPING, weights, 3, 1)
    with pytest.raises(InputError, match=r"widths \(4, 6, 3\) for an individual with"):
        resize(SKIPPING, weights, (4, 6, 3), rng)


ROW = Individual(widths=(4, 12, 8, 4), activation="gelu", bias_variance=0.3)
FOUR = masks_of(Topology(shards=4, halo=1), ROW.widths)


def test_a_divided_child_of_an_equal_parent_has_its_function() -> None:
    learned = draw_divided(ROW, FOUR)

    begun = inherit(msgspec.structs.replace(ROW, seed=1), [(ROW, learned)], masks=FOUR)

    torch.testing.assert_close(answers(ROW, begun), answers(ROW, learned))
    assert begun.masks is FOUR


def test_a_child_that_is_not_divided_has_the_function_of_a_divided_parent() -> None:
    learned = draw_divided(ROW, FOUR)

    begun = inherit(msgspec.structs.replace(ROW, seed=1), [(ROW, learned)], masks={})

    torch.testing.assert_close(answers(ROW, begun), answers(ROW, learned))
    assert not begun.masks


def test_a_divided_child_keeps_what_it_can_of_a_parent_that_is_not() -> None:
    learned = draw_weights(ROW)

    begun = inherit(ROW, [(ROW, learned)], masks=FOUR)

    for link, array in learned.links.items():
        mask = FOUR.get(link, np.ones(array.shape, bool))
        np.testing.assert_array_equal(begun.links[link], np.where(mask, array, 0))


def test_a_neuron_that_inherits_no_weight_begins_from_drawn_ones() -> None:
    apart = masks_of(Topology(shards=4, halo=0), ROW.widths)
    other = {link: np.roll(mask, 1, axis=0)[:, ::-1] for link, mask in apart.items()}
    child = msgspec.structs.replace(ROW, seed=1)
    nothing = ~(apart[1, 2] & other[1, 2]).any(axis=0)
    assert nothing.any()

    begun = inherit(child, [(ROW, draw_divided(ROW, apart))], masks=other)

    fresh = draw_divided(child, other).links[1, 2]
    np.testing.assert_array_equal(begun.links[1, 2][:, nothing], fresh[:, nothing])
    assert not begun.links[1, 2][~other[1, 2]].any()
