"""Timing a population in one batch and one by one."""

import numpy as np
import population
import torch

from evener.train.loop import one_thread
from evener.train.population.course import Course
from evener.train.population.training import train_population
from evener.train.population.weights import draw_weights


def test_both_ways_train_the_same_networks_where_no_mask_cuts() -> None:
    with one_thread():
        case = population.Case((6, 5, 3), 4, 7, "cpu", networks=3)
        starts = [draw_weights(one) for one in case.population]
        case.alone = [
            population.alone(one, start, "cpu")
            for one, start in zip(case.population, starts, strict=True)
        ]

        case.one_by_one()
        states = train_population(case.population, case.rows, Course(batch=4), starts=starts)

    for (model, _), state in zip(case.alone, states, strict=True):
        own = model.state_dict()
        np.testing.assert_allclose(own["0.weight"].T, state.weights.links[0, 1], rtol=1e-4)
        np.testing.assert_allclose(own["2.bias"], state.weights.biases[1], rtol=1e-4)


def test_ways_take_turns_and_ratios_are_of_one_round() -> None:
    case = population.Case((6, 5, 3), 4, 2, "cpu", networks=2)
    before = torch.get_num_threads()

    row = population.measure(case, rounds=3, wanted=1.0)

    assert torch.get_num_threads() == before
    assert set(row["seconds"]) == {"together", "one by one, 1 thread", "one by one, 2 threads"}
    assert all(len(one) == 3 for one in row["seconds"].values())
    assert row["ratio_low"] <= row["ratio"] <= row["ratio_high"]
    assert population.line(row).startswith("6-5-3, batch 4, 2 networks on cpu, 2 steps: ")
