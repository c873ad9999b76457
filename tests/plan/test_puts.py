"""What a stage pays to hand a frame on."""

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from evener.artifacts.profile import HandOff, Profile
from evener.artifacts.tensor import Tensor
from evener.plan import make_plan
from evener.plan.puts import puts_s

ProfileOf = Callable[..., Profile]
SKIP = Tensor(name="skip", shape=(500,), dtype="float32")  # 2000 bytes; others have 1000


@pytest.fixture
def skipping(profile_of: ProfileOf) -> Profile:
    """Four blocks; a tensor skips from the first to the last."""
    profile = profile_of(
        4,
        {"cpu0": 1, "cpu1": 1, "cpu2": 1},
        dict.fromkeys((("cpu0", 1), ("cpu1", 1), ("cpu2", 1)), lambda f, e: float(e - f + 1)),
        hand_off=HandOff(fixed_s=0.5, per_byte_s=1e-4, passed_per_byte_s=1e-3),
    )
    blocks = tuple(
        msgspec.structs.replace(
            block,
            inputs=block.inputs + (SKIP,) * (index > 0),
            outputs=block.outputs + (SKIP,) * (index < 3),
        )
        for index, block in enumerate(profile.blocks)
    )
    return msgspec.structs.replace(profile, blocks=blocks)


def test_a_put_costs_its_fixed_time_and_that_of_the_bytes_that_cross(skipping: Profile) -> None:
    found = puts_s(skipping)

    assert found[0, 0] == pytest.approx(0.5 + 1e-4 * 3000)
    assert found[0, 3] == found[2, 3] == pytest.approx(0.5 + 1e-4 * 1000)


def test_what_passes_a_stage_by_is_copied_and_costs_more(skipping: Profile) -> None:
    found = puts_s(skipping)

    assert found[1, 1] == found[1, 2] == pytest.approx(0.5 + 1e-4 * 3000 + 1e-3 * 2000)


def test_in_a_chain_nothing_passes_by(profile_of: ProfileOf) -> None:
    hand_off = HandOff(fixed_s=0.5, passed_per_byte_s=1e-3)

    found = puts_s(profile_of(4, {"cpu0": 1}, {}, hand_off=hand_off))

    assert np.all(found[np.triu_indices(4)] == 0.5)


def test_a_stage_in_the_middle_pays_for_the_skip_that_it_hands_on(skipping: Profile) -> None:
    plan = make_plan(skipping, stages=3)

    lanes = [stage.lanes[0] for stage in plan.stages]
    assert [stage.first_block for stage in plan.stages] == [0, 1, 2]
    assert [lane.time_s for lane in lanes] == pytest.approx([1 + 0.8, 1 + 0.8 + 2.0, 2 + 0.6])
