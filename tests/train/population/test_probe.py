"""How many individuals a short trial finds quickest."""

from collections.abc import Callable

import pytest

from evener.train.population.probe import quickest


@pytest.mark.parametrize(
    ("step_s", "most", "expected", "tried"),
    [
        ({1: 1.0, 2: 1.5, 4: 2.0, 8: 5.0}, 9, 4, [1, 2, 4, 8]),
        ({1: 1.0, 2: 2.1}, 9, 1, [1, 2]),
        ({1: 1.0, 2: 1.5}, 3, 2, [1, 2]),
        ({}, 1, 1, []),
    ],
)
def test_numbers_double_while_each_is_quicker(
    step_s: dict[int, float], most: int, expected: int, tried: list[int]
) -> None:
    prepared: list[int] = []
    now = [0.0]

    def prepare(count: int) -> Callable[[], None]:
        prepared.append(count)

        def step() -> None:
            now[0] += step_s[count]

        return step

    assert quickest(prepare, most, lambda: now[0]) == expected
    assert prepared == tried
