"""Measuring χ₁ in real random networks."""

from math import inf

import numpy as np
import pytest

from evener.errors import InfeasibleError, InputError
from evener.search.chaos.activation import Name
from evener.search.chaos.mean_field import BIAS_VARIANCE, critical_density, gain_for, regime
from evener.search.chaos.propagation import Probe, measure_chi, walk


@pytest.mark.parametrize(("variance", "paper"), [(2.240, 0.786), (1.999, 0.881)])
def test_tanh_is_critical_where_theory_says(variance: float, paper: float) -> None:
    settled = regime("tanh", gain_for("tanh", 1.0, 0.05), 0.05).variance
    probe = Probe("tanh", variance, 0.05, width=400, depth=18, burn_in=3, variance=settled)
    theory = critical_density("tanh", variance, 0.05)
    grid = np.linspace(paper - 0.15, min(paper + 0.15, 1.0), 5)

    walked = walk(probe, grid.tolist(), 2, np.random.default_rng(1))

    assert abs(walked.critical - theory) <= 0.02
    assert abs(walked.critical - paper) <= 0.02
    assert walked.chi[0][1] < 1 < walked.chi[-1][1]


@pytest.mark.parametrize("density", [0.5, 0.786, 1.0])
def test_relu_is_critical_at_two_over_its_weights_variance(density: float) -> None:
    probe = Probe("relu", 2 / density, 0.0, width=300)
    chi = [measure_chi(probe, density, np.random.default_rng(seed)) for seed in range(4)]

    assert np.exp(np.mean([np.log(one) for one, _ in chi])) == pytest.approx(1, abs=0.03)
    assert chi[0][1].value == pytest.approx(density, abs=0.002)


# Gelu settles too slowly at χ₁ = 1 for a test to wait for it.
@pytest.mark.parametrize(
    ("name", "target"),
    [("tanh", 0.5), ("tanh", 2.0), ("gelu", 0.5), ("gelu", 0.8), ("sigmoid", 0.5), ("sigmoid", 1)],
)
def test_other_activations_too_have_the_chi_that_theory_says(name: Name, target: float) -> None:
    gain, bias = gain_for(name, target), BIAS_VARIANCE[name]
    settled = regime(name, gain, bias).variance
    probe = Probe(name, gain / 0.8, bias, width=400, depth=25, burn_in=5, variance=settled)

    chi, _ = measure_chi(probe, 0.8, np.random.default_rng(7))

    assert chi == pytest.approx(regime(name, gain, bias).chi, rel=0.04)


def test_rows_become_equal_where_no_link_is_left() -> None:
    assert measure_chi(Probe("tanh", 2.0, 0.05), 0.0, np.random.default_rng(0))[0] == 0


def test_sums_that_overflow_are_chaotic_without_end() -> None:
    probe = Probe("relu", 1e30, 0.0, width=20)

    with np.errstate(all="ignore"):
        assert measure_chi(probe, 1.0, np.random.default_rng(0))[0] == inf


def test_a_walk_that_stays_ordered_says_what_to_do() -> None:
    with pytest.raises(
        InfeasibleError, match=r"and does not pass 1 on the way\. Take a wider range of densities"
    ):
        walk(Probe("tanh", 0.5, 0.05, width=60), [0.2, 0.9], 1, np.random.default_rng(0))


def test_a_walk_goes_up() -> None:
    with pytest.raises(InputError, match="give at least two, rising"):
        walk(Probe("tanh", 2.0, 0.05), [0.9, 0.2], 1, np.random.default_rng(0))


def test_a_network_all_of_whose_layers_are_left_out_is_refused() -> None:
    with pytest.raises(InputError, match="has nothing to measure: give more layers"):
        Probe("tanh", 2.0, 0.05, depth=5, burn_in=5)
