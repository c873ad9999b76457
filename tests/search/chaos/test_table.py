"""Finding the edge of chaos in a table of hyperparameters."""

import numpy as np
import pytest

from evener.errors import InputError
from evener.search.chaos.langton import Lambda
from evener.search.chaos.table import (
    CLASSES,
    PAPER,
    Axis,
    Grid,
    Limits,
    Probed,
    classify,
    deviations,
    probe_table,
)

ROWS = np.random.default_rng(0).normal(size=(64, 6))
WANTED = ROWS @ np.array([1.0, -2.0, 0.5, 0.0, 0.0, 1.5])
SMALL = Grid(
    (Axis("learning rate", (1e-5, 1e-3, 1e-1, 3.0)), Axis("momentum", (0.0, 0.3, 0.6, 0.9)))
)


def descend(states: np.ndarray, steps: int = 30) -> np.ndarray:
    """Fit a plane by gradient descent with momentum, for all states at once."""
    weights = np.zeros((len(states), 6))
    speed = np.zeros_like(weights)
    losses = []
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps + 1):
            missed = weights @ ROWS.T - WANTED
            losses.append((missed**2).mean(axis=1))
            speed = states[:, 1:2] * speed - states[:, :1] * missed @ ROWS / len(ROWS)
            weights = weights + speed
    return np.stack(losses, axis=1)


@pytest.fixture(scope="module")
def probed() -> Probed:
    return probe_table(SMALL, descend)


def test_low_rates_are_quiescent_high_ones_divergent_and_those_between_active(
    probed: Probed,
) -> None:
    names = np.array(CLASSES)[probed.classes].reshape(4, 4)

    assert names.tolist() == [
        ["quiescent"] * 4,
        ["active"] * 4,
        ["active"] * 4,
        ["divergent"] * 4,
    ]


def test_lambda_is_critical_where_the_box_learns_most(probed: Probed) -> None:
    by_hand = {box.levels: box for box in probed.boxes}
    losses = descend(SMALL.states()).reshape(4, 4, -1)
    gone = 1 - losses[:3, :, -1] / losses[:3, :, 0]

    assert probed.peak.levels == (3, 3)
    assert probed.peak.learned == pytest.approx(gone[:, :3].mean())
    assert probed.peak.states == Lambda(9, 3)
    assert probed.critical == pytest.approx(2 / 3)
    assert by_hand[4, 4].learned == pytest.approx(gone.sum() / 16)


def test_boxes_grow_by_one_level_at_a_time_to_the_whole_table(probed: Probed) -> None:
    sizes = [box.states.states for box in probed.boxes]

    assert [box.levels for box in probed.boxes[:4]] == [(1, 1), (2, 1), (2, 2), (3, 2)]
    assert sizes == [1, 2, 4, 6, 9, 12, 16]


def test_networks_start_at_active_states_of_the_peak(probed: Probed) -> None:
    states = SMALL.states()[probed.edge()]

    assert sorted(set(states[:, 0])) == [1e-3, 1e-1]
    assert sorted(set(states[:, 1])) == [0.0, 0.3, 0.6]


def test_both_readings_of_equation_1_are_given(probed: Probed) -> None:
    assert probed.counted("product") == Lambda(16, 4)
    assert probed.counted("paper") == Lambda(2**4, 4)


def test_the_papers_table_has_625_states() -> None:
    states = PAPER.states()

    assert states.shape == (625, 4)
    assert states[0].tolist() == [1e-4, 0.0, 0.0, 0.001]
    assert states[-1].tolist() == [1.0, 0.9, 1.0, 1.0]


def test_a_state_that_bursts_on_the_way_is_divergent_even_if_it_comes_back() -> None:
    assert CLASSES[classify(np.array([[1.0, 5.0, 0.1]]), Limits())[0]] == "divergent"


def test_deviations_are_in_levels_not_in_values() -> None:
    values = np.array([[1e-3, 0.9], [10**-1.5, 0.0]])

    found = deviations(values, [1e-1, 0.3], SMALL)

    assert found[0] == pytest.approx([-1 / 3, 2 / 3])
    assert -1 / 3 < found[1, 0] < 0


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        (
            np.ones((3, 4)),
            r"a probe of 16 states returned losses of shape \(3, 4\): return one row",
        ),
        (np.full((16, 4), np.nan), "first losses that are no number above 0"),
    ],
)
def test_a_probe_that_does_not_answer_is_named(losses: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        probe_table(SMALL, lambda _: losses)


def test_levels_rise() -> None:
    with pytest.raises(InputError, match=r"a table of rate with \[2\] levels: give each as many"):
        Grid((Axis("rate", (0.1, 0.01)),))
