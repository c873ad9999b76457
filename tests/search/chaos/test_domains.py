"""Starting in a domain."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.errors import InputError
from evener.search.chaos.activation import Name
from evener.search.chaos.domains import CHI, DOMAINS, Domain, compensate, draw_start, start_of
from evener.search.chaos.mean_field import BIAS_VARIANCE, regime

names = st.sampled_from(list(BIAS_VARIANCE))


@settings(deadline=None, max_examples=40)  # the first of each activation takes longer
@given(names, st.sampled_from(list(CHI)), st.integers(0, 20))
def test_every_start_of_a_domain_has_its_chi_whatever_the_density(
    name: Name, domain: Domain, seed: int
) -> None:
    start = draw_start(domain, name, np.random.default_rng(seed))

    settled = regime(name, start.density * start.weight_variance, start.bias_variance)
    assert 0.5 <= start.density <= 1
    assert settled.chi == pytest.approx(CHI[domain], rel=1e-6)
    assert start.chi == CHI[domain]


@pytest.mark.parametrize("name", list(BIAS_VARIANCE))
def test_random_starts_are_ordered_and_chaotic_alike(name: Name) -> None:
    rng = np.random.default_rng(3)

    chi = [draw_start("random", name, rng).chi for _ in range(40)]

    assert min(chi) < 0.75
    assert max(chi) > 1.25
    assert 8 < sum(one < 1 for one in chi) < 32


def test_the_same_seed_starts_alike() -> None:
    for domain in DOMAINS:
        one, same, other = (
            draw_start(domain, "tanh", np.random.default_rng(seed)) for seed in (5, 5, 6)
        )
        assert one == same != other


def test_known_links_are_compensated_for() -> None:
    linked = np.array([[True, False, True, True], [True, True, False, True]])

    assert start_of(linked, "critical", "relu").weight_variance == pytest.approx(2 / 0.75)


def test_random_has_no_weights_of_its_own() -> None:
    with pytest.raises(InputError, match=r"domain 'random' at density 0\.5: take one of ordered,"):
        compensate("random", "tanh", 0.5)


def test_densities_are_in_order() -> None:
    with pytest.raises(InputError, match="densities from 0.9 to 0.5: give two above 0"):
        draw_start("critical", "tanh", np.random.default_rng(0), densities=(0.9, 0.5))
