"""A build for a board is judged on simulated processors."""

from pathlib import Path

import pytest

from evener.artifacts.card import Card
from evener.artifacts.comparison import Comparison
from evener.artifacts.files import load
from evener.artifacts.plan import Asked
from evener.artifacts.trace import Trace
from evener.errors import InputError
from evener.testing.projects import change
from evener.units import show
from evener.workflow.build import BuildResult, build_project
from evener.workflow.pareto import plan_front

pytest.importorskip("torch", reason="building trains, which needs the extra 'train'")


def append(project: Path, text: str) -> None:
    with (project / "evener.toml").open("a") as file:
        file.write(f"\n{text}\n")


def test_a_project_for_a_board_is_judged_on_simulated_processors(built: Path) -> None:
    append(built, '[plan]\nboard = "khadas-vim3"\nprocessors = ["B", "L"]')
    change(built, '"<= 1 s"', '"<= 0.1 ms ?"')

    first = build_project(built)

    state = built / ".evener"
    trace = load(state / "trace.json", Trace).value
    assert first.board == "khadas-vim3"
    assert first.plan.estimate == "cost model of khadas-vim3"
    assert {lane.processor for stage in first.plan.stages for lane in stage.lanes} <= {"B", "L"}
    assert (trace.simulated, trace.frames) == (True, 50)
    assert trace.rate_hz == pytest.approx(first.plan.rate_hz, rel=0.2)
    card = load(state / "card.json", Card).value
    assert trace.quality == pytest.approx(card.test, abs=1e-6)  # computed for real
    assert (trace.equal, trace.max_error) == (True, 0.0)
    assert load(state / "comparison.json", Comparison).value.simulated
    # No plan keeps the limit there, and it is a wish: it is missed, not refused.
    latency = next(one for one in first.verdicts if one.name == "latency_p99")
    assert (latency.value, latency.holds) == (trace.latency_p99_s, False)
    page = first.report.read_text()
    assert "Rates and latencies are simulated for khadas-vim3; nothing was measured there." in page
    assert "Simulated for khadas-vim3" in page
    assert "Measured on this machine" not in page

    assert build_project(built).ran == ()
    append(built, 'objective = "latency"')
    assert "train" in build_project(built).kept


def test_a_hard_limit_that_no_network_keeps_on_the_board_is_told_before_any_is_trained(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evener.search.evolution._PATIENCE", 20)
    append(built, '[plan]\nboard = "khadas-vim3"')
    change(built, '"<= 1 s"', '"<= 0.1 ms"')

    with pytest.raises(InputError, match="breaks the hard requirement latency_p99 <= 100 µs, or "):
        build_project(built)


def test_the_energy_of_a_board_is_that_of_the_plan_which_keeps_its_limit(built: Path) -> None:
    append(built, '[plan]\nboard = "khadas-vim3"')
    change(built, 'size = "<= 1 B ?"', 'energy = "<= 1 J"')
    free = build_project(built)
    assert free.plan.energy_j is not None
    (energy,) = (one for one in free.verdicts if one.name == "energy")
    assert (energy.value, energy.holds) == (free.plan.energy_j, True)
    [row, *others] = load(built / ".evener/comparison.json", Comparison).value.rows
    assert row.energy_j == free.plan.energy_j
    assert all(other.energy_j is not None for other in others)
    page = free.report.read_text()
    assert f"in flight, {show(free.plan.energy_j, 'energy')} each." in page
    assert ">energy</th>" in page
    least_j = min(energies_j(free))
    assert least_j < free.plan.energy_j
    limit_j = (least_j + free.plan.energy_j) / 2

    change(built, '"<= 1 J"', f'"<= {limit_j} J"')
    kept = build_project(built)

    within = max(one for one in energies_j(kept) if one <= limit_j)
    assert kept.plan.asked == Asked(max_latency_s=1.0, max_energy_j=limit_j)
    assert kept.plan.energy_j == pytest.approx(within)  # the quickest of these draws the most
    assert kept.verdicts[-1].holds


def energies_j(found: BuildResult) -> list[float]:
    """List what the plans draw that no other beats."""
    shapes = {"features": (1, 3)}
    plans = plan_front(str(found.network), board="khadas-vim3", shapes=shapes).plans
    return [one.energy_j for one in plans if one.energy_j is not None]


def test_a_board_file_lies_beside_the_project_file(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(built, '[plan]\nboard = "toy.toml"')
    monkeypatch.chdir(built)

    with pytest.raises(InputError, match=r"cannot read .*toy\.toml"):
        build_project(built)
    (built / "toy.toml").write_text(
        'name = "toy"\nsource = "made up"\n'
        '[processors.B]\nkind = "cpu"\ncores = [0]\nruntime = "r"\nprecision = "f32"\n'
        "[networks.other.B]\npart_ms = [1.0]\n"
    )
    monkeypatch.chdir(built.parent)

    with pytest.raises(InputError, match="toy has no times of .* and no cost model"):
        build_project(built)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ('board = "vim4"', "no board 'vim4'; there are khadas-vim3"),
        (
            'board = "khadas-vim3"\nprocessors = ["cpu0"]',
            "the board khadas-vim3 has no processor 'cpu0'; it has B, G, L",
        ),
    ],
)
def test_a_board_or_processor_that_there_is_not_is_refused_before_the_search(
    project: Path, section: str, message: str
) -> None:
    append(project, f"[plan]\n{section}")

    with pytest.raises(InputError, match=message):
        build_project(project)
    assert not (project / ".evener").exists()
