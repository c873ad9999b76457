"""The strikes that a supervised pipeline has to stand."""

import numpy as np
from faults import KINDS, draw


def test_strikes_are_drawn_from_the_seed_and_are_of_every_kind() -> None:
    drawn = [draw(np.random.default_rng(seed), 6, 1000) for seed in (0, 0, 1)]

    assert drawn[0] == drawn[1] != drawn[2]
    for strikes in drawn:
        assert sorted(one.kind for one in strikes) == sorted(KINDS * 2)
        assert [one.frame for one in strikes] == sorted({one.frame for one in strikes})
        assert all(10 <= one.frame < 990 for one in strikes)
