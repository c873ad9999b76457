"""What is said below the table of a plan."""

import msgspec
import pytest

from evener.artifacts.plan import Measured, Plan
from evener.cli.plan_lines import finer
from evener.testing.plans import chain

MEASURED = Measured(
    rate_hz=0.9,
    rate_low_hz=0.9,
    rate_high_hz=0.9,
    latency_p50_s=2.0,
    latency_p99_s=2.0,
    rounds=9,
    rivals=1,
)
EVEN = msgspec.structs.replace(
    chain((1, [(0,)]), (1, [(1,)])),
    granularity="paper",
    objective="throughput",
    measured=MEASURED,
    bound_rate_hz=1.25,
)
UNEVEN = msgspec.structs.replace(
    EVEN,
    stages=(
        EVEN.stages[0],
        msgspec.structs.replace(
            EVEN.stages[1],
            lanes=(msgspec.structs.replace(EVEN.stages[1].lanes[0], time_s=0.6),),
        ),
    ),
)


def test_a_plan_far_from_its_bound_tells_of_finer_cuts() -> None:
    (line,) = finer(UNEVEN)

    assert "20% of the bound is missing: --granularity node cuts inside blocks too" in line


@pytest.mark.parametrize(
    "plan",
    [
        EVEN,
        msgspec.structs.replace(UNEVEN, objective="energy"),
        msgspec.structs.replace(UNEVEN, granularity="node"),
        msgspec.structs.replace(UNEVEN, bound_rate_hz=1.04),
        msgspec.structs.replace(UNEVEN, bound_rate_hz=None),
        msgspec.structs.replace(UNEVEN, measured=None),
        msgspec.structs.replace(UNEVEN, stages=UNEVEN.stages[:1]),
    ],
    ids=[
        "balanced",
        "slow by choice",
        "cut finely",
        "near it",
        "no bound known",
        "of another machine",
        "one stage",
    ],
)
def test_other_plans_do_not(plan: Plan) -> None:
    assert not list(finer(plan))
