"""Holding the planner against the published partitioning graphs."""

import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import partition_graphs
import pytest

GRAPH = """{
 "maxFPGAs": 2, "maxCPUs": 1, "maxSizePerFPGA": 10,
 "nodes": [
  {"id": 1, "cpuLatency": 40, "fpgaLatency": 4, "supportedOnFpga": true, "isBackwardNode": false},
  {"id": 2, "cpuLatency": 30, "fpgaLatency": 3, "supportedOnFpga": true, "isBackwardNode": false},
  {"id": 3, "cpuLatency": 30, "fpgaLatency": 3, "supportedOnFpga": true, "isBackwardNode": false}
 ],
 "edges": [{"sourceId": 1, "destId": 2, "cost": 0.5}, {"sourceId": 2, "destId": 3, "cost": 0.5}]
}"""

ROW: dict[str, Any] = {
    "ours_ms": 6.5,
    "checked_ms": 6.5,
    "chains_ms": None,
    "published_ms": None,
    "their_program_ms": None,
    "expert_ms": None,
    "expert_faults": [],
}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["partition_graphs.py", *arguments])
    return partition_graphs.main()


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    write(tmp_path / "throughput-inputs/LayerGraphs/tiny_inference.json", GRAPH)
    return tmp_path


def test_a_graph_is_split_and_recorded(
    graphs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    expert = '{"cpus": [], "fpgas": [{"nodes": [1, 2]}, {"nodes": [3]}]}'
    write(graphs / "human-experts/tiny_inference_expert.json", expert)

    assert run(monkeypatch, str(graphs), "-o", str(graphs / "out.json")) == 0

    (row,) = msgspec.json.decode((graphs / "out.json").read_bytes())["graphs"]
    assert row["graph"] == "LayerGraphs/tiny"
    assert (row["nodes"], row["contracted_nodes"], row["downsets"]) == (3, 3, 4)
    assert row["expert_ms"] == 7.5
    assert [row["ours_ms"], row["chains_ms"], row["checked_ms"]] == pytest.approx([6.5] * 3)
    assert [stage["nodes"] for stage in row["stages"]] == ["1", "2-3"]
    assert row["best_of_all_contiguous"]
    assert "every split holds, and loses to none of theirs" in capsys.readouterr().out


def test_losing_to_what_others_published_fails(
    graphs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    better = partition_graphs.Published(6.49, "nobody")
    monkeypatch.setattr(partition_graphs, "PUBLISHED", {"LayerGraphs/tiny_inference": better})

    assert run(monkeypatch, str(graphs)) == 1
    assert "LayerGraphs/tiny: 6.49 ms are published, ours takes 6.5 ms" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("checked_ms", 6.6, "the file says 6.6 ms, the planner 6.5 ms"),
        ("chains_ms", 6.4, "chains take 6.4 ms, the planner 6.5 ms"),
        ("their_program_ms", 6.4, "their program finds 6.4 ms, ours 6.5 ms"),
        ("expert_ms", 6.4, "the expert's split takes 6.4 ms, ours 6.5 ms"),
    ],
)
def test_every_disagreement_is_said(key: str, value: float, said: str) -> None:
    assert partition_graphs.worse(ROW | {key: value}) == [said]


def test_an_experts_split_that_breaks_a_rule_is_no_rival() -> None:
    assert not partition_graphs.worse(ROW | {"expert_ms": 1.0, "expert_faults": ["memory"]})


def test_a_folder_without_graphs_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, str(tmp_path)) == 2
    assert "holds no throughput-inputs/*/*_inference.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "period_ms"),
    [
        ("LayerGraphs/bert24", 17.78990625),
        ("LayerGraphs/resnet50", 33.774666015625),
        ("OperatorGraphs/bert_l-3", 27.9185676799),  # published: 27.92
        ("OperatorGraphs/resnet50", 124.348849774),
    ],
)
def test_published_graphs_are_split_as_well_as_can_be(name: str, period_ms: float) -> None:
    folder = Path(os.environ.get("EVENER_TEST_DATA", ".")).parent / "boards/dnn-partitioning-graphs"
    if not folder.is_dir():
        pytest.skip("the partitioning graphs are not beside EVENER_TEST_DATA")
    files = partition_graphs.find_files(folder)
    whole = f"throughput-inputs/{name}_inference"

    row = partition_graphs.solved(whole, files[whole], files.get(partition_graphs.expert_of(whole)))

    assert row["ours_ms"] == pytest.approx(period_ms)
    assert row["wrong"] == []
