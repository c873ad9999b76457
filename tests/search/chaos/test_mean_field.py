"""Mean-field theory of random networks."""

from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evener.errors import InfeasibleError, InputError
from evener.search.chaos.activation import ACTIVATIONS, Name
from evener.search.chaos.mean_field import (
    BIAS_VARIANCE,
    Regime,
    critical_density,
    critical_variance,
    gain_for,
    regime,
)

names = st.sampled_from(list(BIAS_VARIANCE))
unhurried = settings(deadline=None, max_examples=25)  # the first of each activation takes longer


@pytest.mark.parametrize("name", ["tanh", "gelu", "sigmoid"])
def test_slopes_are_derivatives(name: Name) -> None:
    rule = ACTIVATIONS[name]
    sums = np.linspace(-4, 4, 33)

    numeric = (rule.value(sums + 1e-6) - rule.value(sums - 1e-6)) / 2e-6

    assert rule.slope(sums) == pytest.approx(numeric, abs=1e-8)


@pytest.mark.parametrize("name", ["tanh", "gelu", "sigmoid"])
@pytest.mark.parametrize("gain", [0.7, 1.4])
def test_gauss_hermite_quadrature_finds_the_same_fixed_point(name: Name, gain: float) -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    weights /= weights.sum()
    found = regime(name, gain, 0.05)

    sums = np.sqrt(found.variance) * nodes
    rule = ACTIVATIONS[name]
    assert gain * weights @ rule.value(sums) ** 2 + 0.05 == pytest.approx(found.variance, rel=1e-9)
    assert gain * weights @ rule.slope(sums) ** 2 == pytest.approx(found.chi, rel=1e-9)


def test_where_sums_vary_much_the_integral_is_still_right() -> None:
    # E[tanh'(√q z)²] is 2/3 over the width of the normal distribution, if q is large.
    found = regime("tanh", 600.0, 0.0)

    expected = 600 * 2 / 3 * 2 / np.sqrt(2 * np.pi * found.variance)
    assert found.variance > 500
    assert found.chi == pytest.approx(expected, rel=2e-3)


@unhurried
@given(st.floats(0.05, 0.95), st.floats(0.0, 2.0))
@example(0.9499999999999998, 0.5)  # settles at 10, where the sign of the surplus is rounding
def test_relu_has_closed_forms(half_gain: float, bias: float) -> None:
    found = regime("relu", 2 * half_gain, bias)

    assert found.chi == pytest.approx(half_gain)
    assert found.variance == pytest.approx(bias / (1 - half_gain), rel=1e-6, abs=1e-8)


def test_sums_of_relu_grow_without_end_above_criticality() -> None:
    found = regime("relu", 2.2, 0.1)

    assert found.variance == inf
    assert found.chi == pytest.approx(1.1)


def test_without_bias_an_ordered_tanh_dies_out() -> None:
    found = regime("tanh", 0.8, 0.0)

    assert found.variance == 0
    assert found.chi == pytest.approx(0.8)


@unhurried
@given(names, st.sampled_from([0.3, 0.5, 0.9, 1.0, 1.1, 2.0]))
def test_a_network_of_the_gain_for_a_chi_has_that_chi(name: Name, chi: float) -> None:
    gain = gain_for(name, chi)

    assert regime(name, gain, BIAS_VARIANCE[name]).chi == pytest.approx(chi, rel=1e-6)


@unhurried
@given(names, st.floats(0.01, 1.0))
def test_compensated_weights_are_critical_at_their_density(name: Name, density: float) -> None:
    variance = critical_variance(name, density)

    assert critical_density(name, variance) == pytest.approx(density)
    assert density * variance == pytest.approx(gain_for(name, 1.0))


def test_the_papers_values_are_two_points_of_one_law() -> None:
    assert critical_density("tanh", 2.240, 0.05) == pytest.approx(0.786, abs=5e-4)
    assert critical_density("tanh", 1.999, 0.05) == pytest.approx(0.881, abs=5e-4)
    assert critical_density("relu", 2.0 / 0.786) == pytest.approx(0.786)


def test_distances_change_e_fold_in_the_depth_scale() -> None:
    assert Regime(1.0, exp(-0.25)).depth_scale == pytest.approx(4)
    assert Regime(1.0, 2.0).depth_scale == pytest.approx(1 / log(2))
    assert Regime(1.0, 1.0).depth_scale == inf
    assert Regime(0.0, 0.0).depth_scale == 0


@pytest.mark.parametrize("bias", [0.0, 0.1])
def test_gelu_of_little_bias_has_no_critical_point(bias: float) -> None:
    with pytest.raises(InfeasibleError, match=r"settle at no variance where χ₁ is 1\. Take a larg"):
        gain_for("gelu", 1.0, bias)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: regime("tanh", 0.0, 0.0), "gain 0 and bias variance 0: give a gain above 0"),
        (lambda: gain_for("tanh", -1.0), "χ₁ of -1 with bias variance 0.05: give a χ₁ above 0"),
        (lambda: critical_density("tanh", 0.0), "a weight variance of 0: give one above 0"),
        (lambda: critical_variance("tanh", 0.0), "a density of 0: a network without links has no"),
    ],
)
def test_what_is_out_of_range_is_named(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=message):
        call()


def test_saturated_networks_are_named() -> None:
    with pytest.raises(InfeasibleError, match="every neuron of tanh is saturated"):
        regime("tanh", 1e5, 0.0)
