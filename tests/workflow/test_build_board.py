"""A build for a board is judged on simulated processors."""

from pathlib import Path

import pytest

from evener.artifacts.card import Card
from evener.artifacts.comparison import Comparison
from evener.artifacts.files import load
from evener.artifacts.trace import Trace
from evener.errors import InputError
from evener.testing.projects import change
from evener.workflow.build import build_project

pytest.importorskip("torch", reason="building trains, which needs the extra 'train'")


def append(project: Path, text: str) -> None:
    with (project / "evener.toml").open("a") as file:
        file.write(f"\n{text}\n")


def test_a_project_for_a_board_is_judged_on_simulated_processors(built: Path) -> None:
    append(built, '[plan]\nboard = "khadas-vim3"\nprocessors = ["B", "L"]')
    change(built, '"<= 1 s"', '"<= 0.1 ms"')

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
    # No plan keeps the limit there: it is missed, not refused.
    latency = next(one for one in first.verdicts if one.name == "latency_p99")
    assert (latency.value, latency.holds) == (trace.latency_p99_s, False)
    page = first.report.read_text()
    assert "Rates and latencies are simulated for khadas-vim3; nothing was measured there." in page
    assert "Simulated for khadas-vim3" in page
    assert "Measured on this machine" not in page

    assert build_project(built).ran == ()
    append(built, 'objective = "latency"')
    assert "train" in build_project(built).kept


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

    with pytest.raises(InputError, match="toy has no times of network and no cost model"):
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
