"""The cost model of this machine is measured once, and plans networks that were never timed."""

import pytest

from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import Ends
from evener.artifacts.requirements import parse_requirement
from evener.runtime import usable
from evener.workflow import machine_costs as module
from evener.workflow.machine_costs import machine_costs
from evener.workflow.network_cost import cost_here
from evener.workflow.opened import usable_processors

ONE = ("onnxruntime",)
ENDS = Ends(features=64, outputs=10)
SMALL = LayerGraph(widths=(16,), links=((0, 1), (1, 2)))
HUGE = LayerGraph(widths=(4096, 4096), links=((0, 1), (1, 2), (2, 3)))


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [module.PROBES[index] for index in (0, 2, 4, 7)]
    monkeypatch.setattr(module, "PROBES", tuple(few))


def test_each_core_set_has_rates_and_they_are_kept() -> None:
    chosen = usable(ONE, "all")
    machine = usable_processors(chosen, ONE, "all")
    told: list[str] = []

    first = machine_costs(machine, chosen, progress=lambda what, _done, _all: told.append(what))
    again = machine_costs(machine, chosen)
    fresh = machine_costs(machine, chosen, fresh=True)

    places = [(one.name, cores) for one in machine.processors for cores in one.core_sets]
    assert [(one.processor, one.cores) for one in first.value.rates] == places
    assert all(one.fixed_s >= 0 and max(one.seconds.values()) > 0 for one in first.value.rates)
    assert told[0] == "timing layers none relu, 1 link"
    assert again.sha256 == first.sha256
    assert fresh.made.at >= first.made.at


def test_a_network_that_computes_more_takes_longer() -> None:
    small, huge = cost_here(ENDS, runtimes=ONE)([SMALL, HUGE])

    assert 0 < small["period_s"] < huge["period_s"]
    assert small["period_s"] <= small["latency_s"]
    assert "energy_j" not in small


def test_a_rate_that_no_plan_reaches_is_a_broken_limit() -> None:
    reached = 1 / cost_here(ENDS, runtimes=ONE)([SMALL])[0]["period_s"]
    wanted = parse_requirement("throughput", f">= {2 * reached} /s")

    cost = cost_here(ENDS, runtimes=ONE, requirements=[wanted])

    assert cost.violation(SMALL) == pytest.approx(1.0, rel=0.01)
    assert cost.violation(HUGE) > cost.violation(SMALL)
