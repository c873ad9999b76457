"""A trial of a few seconds may be upset by another process; the prediction is a second witness."""

from collections.abc import Mapping

import pytest

from evener.artifacts.trace import Trace
from evener.testing import plans
from evener.workflow.live import best_of_trials


def round_of(rate_hz: float, latency_s: float) -> Trace:
    return Trace(
        frames=8,
        dropped=0,
        elapsed_s=1.0,
        rate_hz=rate_hz,
        latency_p50_s=latency_s,
        latency_p99_s=latency_s,
        wait_p50_s=0,
        stages=(),
    )


Rounds = Mapping[str, list[Trace]]
PLANS = {"0": plans.chain((1, [(0,)]), (1, [(1,)])), "1": plans.chain((1, [(0,)]))}
AS_PREDICTED: Rounds = {"0": [round_of(50, 0.04)] * 3, "1": [round_of(35, 0.03)] * 3}
UPSET: Rounds = {"0": [round_of(50, 0.08)] * 2, "1": [round_of(35, 0.03)] * 2}


@pytest.mark.parametrize(
    ("trials", "stages"),
    [
        ([AS_PREDICTED], 2),
        ([UPSET, AS_PREDICTED], 2),  # three rounds of five keep the limit
        ([UPSET, UPSET], 1),
    ],
)
def test_a_trial_that_contradicts_the_prediction_is_run_once_more(
    trials: list[Rounds], stages: int
) -> None:
    left = list(trials)

    best = best_of_trials(PLANS, lambda _seed: left.pop(0), max_latency_s=0.05)

    assert not left
    assert len(best.stages) == stages
    assert best.measured is not None
    assert best.measured.rounds == sum(len(one["0"]) for one in trials)


def test_the_trials_draw_their_orders_from_different_seeds() -> None:
    seeds = []

    def trial(seed: int) -> Rounds:
        seeds.append(seed)
        return UPSET

    best_of_trials(PLANS, trial, max_latency_s=0.05)

    assert seeds == [0, 1]


SURE: Rounds = {
    "0": [round_of(rate, 0.04) for rate in (50, 50, 52, 55)],
    "1": [round_of(50, 0.08)] * 4,
}
LUCKY: Rounds = {
    "0": [round_of(rate, 0.04) for rate in (46, 47, 52, 55)],
    "1": [round_of(49, 0.08)] * 4,
}


@pytest.mark.parametrize(("trial", "stages"), [(SURE, 2), (LUCKY, 1)])
def test_a_pipeline_is_taken_where_it_keeps_up_with_copies_in_three_of_four_rounds(
    trial: Rounds, stages: int
) -> None:
    copies = {"0": PLANS["0"], "1": plans.chain((1, [(0,), (1,)]))}

    best = best_of_trials(copies, lambda _seed: trial)

    assert len(best.stages) == stages


def test_copies_that_miss_the_limit_hold_no_pipeline_back() -> None:
    copies = {"0": PLANS["0"], "1": plans.chain((1, [(0,), (1,)]))}

    best = best_of_trials(copies, lambda _seed: LUCKY, max_latency_s=0.05)

    assert len(best.stages) == 2
