"""What a plan says of itself."""

import msgspec
import pytest

from evener.artifacts.plan import Asked
from evener.testing.plans import chain

TWO = chain((1, [(0,)]), (1, [(1,)]))  # 1 frame a second, in 2 s


@pytest.mark.parametrize(
    ("asked", "misses"),
    [
        (None, ()),
        (Asked(max_latency_s=2.0, min_rate_hz=1.0), ()),
        (Asked(max_latency_s=1.5), ("the latency of 1.5 s that was asked for: it is to take 2 s",)),
        (Asked(min_rate_hz=4.0), ("the rate of 4 /s that was asked for: it is to make 1 /s",)),
        (Asked(max_energy_j=2.0), ("the energy of 2 J that was asked for: it is to take 3 J",)),
    ],
)
def test_a_plan_names_the_limits_that_it_misses(
    asked: Asked | None, misses: tuple[str, ...]
) -> None:
    assert msgspec.structs.replace(TWO, asked=asked, energy_j=3.0).misses == misses


def test_rounding_misses_nothing() -> None:
    asked = Asked(max_latency_s=2.0 * (1 - 1e-12), min_rate_hz=1 + 1e-12)

    assert msgspec.structs.replace(TWO, asked=asked).misses == ()


def test_an_energy_that_nobody_knows_misses_no_limit() -> None:
    assert msgspec.structs.replace(TWO, asked=Asked(max_energy_j=2.0)).misses == ()
