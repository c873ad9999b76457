"""Choosing among scored architectures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.artifacts.architecture import Architecture
from evener.errors import EvenerError, InputError
from evener.search.choose import choose, pareto_front
from evener.search.evaluate import Score

figures = st.lists(
    st.tuples(st.integers(1, 6), st.none() | st.integers(0, 6)), min_size=1, max_size=8
)


def scored(
    figures: list[tuple[int, int | None]], error: float = 0.0
) -> tuple[list[Architecture], list[Score]]:
    """Make architectures of the given macs and qualities in tenths; None is a failure."""
    architectures = [Architecture(hidden=(index + 1,)) for index in range(len(figures))]
    scores = [
        Score(id=one.id, status="failed", message="no luck")
        if quality is None
        else Score(id=one.id, macs=macs, quality=quality / 10, quality_error=error)
        for one, (macs, quality) in zip(architectures, figures, strict=True)
    ]
    return architectures, scores


@given(figures)
def test_the_front_is_what_no_other_beats(figures: list[tuple[int, int | None]]) -> None:
    architectures, scores = scored(figures)

    front = pareto_front(architectures, scores)

    valid = [(macs, quality) for macs, quality in figures if quality is not None]
    unbeaten = {
        (macs, quality)
        for macs, quality in valid
        if not any(m <= macs and q >= quality and (m, q) != (macs, quality) for m, q in valid)
    }
    of = dict(zip(architectures, figures, strict=True))
    assert [of[one] for one in front] == sorted(unbeaten)


@given(figures, st.integers(0, 7), st.sampled_from([0.0, 0.1]))
def test_no_cheaper_one_is_good_enough(
    figures: list[tuple[int, int | None]], limit: int, error: float
) -> None:
    architectures, scores = scored(figures, error)
    valid = [score for score in scores if score.quality is not None]
    if not valid:
        return

    chosen = choose(architectures, scores, limit / 10)

    score = scores[architectures.index(chosen)]
    good = [one.macs for one in valid if (one.quality or 0) - error >= limit / 10]
    if good:
        assert score.macs == min(good)
    else:
        assert score.quality == max(one.quality or 0 for one in valid)


def test_without_a_requirement_the_cheapest_that_may_be_as_good_as_the_best_is_chosen() -> None:
    architectures, scores = scored([(9, 6), (2, 5), (1, 4)], error=0.1)

    assert choose(architectures, scores, None) is architectures[1]


def test_when_all_failed_the_first_reason_is_named() -> None:
    architectures, scores = scored([(1, None), (2, None)])

    with pytest.raises(
        EvenerError, match=r"none of the 2 architectures .* mlp 1 relu: failed: no luck"
    ):
        choose(architectures, scores, None)


def test_what_the_project_asks_for_is_the_users_and_a_failure_is_ours() -> None:
    architectures, (late, failed) = scored([(1, None), (2, None)])
    late = Score(id=late.id, status="out_of_budget", message="raise search.budget")

    with pytest.raises(InputError, match=r"mlp 1 relu: out_of_budget: raise search.budget"):
        choose(architectures[:1], [late], None)
    with pytest.raises(EvenerError, match=r"none of the 2 .* mlp 2 relu: failed: no luck") as ours:
        choose(architectures, [late, failed], None)
    assert ours.value.exit_code == 3


def test_nothing_tried_says_so() -> None:
    with pytest.raises(EvenerError, match="nothing to choose from: no architecture was tried"):
        choose([], [], None)


def test_scores_of_other_architectures_are_refused() -> None:
    architectures, scores = scored([(1, 1), (2, 2)])

    with pytest.raises(ValueError, match="2 scores do not belong to the 2 architectures"):
        choose(architectures, scores[::-1], None)
