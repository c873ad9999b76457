"""Of two ways to execute a segment the quicker one counts, and the plan says which it is."""

from collections.abc import Callable

import msgspec
import pytest

from evener.artifacts.profile import Profile
from evener.plan import make_plan

ProfileOf = Callable[..., Profile]


@pytest.mark.parametrize(("share", "execution"), [(0.5, "parallel"), (1.5, "sequential")])
def test_the_quicker_execution_is_planned(
    profile_of: ProfileOf, share: float, execution: str
) -> None:
    profile = profile_of(1, {"cpu0": 1}, {("cpu0", 1): lambda *_: 2.0})
    (alone,) = profile.segments
    at_once = msgspec.structs.replace(alone, execution="parallel", median_s=2.0 * share)

    plan = make_plan(msgspec.structs.replace(profile, segments=(alone, at_once)))

    ((part,),) = (lane.parts for lane in plan.stages[0].lanes)
    assert part.execution == execution
    assert plan.rate_hz == pytest.approx(1 / min(2.0, 2.0 * share))
