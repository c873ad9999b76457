"""A population trained together comes to what each of it comes to alone."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.errors import InputError
from evener.train.population import training
from evener.train.population.course import Course, Rows
from evener.train.population.individual import Individual
from evener.train.population.losses import LOSSES, LossName
from evener.train.population.stacked import Stacked
from evener.train.population.state import State
from evener.train.population.training import Place, train_population
from evener.train.population.twin import Twin
from evener.train.population.weights import Weights, draw_weights

DOUBLE = Place(dtype=torch.float64)
INPUTS, OUTPUTS = 5, 3


def rows_of(count: int, loss: LossName, *, inputs: int = INPUTS, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.standard_normal((count, inputs)))
    if loss == "cross-entropy":
        return Rows(x, torch.eye(OUTPUTS)[torch.from_numpy(rng.integers(OUTPUTS, size=count))])
    if loss == "binary":
        return Rows(x, torch.from_numpy(rng.integers(2, size=(count, OUTPUTS)).astype(float)))
    return Rows(x, torch.from_numpy(rng.standard_normal((count, OUTPUTS))))


def twins_of(
    population: Sequence[Individual],
    starts: Sequence[Weights],
    rows: Rows,
    course: Course,
    dtype: torch.dtype = torch.float64,
) -> list[Twin]:
    twins = [
        Twin(one, start, rows, course, dtype) for one, start in zip(population, starts, strict=True)
    ]
    for twin in twins:
        twin.train()
    return twins


def assert_alike(one: Weights, other: Weights, rtol: float) -> None:
    """Compare arrays by the largest number in each: small ones are differences of larger ones."""
    assert set(one.links) == set(other.links)
    pairs = [(one.links[link], other.links[link]) for link in one.links]
    for mine, theirs in [*pairs, *zip(one.biases, other.biases, strict=True)]:
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=rtol * max(1, abs(theirs).max()))


@st.composite
def individuals(draw: st.DrawFn) -> Individual:
    hidden = draw(st.lists(st.integers(1, 12), max_size=3))
    widths = (INPUTS, *hidden, OUTPUTS)
    pairs = [pair for pair in combinations(range(len(widths)), 2) if pair[1] < len(widths) - 1]
    last = draw(st.sets(st.integers(0, len(widths) - 2), min_size=1))
    some = draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    return Individual(
        widths=widths,
        links=tuple(sorted(some | {(start, len(widths) - 1) for start in last})),
        activation=draw(st.sampled_from(["relu", "tanh", "gelu", "sigmoid", "identity"])),
        seed=draw(st.integers(0, 2**32)),
        optimiser=draw(st.sampled_from(["sgd", "adam"])),
        learning_rate=draw(st.floats(1e-4, 0.01)),  # at higher ones rounding grows to any size
        momentum=draw(st.sampled_from([0.0, 0.5, 0.9])),
        weight_decay=draw(st.sampled_from([0.0, 1e-3, 0.1])),
        dropout=draw(st.sampled_from([0.0, 0.0, 0.4])),
        weight_variance=draw(st.floats(0.1, 2)),
        bias_variance=draw(st.sampled_from([0.0, 0.05])),
    )


@given(
    st.lists(individuals(), min_size=1, max_size=6),
    st.sampled_from(LOSSES),
    st.integers(1, 9),
    st.integers(0, 2**32),
)
@settings(max_examples=20, deadline=None, derandomize=True)
def test_each_comes_to_what_it_comes_to_alone(
    population: list[Individual], loss: LossName, batch: int, seed: int
) -> None:
    rows = rows_of(20, loss)
    course = Course(epochs=2, batch=batch, loss=loss, schedule="cosine", warm_up=2)
    rng = np.random.default_rng(seed)
    starts = [
        draw_weights(one, {one.edges[0]: rng.random([one.widths[i] for i in one.edges[0]]) < 0.7})
        for one in population
    ]

    states = train_population(population, rows, course, starts=starts, place=DOUBLE)

    for state, twin in zip(states, twins_of(population, starts, rows, course), strict=True):
        assert state.status == ("trained" if len(twin.losses) == course.epochs else "diverged")
        assert state.losses == pytest.approx(twin.losses, rel=1e-10, abs=1e-12)
        # What a mask cuts is left alone here, and decays there, where it is multiplied by 0.
        there = {
            link: one * twin.weights.masks.get(link, 1.0)
            for link, one in twin.weights.links.items()
        }
        assert_alike(state.weights, replace(twin.weights, links=there), rtol=1e-10)


MIXED = [
    Individual(widths=(20, 32, 16, OUTPUTS), seed=1, learning_rate=0.02),
    Individual(widths=(20, 30, 15, OUTPUTS), seed=2, learning_rate=0.05, momentum=0.5),
    Individual(
        widths=(20, 31, 16, OUTPUTS),
        links=((0, 1), (1, 2), (0, 2), (1, 3), (2, 3)),
        activation="tanh",
        seed=3,
        learning_rate=0.01,
        weight_decay=1e-3,
    ),
    Individual(widths=(20, 24, OUTPUTS), activation="sigmoid", seed=4, dropout=0.3),
    Individual(
        widths=(20, 28, 14, OUTPUTS),
        activation="gelu",
        seed=5,
        optimiser="adam",
        learning_rate=1e-3,
    ),
]


def test_in_single_precision_a_hundred_steps_stay_within_a_ten_thousandth() -> None:
    rows = rows_of(160, "cross-entropy", inputs=20)
    course = Course(epochs=10, batch=16)
    starts = [draw_weights(one) for one in MIXED]

    states = train_population(MIXED, rows, course, starts=starts)

    twins = twins_of(MIXED, starts, rows, course, torch.float32)
    assert [twin.step for twin in twins] == [100] * len(MIXED)
    for state, twin in zip(states, twins, strict=True):
        assert_alike(state.weights, twin.weights, rtol=1e-4)


@pytest.mark.parametrize("chunk", [1, 2, None])
def test_neither_chunks_nor_order_nor_neighbours_change_an_individual(chunk: int | None) -> None:
    rows, course = rows_of(40, "cross-entropy", inputs=20), Course(epochs=3, batch=8)
    whole = train_population(MIXED, rows, course, place=DOUBLE)
    shuffled = [4, 2, 0, 3]

    place = Place(dtype=torch.float64, chunk=chunk)
    some = train_population([MIXED[one] for one in shuffled], rows, course, place=place)

    for index, state in zip(shuffled, some, strict=True):
        assert_alike(state.weights, whole[index].weights, rtol=1e-12)
        assert state.losses == pytest.approx(whole[index].losses, rel=1e-12)


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, course = rows_of(40, "cross-entropy", inputs=20), Course(epochs=3, batch=8)
    population = [msgspec.structs.replace(one, seed=seed) for seed in range(4) for one in MIXED]
    alone = train_population(population, rows, course, place=DOUBLE)
    trained_by: set[int] = set()

    class Told(Stacked[Individual]):
        """Tells which thread trains."""

        def run(self, *rest: object) -> list[State]:
            trained_by.add(threading.get_ident())
            return super().run(*rest)  # type: ignore[arg-type] # as they came

    monkeypatch.setattr(training, "Stacked", Told)
    torch.set_num_threads(2)

    states = train_population(population, rows, course, place=DOUBLE)

    assert threading.get_ident() not in trained_by
    for one, other in zip(states, alone, strict=True):
        assert one.losses == pytest.approx(other.losses, rel=1e-12)
        assert_alike(one.weights, other.weights, rtol=1e-12)


def test_what_a_mask_cuts_stays_zero() -> None:
    one = MIXED[0]
    mask = np.random.default_rng(0).random((20, 32)) < 0.5
    start = draw_weights(one, {(0, 1): mask})

    [state] = train_population([one], rows_of(40, "squared", inputs=20), SQUARED, starts=[start])

    assert not state.weights.links[0, 1][~mask].any()
    assert state.weights.links[0, 1][mask].all()
    assert (state.weights.masks[0, 1] == mask).all()


SQUARED = Course(epochs=3, batch=8, loss="squared")


def test_an_individual_whose_numbers_end_says_where_and_disturbs_nobody() -> None:
    wild = [
        Individual(widths=(20, 32, 16, OUTPUTS), seed=9, learning_rate=1e9),
        Individual(widths=(20, 32, 16, OUTPUTS), seed=10, learning_rate=3e4),
    ]
    population = [MIXED[0], wild[0], MIXED[1], wild[1]]
    rows = rows_of(40, "squared", inputs=20)
    starts = [draw_weights(one) for one in population]

    states = train_population(population, rows, SQUARED, starts=starts, place=DOUBLE)

    assert [one.status for one in states] == ["trained", "diverged", "trained", "diverged"]
    twins = twins_of(population, starts, rows, SQUARED)
    for state, twin in zip(states, twins, strict=True):
        if state.status == "diverged":
            assert state.step == twin.step
            assert 1 <= state.layer <= 3
            assert f"at step {twin.step} of 15: the sums of layer {state.layer}" in state.message
            assert "Lower its learning rate, which is" in state.message
        else:
            assert_alike(state.weights, twin.weights, rtol=1e-12)


def test_the_layer_named_is_the_first_without_numbers() -> None:
    start = draw_weights(MIXED[0])
    start.links[1, 2][:, 4] = 1e308
    one = msgspec.structs.replace(MIXED[0], learning_rate=1e-300)

    [state] = train_population(
        [one], rows_of(40, "squared", inputs=20), SQUARED, starts=[start], place=DOUBLE
    )

    assert (state.status, state.step, state.layer) == ("diverged", 1, 2)


def test_weights_that_end_in_the_last_step_are_seen_too() -> None:
    one = Individual(widths=(1, 1), learning_rate=1e300)
    rows = Rows(torch.tensor([[1e9]]), torch.tensor([[1.0]]))
    start = Weights({(0, 1): np.array([[1.0]])}, (np.array([0.0]),))

    [state] = train_population(
        [one], rows, Course(batch=1, loss="squared"), starts=[start], place=DOUBLE
    )

    assert (state.status, state.step, state.layer) == ("diverged", 1, 1)
    assert "the weights of layer 1 of 1 are no finite numbers" in state.message


def test_those_that_are_not_chosen_stop_and_the_others_go_on_undisturbed() -> None:
    rows, course = rows_of(40, "cross-entropy", inputs=20), Course(epochs=4, batch=8)
    asked: list[tuple[list[int], list[int]]] = []

    def better_half(numbers: Sequence[int], states: Sequence[State]) -> list[bool]:
        asked.append((list(numbers), [one.epochs for one in states]))
        ranked = sorted(one.losses[-1] for one in states)
        return [one.losses[-1] <= ranked[(len(ranked) - 1) // 2] for one in states]

    states = train_population(MIXED, rows, course, rungs=[1, 2], goes_on=better_half, place=DOUBLE)

    whole = train_population(MIXED, rows, course, place=DOUBLE)
    by_first_loss = sorted(range(5), key=lambda index: whole[index].losses[0])
    stay = sorted(by_first_loss[:3])
    assert asked == [([0, 1, 2, 3, 4], [1] * 5), (stay, [2] * 3)]
    last = sorted(stay, key=lambda index: whole[index].losses[1])[:2]
    assert [index for index, one in enumerate(states) if one.status == "trained"] == sorted(last)
    for index in last:
        assert_alike(states[index].weights, whole[index].weights, rtol=1e-12)
    dropped = states[by_first_loss[-1]]
    assert (dropped.status, dropped.epochs) == ("stopped", 1)
    assert dropped.message == "not chosen to go on after 1 of 4 epochs"


def test_a_training_goes_on_from_states_as_if_it_had_never_stopped() -> None:
    rows = rows_of(40, "cross-entropy", inputs=20)
    half = train_population(MIXED, rows, Course(epochs=2, batch=8), place=DOUBLE)

    rest = train_population(MIXED, rows, Course(epochs=4, batch=8), starts=half, place=DOUBLE)

    whole = train_population(MIXED, rows, Course(epochs=4, batch=8), place=DOUBLE)
    for one, other in zip(rest, whole, strict=True):
        assert one.losses == pytest.approx(other.losses, rel=1e-12)
        assert_alike(one.weights, other.weights, rtol=1e-12)


@pytest.mark.parametrize("steps", [5, 7, 9])
def test_when_the_time_is_up_what_whole_epochs_learned_is_kept(steps: int) -> None:
    answers = iter([*[False] * steps, True])
    rows, course = rows_of(40, "cross-entropy", inputs=20), Course(epochs=4, batch=8)

    [state] = train_population(
        MIXED[:1], rows, course, out_of_time=lambda: next(answers), place=DOUBLE
    )

    assert (state.status, state.epochs, len(state.losses)) == ("out_of_time", 1, 1)
    assert state.message == "the time was up after 1 of 4 epochs; give more"
    [one] = train_population(MIXED[:1], rows, Course(epochs=1, batch=8), place=DOUBLE)
    assert_alike(state.weights, one.weights, rtol=1e-12)
    rest = train_population(MIXED[:1], rows, course, starts=[state], place=DOUBLE)
    [whole] = train_population(MIXED[:1], rows, course, place=DOUBLE)
    assert_alike(rest[0].weights, whole.weights, rtol=1e-12)


def test_steps_that_wait_for_nothing_come_to_the_same_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wild = msgspec.structs.replace(MIXED[0], learning_rate=3e4)
    population, rows = [*MIXED, wild], rows_of(40, "squared", inputs=20)
    waiting = train_population(population, rows, SQUARED)
    # As they are captured for a GPU.
    monkeypatch.setattr(Stacked, "_taking", lambda _, step: step.without_waiting)

    states = train_population(population, rows, SQUARED)

    for one, other in zip(states, waiting, strict=True):
        assert (one.status, one.step, one.layer) == (other.status, other.step, other.layer)
        assert_alike(one.weights, other.weights, rtol=0)
    assert states[-1].status == "diverged"


def test_a_chunk_that_memory_does_not_hold_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    class Scarce:
        """Holds two individuals and no more, and the one of seed 3 never."""

        def __init__(self, form: object, some: Sequence[Individual], *rest: object) -> None:
            sizes.append(len(some))
            if len(some) > 2 or any(one.seed == 3 for one in some):
                raise RuntimeError("[enforce fail] DefaultCPUAllocator: not enough memory")
            self.run = Stacked(form, some, *rest).run  # type: ignore[arg-type] # as they came

    population = [msgspec.structs.replace(MIXED[0], seed=seed) for seed in range(4)]
    rows, course = rows_of(40, "cross-entropy", inputs=20), Course(batch=8)
    whole = train_population(population, rows, course, place=DOUBLE)
    monkeypatch.setattr(training, "Stacked", Scarce)

    states = train_population(population, rows, course, place=DOUBLE)

    assert sizes == [4, 2, 2, 1, 1]
    assert [one.status for one in states] == ["trained"] * 3 + ["failed"]
    assert "memory does not hold its training: [enforce fail]" in states[3].message
    for one, other in zip(states[:3], whole, strict=False):
        assert_alike(one.weights, other.weights, rtol=1e-12)


def test_other_errors_of_torch_are_no_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(training, "Stacked", broken)

    with pytest.raises(RuntimeError, match="shapes do not fit"):
        train_population(MIXED[:1], rows_of(8, "squared", inputs=20), SQUARED)


def test_one_that_no_memory_holds_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    huge = Individual(widths=(20, 4000, OUTPUTS), seed=1)
    monkeypatch.setattr("evener.train.population.chunks.free_bytes", lambda _: 1_000_000)

    states = train_population([huge, MIXED[3]], rows_of(8, "squared", inputs=20), SQUARED)

    assert [one.status for one in states] == ["failed", "trained"]
    assert "memory does not hold its training" in states[0].message
    assert "1 MB are free" in states[0].message


def test_what_does_not_fit_is_refused() -> None:
    rows, course = rows_of(8, "squared", inputs=20), SQUARED
    with pytest.raises(InputError, match="individual 1 has 5 inputs and 3 outputs, the rows 20"):
        train_population([MIXED[0], Individual(widths=(5, 3))], rows, course)
    with pytest.raises(InputError, match="1 starts for 2 individuals"):
        train_population(MIXED[:2], rows, course, starts=[None])
    with pytest.raises(InputError, match=r"rungs after \[2, 1\] epochs of 3: give rising numbers"):
        train_population(MIXED[:1], rows, course, rungs=[2, 1])
    with pytest.raises(InputError, match="weights of links"):
        train_population(MIXED[:1], rows, course, starts=[draw_weights(MIXED[3])])
    begun = train_population([MIXED[4]], rows, course)
    sgd = msgspec.structs.replace(MIXED[4], optimiser="sgd")
    with pytest.raises(InputError, match="remembers 2 numbers for each weight, and sgd remembers"):
        train_population([sgd], rows, course, starts=begun)
