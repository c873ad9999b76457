"""Langton's λ, and what is counted for it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.errors import InputError
from evener.search.chaos.langton import (
    CACHED,
    PAPER_CRITICAL,
    Lambda,
    count_states,
    of_links,
    of_offspring,
)


@given(st.integers(1, 10_000), st.data())
def test_lambda_is_the_share_of_states_that_are_not_quiescent(
    states: int, data: st.DataObject
) -> None:
    quiescent = data.draw(st.integers(0, states))

    value = Lambda(states, quiescent).value

    assert value * states == pytest.approx(states - quiescent)
    assert 0 <= value <= 1


def test_the_papers_values_are_states_of_its_four_hyperparameters_at_five_levels() -> None:
    states = count_states(4, 5, "paper")

    assert Lambda(states, 219).value == pytest.approx(PAPER_CRITICAL["paper-text"], abs=5e-4)
    assert Lambda(states, 122).value == pytest.approx(PAPER_CRITICAL["paper-image"], abs=5e-4)


def test_no_count_of_the_625_states_that_there_are_gives_the_papers_value_for_images() -> None:
    states = count_states(4, 5, "product")

    assert states == 625
    assert not any(round(Lambda(states, q).value, 3) == 0.881 for q in range(states + 1))


def test_more_quiescent_states_than_states_are_refused() -> None:
    with pytest.raises(InputError, match="λ of 4 states of which 5 are quiescent: count at least"):
        Lambda(4, 5)


def test_no_hyperparameter_has_no_states() -> None:
    with pytest.raises(InputError, match="0 hyperparameters of 5 levels have no states"):
        count_states(0, 5, "paper")


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_lambda_of_links_is_their_density(links: list[bool]) -> None:
    assert of_links(np.array(links)).value == pytest.approx(np.mean(links))


def test_offspring_is_latent_from_the_second_time_on() -> None:
    assert of_offspring("abca", seen="c") == Lambda(4, 2)


def test_a_band_says_on_which_side_of_it_lambda_is() -> None:
    sides = [CACHED.side(Lambda(10, q)) for q in (9, 8, 5, 4, 3)]

    assert sides == [-1, 0, 0, 0, 1]
