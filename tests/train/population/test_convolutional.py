"""A population of convolutional networks comes to what each of it comes to alone."""

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
import torch
from torch.nn import functional

from evener.artifacts.conv_stack import Block, ConvStack
from evener.artifacts.layer_graph import Spread
from evener.errors import InputError
from evener.train.augment import Augmentation
from evener.train.conv_model import ConvLayers
from evener.train.draw import row_order, row_views
from evener.train.population import training
from evener.train.population.answers import answer_population
from evener.train.population.conv_individual import ConvIndividual
from evener.train.population.conv_weights import draw_conv_weights, inherit_conv
from evener.train.population.convolutional import ConvForm, Convolutional
from evener.train.population.course import Course, Rows
from evener.train.population.individual import Individual
from evener.train.population.state import State
from evener.train.population.training import Member, Place, train_population
from evener.train.population.weights import Weights

PICTURE, OUTPUTS = (2, 6, 5), 3
STEM = Block(kind="conv3x3", channels=4, stride=2)
EVERY_KIND = (
    STEM,
    Block(kind="conv3x3", channels=4, residual=True),
    Block(kind="depthwise3x3", channels=6),
    Block(kind="depthwise3x3", channels=6, residual=True),
    Block(kind="pool3x3", channels=6, residual=True),
    Block(kind="pool3x3", channels=6, stride=2),
    Block(kind="conv1x1", channels=5),
)
FIRST = ConvIndividual(
    picture=PICTURE, blocks=EVERY_KIND, outputs=OUTPUTS, hidden=7, learning_rate=0.01
)
replace = msgspec.structs.replace
POPULATION = [
    FIRST,
    replace(FIRST, seed=1, learning_rate=0.02, momentum=0.5, weight_decay=0.01),
    replace(FIRST, seed=2, optimiser="adam", learning_rate=1e-3, weight_decay=1e-3),
    replace(FIRST, seed=3, momentum=0.0, bias_variance=0.1, weight_variance=1.0),
    replace(FIRST, seed=4, activation="tanh"),
    replace(FIRST, seed=5, blocks=(STEM,), hidden=0),
    replace(FIRST, seed=6, blocks=(), hidden=3, activation="gelu"),
    replace(FIRST, seed=7, optimiser="adam", learning_rate=2e-3, momentum=0.8),
    replace(FIRST, seed=8, head="flatten"),
    replace(FIRST, seed=9, head="flatten", learning_rate=0.02),
]
SEEN = Augmentation(picture=PICTURE, shift=1, mirror=True)
COURSE = Course(epochs=2, batch=8, schedule="cosine", warm_up=2)
DOUBLE = Place(dtype=torch.float64, chunk=4)


def rows_of(count: int) -> Rows:
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal((count, 60)))
    return Rows(x, torch.eye(OUTPUTS)[torch.from_numpy(rng.integers(OUTPUTS, size=count))])


def alone(one: ConvIndividual, rows: Rows, course: Course) -> tuple[ConvLayers, list[float]]:
    """Train the plain way: a module, autograd and PyTorch's own optimisers."""
    stack = ConvStack(
        blocks=one.blocks,
        head=one.head,
        hidden=one.hidden,
        activation=one.activation,  # type: ignore[arg-type] # none is "identity"
    )
    spread = Spread(weight_variance=one.weight_variance, bias_variance=one.bias_variance)
    model = ConvLayers(stack, one.picture, one.outputs, seed=one.seed, spread=spread).double()
    model.fill(draw_conv_weights(one))  # in full precision
    rate, decay = one.learning_rate, one.weight_decay
    optimiser: torch.optim.Optimizer = (
        torch.optim.SGD(model.parameters(), rate, momentum=one.momentum, weight_decay=decay)
        if one.optimiser == "sgd"
        else torch.optim.Adam(
            model.parameters(), rate, betas=(one.momentum, 0.999), weight_decay=decay
        )
    )
    count, step, losses = len(rows.inputs), 0, []
    x_NF, wanted_NO = rows.inputs.double(), rows.wanted.double()
    for epoch in range(course.epochs):
        order = torch.from_numpy(row_order(one.seed, epoch, count))
        shown = x_NF[order]
        if course.augmentation is not None:
            views = row_views(one.seed, epoch, count, course.augmentation.views)
            shown = torch.gather(shown, 1, course.augmentation.sources()[views])
        total = 0.0
        for first in range(0, count, course.batch):
            optimiser.param_groups[0]["lr"] = rate * course.scale(step, count)
            optimiser.zero_grad()
            some = order[first : first + course.batch]
            sums = model(shown[first : first + course.batch])
            loss = functional.cross_entropy(sums, wanted_NO[some])
            torch.autograd.backward(loss)
            optimiser.step()
            total, step = total + float(loss.detach()) * len(some), step + 1
        losses.append(total / count)
    return model, losses


