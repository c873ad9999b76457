"""What a network costs on a machine, by the machine's cost model."""

import msgspec
import pytest

from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.machine_costs import CoreRates, MachineCosts
from evener.artifacts.networks import Ends
from evener.artifacts.processors import Machine, Processor
from evener.artifacts.profile import HandOff
from evener.network.draft import draft_network
from evener.plan import make_plan
from evener.plan.machine import machine_profile

COSTS = MachineCosts(
    machine=Machine(
        host="lab",
        system="Linux",
        processors=(
            Processor(
                name="cpu0",
                kind="cpu",
                cores=(0, 1),
                core_sets=(1, 2),
                runtimes=("onnxruntime",),
            ),
        ),
        runtimes={"onnxruntime": "1"},
    ),
    rates=tuple(
        CoreRates(
            processor="cpu0",
            cores=cores,
            runtime="onnxruntime",
            fixed_s=1e-3,
            seconds={"layers": layer_s},
        )
        for cores, layer_s in ((1, 10e-3), (2, 8e-3))
    ),
    hand_off=HandOff(fixed_s=2e-3),
    error=0.1,
    error_p90=0.3,
)
NETWORK = draft_network(
    LayerGraph(widths=(8, 8, 8), links=((0, 1), (1, 2), (2, 3), (3, 4))),
    Ends(features=4, outputs=2),
)


def test_a_segment_takes_what_is_fixed_and_its_features() -> None:
    profile = machine_profile(COSTS, NETWORK)

    times_s = {
        (one.first_block, one.last_block, one.cores): one.median_s for one in profile.segments
    }
    assert len(profile.blocks) == 4
    assert times_s[1, 1, 1] == pytest.approx(11e-3)
    assert times_s[1, 3, 1] == pytest.approx(31e-3)
    assert times_s[0, 3, 2] == pytest.approx(33e-3)
    assert all(one.interpolated for one in profile.segments)
    assert (profile.estimate, profile.estimate_error) == ("cost model of this machine", 0.1)


def test_the_planner_takes_it_and_says_that_it_is_an_estimate() -> None:
    plan = make_plan(machine_profile(COSTS, NETWORK))

    # Copies take 41 ms and a put each; so do the halves of a pipeline, of two layers each.
    assert plan.rate_hz == pytest.approx(2 / 43e-3)
    assert plan.estimate == "cost model of this machine"


def test_features_without_a_rate_cost_nothing() -> None:
    free = msgspec.structs.replace(COSTS.rates[0], seconds={})
    costs = msgspec.structs.replace(COSTS, rates=(free,))

    assert {one.median_s for one in machine_profile(costs, NETWORK).segments} == {1e-3}
