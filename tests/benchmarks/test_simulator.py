"""Holding the simulator against the real pipeline."""

from functools import partial

import pytest
from simulator import FIGURES, Case, measure, named, quartiles, relu, summarise

from evener.artifacts.plan import Plan
from evener.artifacts.tensor import Tensor
from evener.testing.plans import chain
from evener.workflow.stand_in import slowed

TWO_STAGES = chain((1, [()]), (1, [(), ()]))


def case(jitter: float = 0.0, of: Plan = TWO_STAGES) -> Case:
    plan = named(slowed(of, 0.004))  # a second becomes 4 ms
    inputs = [Tensor(name="t0", shape=(1, 4), dtype="float32")]
    return Case("toy", "best", plan, partial(relu, plan), inputs, computed=False, jitter=jitter)


def test_every_case_has_a_ratio_of_each_figure_and_round_but_the_first() -> None:
    cases = [case(), case(jitter=0.2)]

    measure(cases, frames=8, rounds=2)

    assert all(len(one.ratios[name]) == 2 for one in cases for name in FIGURES)
    assert all(ratio > 0 for one in cases for ratios in one.ratios.values() for ratio in ratios)
    assert cases[0].row()["jitter"] == 0.0


def test_a_real_stage_is_never_quicker_than_its_time() -> None:
    one = case(of=chain((1, [()])))
    measure([one], frames=8, rounds=1)

    assert one.ratios["latency_p50_s"][0] >= 1
    assert one.ratios["rate_hz"][0] <= 1


def test_the_summary_says_how_far_the_worst_median_is_off() -> None:
    one, other = case(), case()
    one.ratios = {name: [0.99, 1.0, 1.01] for name in FIGURES}
    other.ratios = {name: [0.9, 0.98, 1.0] for name in FIGURES}

    assert summarise([one, other]) == {"waiting": dict.fromkeys(FIGURES, pytest.approx(0.02))}
    assert quartiles([1.0, 2.0, 3.0]) == (1.5, 2.0, 2.5)
