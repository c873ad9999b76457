"""Which networks are worth more training."""

from evener.search.halving import best_third


def test_what_none_dominates_goes_on() -> None:
    objectives = [(0.5, 9.0), (0.1, 3.0), (0.3, 1.0), (0.4, 2.0), (0.6, 6.0), (0.2, 5.0)]

    assert best_third(objectives) == [False, True, True, False, False, False]


def test_one_of_few_goes_on() -> None:
    assert best_third([(0.5, 9.0)]) == [True]
    assert sum(best_third([(0.5, 1.0), (0.4, 1.0)])) == 1