def assert_alike(one: Weights, other: Weights, rtol: float) -> None:
    assert list(one.links) == list(other.links)
    pairs = [(one.links[link], other.links[link]) for link in one.links]
    for mine, theirs in [*pairs, *zip(one.biases, other.biases, strict=True)]:
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=rtol * max(1, abs(theirs).max()))


@pytest.mark.parametrize("augmentation", [None, SEEN])
def test_each_comes_to_what_it_comes_to_alone(augmentation: Augmentation | None) -> None:
    rows = rows_of(20)
    course = msgspec.structs.replace(COURSE, augmentation=augmentation)

    states = train_population(POPULATION, rows, course, place=DOUBLE)

    for individual, state in zip(POPULATION, states, strict=True):
        model, losses = alone(individual, rows, course)
        assert state.status == "trained"
        assert state.losses == pytest.approx(losses, rel=1e-10)
        theirs = list(model.parameters())
        mine = [
            one
            for pair in zip(state.weights.links.values(), state.weights.biases, strict=True)
            for one in pair
        ]
        for array, parameter in zip(mine, theirs, strict=True):
            expected = parameter.detach().numpy()
            np.testing.assert_allclose(
                array.T if array.ndim == 2 else array, expected, rtol=0, atol=1e-10
            )


@pytest.mark.parametrize("chunk", [1, 2, None])
def test_neither_chunks_nor_order_nor_neighbours_change_an_individual(chunk: int | None) -> None:
    rows = rows_of(20)
    whole = train_population(POPULATION, rows, COURSE, place=DOUBLE)
    shuffled = [5, 0, 7, 3]

    place = Place(dtype=torch.float64, chunk=chunk)
    some = train_population([POPULATION[one] for one in shuffled], rows, COURSE, place=place)

    for index, state in zip(shuffled, some, strict=True):
        assert_alike(state.weights, whole[index].weights, rtol=1e-12)
        assert state.losses == pytest.approx(whole[index].losses, rel=1e-12)


def test_one_at_a_time_comes_to_the_same_bits_whoever_else_is_there() -> None:
    rows, place = rows_of(20), Place(chunk=1)

    [one] = train_population(POPULATION[:1], rows, COURSE, place=place)

    among = train_population(POPULATION[::-1], rows, COURSE, place=place)[-1]
    assert_alike(one.weights, among.weights, rtol=0)


def test_dense_and_convolutional_individuals_are_trained_in_one_population() -> None:
    rows = rows_of(20)
    dense = [Individual(widths=(60, 8, OUTPUTS), seed=seed, learning_rate=0.01) for seed in (0, 1)]
    mixed: list[Member] = [dense[0], POPULATION[0], dense[1], POPULATION[5]]
    asked: list[Sequence[int]] = []

    def all_but_the_last(numbers: Sequence[int], _: Sequence[State]) -> list[bool]:
        asked.append(list(numbers))
        return [number != 3 for number in numbers]

    states = train_population(
        mixed, rows, COURSE, rungs=[1], goes_on=all_but_the_last, place=DOUBLE
    )

    assert asked == [[0, 1, 2, 3]]
    assert [(one.status, one.epochs) for one in states] == [("trained", 2)] * 3 + [("stopped", 1)]
    apart = train_population(dense, rows, COURSE, place=DOUBLE)
    assert_alike(states[2].weights, apart[1].weights, rtol=1e-12)
    answers = answer_population(
        mixed, [one.weights for one in states], rows.inputs[:5], "cross-entropy"
    )
    again = answer_population(mixed[1:2], [states[1].weights], rows.inputs[:5], "cross-entropy")
    assert [one.shape for one in answers] == [(5, OUTPUTS)] * 4
    torch.testing.assert_close(answers[1], again[0])


def test_an_individual_whose_numbers_end_says_where_and_disturbs_nobody() -> None:
    wild = replace(FIRST, seed=9, learning_rate=1e30)
    rows = rows_of(20)

    states = train_population([POPULATION[0], wild, POPULATION[1]], rows, COURSE, place=DOUBLE)

    assert [one.status for one in states] == ["trained", "diverged", "trained"]
    assert states[1].step == 3  # the first of the warm-up is small
    assert f"layer {states[1].layer} of 9 are no finite numbers" in states[1].message
    apart = train_population([POPULATION[0], POPULATION[1]], rows, COURSE, place=DOUBLE)
    assert_alike(states[0].weights, apart[0].weights, rtol=1e-12)
    assert_alike(states[2].weights, apart[1].weights, rtol=1e-12)


def test_the_layer_named_is_the_first_without_numbers() -> None:
    start = draw_conv_weights(FIRST)
    start.links[2, 3][1] = np.inf

    [_, state] = train_population(
        [FIRST, FIRST], rows_of(20), COURSE, starts=[None, start], place=DOUBLE
    )

    assert (state.status, state.step, state.layer) == ("diverged", 1, 3)


