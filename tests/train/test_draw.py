"""Drawing masks by where they stand."""

import numpy as np
import pytest

from evener.train.draw import (
    dropout_mask,
    input_noise,
    link_weights,
    units_kept,
    weight_row,
)


@pytest.mark.parametrize("batch", [1, 4, 7])
def test_a_neuron_s_mask_does_not_depend_on_who_draws_its_neighbours(batch: int) -> None:
    whole = dropout_mask(1, 2, 3, slice(0, 20), batch, 0.6)

    parts = [
        dropout_mask(1, 2, 3, slice(first, last), batch, 0.6)
        for first, last in ((0, 1), (1, 9), (9, 20))
    ]

    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_masks_differ_by_seed_step_layer_and_neuron() -> None:
    drawn = [
        dropout_mask(seed, step, layer, slice(0, 2), 64, 0.5)
        for seed, step, layer in ((0, 0, 1), (1, 0, 1), (0, 1, 1), (0, 0, 2))
    ]
    rows = np.concatenate(drawn)

    assert len(np.unique(rows, axis=0)) == len(rows)


def test_as_many_are_kept_as_should_be() -> None:
    kept = dropout_mask(5, 0, 1, slice(0, 1000), 100, 0.7).mean()

    assert kept == pytest.approx(0.7, abs=0.01)  # 7 standard deviations


def test_noise_does_not_depend_on_who_draws_which_rows_and_differs_by_step() -> None:
    whole = input_noise(1, 2, slice(0, 500), 20)

    parts = [input_noise(1, 2, slice(*rows), 20) for rows in ((0, 3), (3, 3), (3, 500))]

    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert not np.isin(input_noise(1, 3, slice(0, 500), 20), whole).any()
    assert whole.std() == pytest.approx(1, abs=0.04)  # 5 standard deviations


def test_every_seed_has_weights_of_its_own_negative_and_great_ones_too() -> None:
    seeds = [-1, -2, 2**63, 2**63 + 1, 2**64 - 3]

    drawn = {tuple(weight_row(seed, 1, 0, 3).tolist()) for seed in seeds}

    assert len(drawn) == len(seeds)


def test_links_of_a_network_and_its_biases_are_drawn_apart() -> None:
    drawn = {
        tuple(link_weights(seed, start, end, 3).tolist())
        for seed, start, end in ((0, 0, 1), (0, 0, 2), (0, 1, 2), (0, 1, 1), (1, 0, 1))
    }

    assert len(drawn) == 5
    assert link_weights(5, 0, 1, 10_000).std() == pytest.approx(1, abs=0.04)


@pytest.mark.parametrize("count", [1, 16, 33])
def test_units_of_a_step_do_not_depend_on_the_steps_drawn_with_it(count: int) -> None:
    whole = units_kept(1, range(20), 3, count, 0.6)

    parts = [units_kept(1, steps, 3, count, 0.6) for steps in (range(7), range(7, 20))]

    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_as_many_units_are_kept_as_should_be() -> None:
    assert units_kept(2, range(10), 1, 10_000, 0.7).mean() == pytest.approx(0.7, abs=0.01)
    assert units_kept(2, range(1), 1, 1000, 1.0).all()
