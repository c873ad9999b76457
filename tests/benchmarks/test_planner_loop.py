"""Comparing fronts of two searches at equal accuracy."""

import numpy as np
import planner_loop
import pytest
from planner_fronts import LEVELS, Offer, compare, ladder
from planner_loop import Found, front_of

from evener.artifacts.conv_stack import Block, ConvStack


def offer(accuracy: float, cost: float, rate_hz: float, test: float = 0.0) -> Offer:
    return Offer("", accuracy, test, cost, 1 / rate_hz, 1000.0, rate_hz)


def test_rates_are_compared_at_accuracies_that_both_reach() -> None:
    quick = [offer(0.95, 1, 800, test=0.94), offer(0.99, 2, 400, test=0.98)]
    small = [offer(0.94, 10, 500, test=0.94), offer(0.97, 20, 250, test=0.97)]

    found = compare({"period_s": quick, "size_bytes": small})

    # At 0.97 they run at 800 / sqrt(2) and 250, at 0.95 at 800 and 500 / 2 ** (1 / 3).
    assert found["levels"][0] == pytest.approx(0.95)
    assert found["levels"][-1] == pytest.approx(0.97)
    assert found["period_s"]["rates_hz"][-1] == pytest.approx(800 / 2**0.5)
    assert found["size_bytes"]["rates_hz"][0] == pytest.approx(500 / 2 ** (1 / 3))
    middle = (800 / 2**0.25) / (500 / 2 ** (2 / 3))  # both are straight lines of logarithms
    assert found["ratio"] == pytest.approx(middle)
    assert found["test_gain"] == pytest.approx(-0.01)


def test_below_its_least_accurate_network_a_search_offers_that_one() -> None:
    quick = [offer(0.98, 1, 900)]
    small = [offer(0.96, 1, 300), offer(0.98, 2, 300)]

    found = compare({"period_s": quick, "size_bytes": small})

    assert found["levels"][0] == pytest.approx(0.96)
    assert found["period_s"]["rates_hz"] == pytest.approx([900] * LEVELS)
    assert found["ratio"] == pytest.approx(3)


def test_networks_chosen_by_the_validation_rows_are_compared_by_the_test_rows_too() -> None:
    quick = [offer(0.96, 1, 800, test=0.95), offer(0.98, 2, 400, test=0.97)]
    small = [offer(0.96, 1, 400, test=0.97), offer(0.98, 2, 100, test=0.99)]
    lucky = offer(0.97, 3, 9999, test=0.99)  # beaten on the validation rows, so not chosen

    found = compare({"period_s": [*quick, lucky], "size_bytes": small})

    # At 0.95 they run at 800 and 400, at 0.97 at 400 and 400.
    assert found["test_ratio"] == pytest.approx(2**0.5)


def test_fronts_far_below_the_best_do_not_count() -> None:
    front = [offer(0.5, 1, 1000), offer(0.98, 2, 500)]

    found = compare({"period_s": front, "size_bytes": front})

    assert found["levels"][0] == pytest.approx(0.96)
    assert found["ratio"] == pytest.approx(1)


def test_what_was_best_by_luck_leaves_the_front() -> None:
    assert [one.cost for one in ladder([offer(0.9, 3, 1), offer(0.95, 1, 1)])] == [1]


def test_the_most_accurate_few_of_a_front_are_trained_again() -> None:
    network = ConvStack(blocks=(Block(kind="conv3x3", channels=4),))
    accuracies = np.linspace(0.9, 0.99, 12)
    found = [Found(network, one, float(cost)) for cost, one in enumerate(accuracies.tolist())]
    beaten = Found(network, 0.9, 5.0)

    front = front_of([beaten, *found])

    assert front == found[: -planner_loop.FRONT - 1 : -1]