def test_a_training_goes_on_from_states_as_if_it_had_never_stopped() -> None:
    rows, short = rows_of(20), Course(epochs=1, batch=8, augmentation=SEEN)
    longer = msgspec.structs.replace(short, epochs=2)
    half = train_population(POPULATION, rows, short, place=DOUBLE)

    rest = train_population(POPULATION, rows, longer, starts=half, place=DOUBLE)

    whole = train_population(POPULATION, rows, longer, place=DOUBLE)
    for one, other in zip(rest, whole, strict=True):
        assert_alike(one.weights, other.weights, rtol=1e-12)


def test_one_that_memory_does_not_hold_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = replace(FIRST, blocks=(Block(kind="conv3x3", channels=900),))
    monkeypatch.setattr("evener.train.population.chunks.free_bytes", lambda _: 2_000_000)

    states = train_population([wide, POPULATION[5]], rows_of(8), COURSE)

    assert [one.status for one in states] == ["failed", "trained"]
    assert "memory does not hold its training: an individual takes" in states[0].message


def test_those_of_one_shape_activation_and_optimiser_are_one_stack() -> None:
    groups = Convolutional().groups(POPULATION)

    assert [one.members for one in groups] == [(0, 1, 3), (2, 7), (4,), (5,), (6,), (8, 9)]


def test_bytes_are_those_of_weights_and_values() -> None:
    form = ConvForm(replace(FIRST, blocks=(STEM,), hidden=0))

    weights = 4 * 2 * 9 + 4 + 4 * 3 + 3
    values = 60 + 3 * 4 * 3 * 3 + 3 * 3
    assert form.bytes_each(8, torch.float32) == 4 * (2 * weights + 8 * values)


def test_a_child_inherits_from_both_ends_what_has_its_shape() -> None:
    parent = replace(FIRST, blocks=EVERY_KIND[:3], seed=1)
    child = replace(FIRST, blocks=(STEM, *EVERY_KIND[:2][1:], EVERY_KIND[1], EVERY_KIND[2]), seed=2)
    learned = draw_conv_weights(parent)
    drawn = draw_conv_weights(child)

    begun = inherit_conv(child, parent, learned)

    from_parent = {0: 0, 1: 1, 3: 2, 4: 3, 5: 4, 6: 5}  # by layer: the second residual one is new
    assert child.depth == 7
    for own in range(7):
        array = begun.links[own, own + 1]
        if own in from_parent:
            other = from_parent[own]
            assert (array == learned.links[other, other + 1]).all()
        else:
            assert (array == drawn.links[own, own + 1]).all()
    begun.links[0, 1][:] = 0
    assert learned.links[0, 1].any()


def test_weights_begin_as_widely_as_they_should() -> None:
    wide = Block(kind="conv3x3", channels=64)
    residual = Block(kind="conv3x3", channels=64, residual=True)
    separable = Block(kind="depthwise3x3", channels=200)
    one = ConvIndividual(
        picture=(16, 4, 4), blocks=(wide, residual, residual, separable), outputs=9
    )

    drawn = list(draw_conv_weights(one).links.values())

    for array, variance in zip(
        drawn, (2 / 144, 1 / 576, 1 / 576, 2 / 9, 1 / 64, 2 / 200), strict=True
    ):
        assert float(array.var()) == pytest.approx(variance, rel=0.2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"picture": (0, 3, 3)}, "pictures of .0, 3, 3. .channels, height, width."),
        ({"outputs": 0}, "0 outputs: give 1 or more"),
        ({"learning_rate": 0.0}, "a learning rate of 0.0"),
        ({"momentum": 1.0}, "momentum 1.0: give 0 or more"),
        ({"weight_decay": -1.0}, "weight decay -1.0"),
        ({"blocks": (Block(kind="pool3x3", channels=5),)}, "keeps the 2 channels of the picture"),
        ({"blocks": (Block(kind="conv3x3", channels=2, residual=True),)}, "block 0 .conv3x3"),
    ],
)
def test_what_nobody_can_train_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(FIRST, **change)


def test_weights_that_do_not_fit_are_refused() -> None:
    rows, start = rows_of(8), draw_conv_weights(POPULATION[5])
    with pytest.raises(InputError, match="for an individual whose layers have"):
        train_population([FIRST], rows, COURSE, starts=[start])
    cut = Weights(start.links, start.biases, {(0, 1): np.ones((4, 2, 3, 3), bool)})
    with pytest.raises(InputError, match="only dense individuals have masks"):
        train_population([POPULATION[5]], rows, COURSE, starts=[cut])
    short = Weights(start.links, start.biases[:1])
    with pytest.raises(InputError, match=r"for layers of \[4, 3\] outputs"):
        train_population([POPULATION[5]], rows, COURSE, starts=[short])
    other = Augmentation(picture=(1, 6, 5))
    with pytest.raises(InputError, match="rows of 60 numbers, and pictures of .1, 6, 5."):
        training.train_population([FIRST], rows, Course(augmentation=other))
