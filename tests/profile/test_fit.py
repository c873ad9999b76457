"""A cost model of some cores, from networks that were timed there."""

import numpy as np
import pytest

from evener.profile.fit import fit_rates


def test_times_that_are_sums_are_found_again() -> None:
    rng = np.random.default_rng(0)
    features = rng.uniform(0, 5, (12, 3))
    times_s = (2e-5 + features @ [1e-3, 0.0, 4e-2]).tolist()

    fit = fit_rates(features, times_s)

    assert fit.fixed_s == pytest.approx(2e-5, rel=1e-6)
    assert fit.seconds == pytest.approx((1e-3, 0.0, 4e-2), abs=1e-9)
    assert max(fit.errors) < 1e-6
    assert fit.predicted_s(np.array([1.0, 1.0, 1.0])) == pytest.approx(2e-5 + 4.1e-2)


def test_no_rate_is_negative_whatever_was_measured() -> None:
    features = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])

    fit = fit_rates(features, [3e-3, 2e-3, 1e-3])

    assert min(fit.fixed_s, *fit.seconds) >= 0


def test_errors_are_of_networks_that_the_fit_did_not_see() -> None:
    features = np.array([[1.0], [2.0], [3.0]])

    fit = fit_rates(features, [1.0, 2.0, 9.0])

    assert fit.errors[2] == pytest.approx(1 - 3 / 9)


def test_a_small_time_counts_as_much_as_a_large_one() -> None:
    features = np.array([[1.0, 0.0], [1000.0, 0.0], [1.0, 1.0], [1000.0, 1.0]])

    fit = fit_rates(features, [1e-3, 1.0, 2e-3, 1.001])

    assert fit.predicted_s(features[0]) == pytest.approx(1e-3, rel=1e-6)
