"""How far a search is, in a line."""

import msgspec

from evener.artifacts.front import Generation
from evener.artifacts.search_section import SearchSection
from evener.workflow.search_progress import progress_of

SECTION = SearchSection(generations=6, budget="10 min")
LAST = Generation(
    evaluations=30,
    best=0.95561,
    random_best=0.95,
    front=4,
    diversity=0.3149,
    lambda_=0.625,
)


def test_it_says_what_was_reached_how_alive_it_is_and_how_long_it_will_take() -> None:
    # Three generations in 60 s, so that three more take 60.
    assert progress_of(LAST, 3, SECTION, 60.0) == (
        "generation 3: best 0.9556 (random search 0.95), 4 on the front, diversity 0.31, λ 0.62; "
        "about 60 s left"
    )


def test_generations_take_no_longer_than_three_quarters_of_the_budget() -> None:
    # 600 s, of which 450 are for generations; three more would take 400.
    assert progress_of(LAST, 3, SECTION, 400.0).endswith("about 50 s left")
    assert progress_of(LAST, 3, SECTION, 500.0).endswith("about 0 s left")


def test_after_the_last_generation_nothing_is_left() -> None:
    assert progress_of(LAST, 6, SECTION, 120.0).endswith("about 0 s left")


def test_what_there_is_none_of_is_left_out() -> None:
    nothing = msgspec.structs.replace(
        LAST, best=None, random_best=None, front=0, diversity=None, lambda_=None
    )

    assert progress_of(nothing, 1, SECTION, 7.0) == (
        "generation 1: best - (random search -), 0 on the front; about 35 s left"
    )
